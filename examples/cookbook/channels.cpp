// Values between tasks: a worker pool with results, batches, permits, what is dropped, and counted
// ends.
#include <fairlead/fairlead.hpp>

#include <array>
#include <cstdio>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace fl = fairlead;
using namespace std::chrono_literals;

namespace {

// [pool]
struct job {
    int number;
};
struct result {
    int number;
    int square;
};

// Takes jobs until the channel is closed and empty.
fl::task<> work(fl::channel<job>& jobs, fl::channel<result>& results) {
    while (const auto next = co_await jobs.receive()) {
        co_await fl::sleep_for(1ms);  // stands for the work
        if (!co_await results.send({next->number, next->number * next->number})) co_return;
    }
}

// Four workers, and at most 16 jobs and 16 results between them and their callers.
fl::task<int> sum_of_squares(int count) {
    fl::channel<job> jobs{16};
    fl::channel<result> results{16};
    int sum = 0;
    co_await fl::with_scope([&](fl::scope& workers) -> fl::task<> {
        for (int i = 0; i != 4; ++i) workers.spawn(work(jobs, results));
        workers.spawn([](fl::channel<job>& into, int number) -> fl::task<> {
            for (int i = 0; i != number; ++i) {
                if (!co_await into.send({i})) co_return;  // waits while 16 jobs wait
            }
            into.close();
        }(jobs, count));
        for (int i = 0; i != count; ++i) {
            const auto next = co_await results.receive();
            if (!next) break;  // a stop
            sum += next->square;
        }
    });
    co_return sum;
}
// [/pool]

// [batches]
// One lock and one wake-up for up to 64 elements.
fl::task<int> sum(fl::channel<int>& from) {
    std::array<int, 64> some{};
    int total = 0;
    while (const auto count = co_await from.receive_many(some)) {
        total = std::accumulate(some.begin(), some.begin() + static_cast<int>(*count), total);
    }
    co_return total;
}
// [/batches]

// [deadline]
// The sender keeps what was not sent in time.
fl::task<bool> offer(fl::channel<std::string>& into, std::string& text) {
    const auto sent = co_await into.send(std::move(text), fl::clock::now() + 1ms);
    if (!sent && sent.error() == fl::wait_error::expired) {
        std::printf("not sent in time: %s\n", text.c_str());  // `text` is unchanged
    }
    co_return sent.has_value();
}
// [/deadline]

// [permit]
// The place is there before the value is made: an expensive value is never made in vain.
fl::task<> make(fl::channel<std::string>& into) {
    auto place = co_await into.reserve();
    if (!place) co_return;
    static_cast<void>(std::move(*place).send("made when there was a place"));
}
// [/permit]

// [ends]
// A parameter lives as long as the frame. A local variable ends with the body: then the channel
// knows that this producer is gone.
fl::task<> produce(fl::sender<int> given, int first, int last) {
    const auto into = std::move(given);
    for (int i = first; i != last; ++i) {
        if (!co_await into.send(int{i})) co_return;  // no receiver is left
    }
}

// Two producers; their ends close the channel, without a count of them.
fl::task<int> sum_of_two(fl::scheduler& home) {
    auto [into, from] = fl::make_channel<int>(16);
    fl::spawn(home, produce(into, 0, 50)).detach();
    fl::spawn(home, produce(std::move(into), 50, 100)).detach();
    int total = 0;
    while (const auto next = co_await from.receive()) total += *next;
    co_return total;
}
// [/ends]

bool test_ends(fl::scheduler& scheduler) {
    return fl::block_on(scheduler, sum_of_two(scheduler)) == 99 * 100 / 2;
}

bool test_pool(fl::scheduler& scheduler) {
    return fl::block_on(scheduler, sum_of_squares(100)) == 99 * 100 * 199 / 6;
}

bool test_batches(fl::scheduler& scheduler) {
    fl::channel<int> numbers{1000};
    auto total = fl::spawn(scheduler, sum(numbers));
    std::vector<int> sent(1000);
    std::iota(sent.begin(), sent.end(), 0);
    if (numbers.send_many_blocking(sent) != 1000U) return false;
    numbers.close();
    return total.get() == 999 * 1000 / 2;
}

bool test_deadline(fl::scheduler& scheduler) {
    fl::channel<std::string> full{1};
    static_cast<void>(full.try_send("first"));
    std::string second = "second";
    return !fl::block_on(scheduler, offer(full, second)) && second == "second";
}

bool test_permit(fl::scheduler& scheduler) {
    fl::channel<std::string> one{1};
    fl::block_on(scheduler, make(one));
    return one.try_receive() == "made when there was a place";
}

// [drops]
// Keeps the newest 16 samples: a slow reader misses the oldest ones, and no sender waits.
fl::channel<double> samples{16, fl::when_full::drop_oldest};
// [/drops]

bool test_drops() {
    for (int i = 0; i != 100; ++i) static_cast<void>(samples.try_send(i));
    return samples.length() == 16 && samples.try_receive() == 84;
}

}  // namespace

int main() {
    fl::scheduler scheduler{{.workers = 2}};
    const bool passed = test_pool(scheduler) && test_batches(scheduler) &&
                        test_deadline(scheduler) && test_permit(scheduler) && test_drops() &&
                        test_ends(scheduler);
    std::puts(passed ? "all as expected" : "something went wrong");
    return passed ? 0 : 1;
}
