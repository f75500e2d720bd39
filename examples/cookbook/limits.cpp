// Four limits: of steps at once, of jobs in flight, of the queue, of the rate.
#include <fairlead/fairlead.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <ranges>
#include <utility>
#include <vector>

namespace fl = fairlead;
using namespace std::chrono_literals;

namespace {

// [download]
struct traffic {
    int now = 0;
    int most = 0;
};

// Stands for a call of another service. It waits, so it holds no worker.
fl::task<std::size_t> download(std::size_t number, traffic& calls) {
    calls.most = std::max(calls.most, ++calls.now);
    co_await fl::sleep_for(1ms);
    --calls.now;
    co_return number* number;
}
// [/download]

// [in_flight]
// Takes one job after the other. `next` needs no lock: all of these run in one strand.
fl::task<> take_jobs(std::size_t& next, std::vector<std::size_t>& results, traffic& calls) {
    while (next != results.size()) {
        const std::size_t mine = next++;
        results[mine] = co_await download(mine, calls);
    }
}

// At most `limit` downloads are in flight, however many there are.
fl::task<std::vector<std::size_t>> download_all(std::size_t count, int limit, traffic& calls) {
    std::vector<std::size_t> results(count);
    std::size_t next = 0;
    co_await fl::with_scope([&](fl::scope& takers) -> fl::task<> {
        for (int i = 0; i != limit; ++i) takers.spawn(take_jobs(next, results, calls));
        co_return;
    });
    co_return results;
}
// [/in_flight]

// [range]
// The same with a combinator: a download is made when there is room for it.
fl::task<std::vector<std::size_t>> download_by_range(std::size_t count, std::size_t limit,
                                                     traffic& calls) {
    const auto downloads =
        std::views::iota(std::size_t{0}, count) |
        std::views::transform([&](std::size_t index) { return download(index, calls); });
    co_return co_await fl::when_all(downloads, fl::max_concurrency{limit});
}
// [/range]

// [queue]
// Reads the next message when the queue has room for it: a fast sender waits in the kernel.
fl::task<> read_messages(fl::group& workers, int count, int& handled) {
    for (int i = 0; i != count; ++i) {
        auto room = co_await fl::permit_in(workers);
        if (!room) co_return;  // a stop
        std::move(*room).post([&handled] { ++handled; });
    }
}
// [/queue]

}  // namespace

int main() {
    fl::scheduler scheduler{{.workers = 4}};

    // [steps]
    // At most two of these steps run at once, on any worker.
    fl::group resizing{scheduler, {.name = "resize images", .max_concurrency = 2}};
    for (int i = 0; i != 100; ++i) resizing.post([] { /* computes */ });
    // [/steps]
    scheduler.drain();

    // [strand]
    traffic calls;
    fl::group strand{scheduler, {.name = "downloads", .max_concurrency = 1}};
    const auto results = fl::block_on(strand, download_all(50, 5, calls));
    // [/strand]
    const auto by_range = fl::block_on(strand, download_by_range(50, 5, calls));
    std::printf("%zu downloads, at most %d at once\n", results.size(), calls.most);

    fl::group bounded{scheduler, {.name = "messages", .max_concurrency = 1, .queue_max = 10}};
    int handled = 0;
    fl::block_on(scheduler, read_messages(bounded, 200, handled));
    scheduler.drain();

    // [rate]
    // The other side allows 2,000 calls a second, ten of them at once; 20 more may wait here.
    fl::group polite{scheduler,
                     {.name = "calls",
                      .max_concurrency = 1,
                      .queue_max = 30,
                      .rate_max = 2'000,
                      .rate_burst = 10}};
    int called = 0;
    int refused = 0;
    for (int i = 0; i != 100; ++i) {
        if (!polite.try_post([&called] { ++called; })) ++refused;
    }
    // [/rate]
    scheduler.drain();
    std::printf("%d calls, %d refused\n", called, refused);

    const bool good = results.back() == 49 * 49 && by_range == results && calls.most <= 5 &&
                      handled == 200 && called + refused == 100 && called >= 30;
    return good ? 0 : 1;
}
