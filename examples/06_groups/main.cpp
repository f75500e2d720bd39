// Groups: tenants with shares, a pool with a limit, a strand on one thread, urgent messages.
#include <fairlead/fairlead.hpp>

#include <cstdio>
#include <set>
#include <thread>
#include <utility>

namespace fl = fairlead;
using namespace std::chrono_literals;

namespace {

int failures = 0;

void expect(bool holds, const char* what) {
    std::printf("%s  %s\n", holds ? "ok  " : "FAIL", what);
    if (!holds) ++failures;
}

void compute_for(fl::duration time) {
    const fl::time_point end = fl::clock::now() + time;
    while (fl::clock::now() < end) {
    }
}

// [throttled]
// Reads no more requests than the group has permits for: a faster reader waits.
fl::task<> reads_requests(fl::group& workers, int& answered) {
    for (int i = 0; i != 100; ++i) {
        auto next = co_await fl::permit_in(workers);
        if (!next) co_return;  // it was asked to stop
        std::move(*next).post([&answered] { ++answered; });
    }
}
// [/throttled]

fl::task<> requests(fl::time_point end) {
    while (fl::clock::now() < end) {
        compute_for(50us);
        co_await fl::yield();
    }
}

}  // namespace

int main() {
    fl::scheduler scheduler{{.workers = 1}};

    // [tenants]
    // The tenants share the workers three to one while both have tasks, however many these are.
    fl::group gold{scheduler, {.name = "gold", .weight = 300}};
    fl::group basic{scheduler, {.name = "basic", .weight = 100}};

    const fl::time_point end = fl::clock::now() + 200ms;
    fl::spawn(gold, requests(end)).detach();
    for (int i = 0; i != 10; ++i) fl::spawn(basic, requests(end)).detach();
    scheduler.drain();

    const double share = gold.stats().used / (gold.stats().used + basic.stats().used + 1.0ns);
    std::printf("gold had %.0f %% of the worker\n", 100 * share);
    // [/tenants]
    expect(share > 0.6 && share < 0.9, "the share is by weight, not by tasks");

    // [strand]
    // One step at a time, in order, on any worker, so no lock. Another number makes a pool.
    fl::group strand{scheduler, {.name = "ledger", .max_concurrency = 1}};
    int balance = 0;
    for (int i = 1; i <= 100; ++i) strand.post([&balance, i] { balance += i; });
    // [/strand]
    scheduler.drain();
    expect(balance == 5050, "a strand needs no lock");

    // [bound]
    // For a connection that belongs to a thread, or data in one cache. `bind(2)` names a worker.
    fl::group bound{scheduler, {.name = "database"}};
    bound.bind();
    std::set<std::thread::id> threads;
    for (int i = 0; i != 100; ++i)
        bound.post([&threads] { threads.insert(std::this_thread::get_id()); });
    // [/bound]
    scheduler.drain();
    expect(threads.size() == 1, "all ran on one thread");
    bound.release();

    // [control]
    // Goes before all other groups, also before a thousand tasks that were posted earlier.
    fl::group control{scheduler, {.name = "control", .priority = fl::priority::highest}};
    int ran = 0;
    for (int i = 0; i != 1'000; ++i) {
        basic.post([&ran] {
            compute_for(20us);
            ++ran;
        });
    }
    control.post([&ran] { std::printf("the message came after %d of 1,000\n", ran); });
    // [/control]
    scheduler.drain();

    // [queue]
    fl::group bounded{scheduler, {.name = "bounded", .queue_max = 10}};
    bounded.pause();
    int refused = 0;
    for (int i = 0; i != 15; ++i) {
        if (!bounded.try_post([] { compute_for(20us); })) ++refused;
    }
    std::printf("%d of 15 were refused\n", refused);
    bounded.resume();
    // [/queue]
    expect(refused == 5, "no more than fit");
    int answered = 0;
    fl::block_on(scheduler, reads_requests(bounded, answered));
    scheduler.drain();
    expect(answered == 100, "all of who waited");

    // [rate]
    // For a server that allows 1,000 calls a second, five of them at once; 20 more may wait.
    fl::group calls{scheduler,
                    {.name = "calls", .queue_max = 25, .rate_max = 1'000, .rate_burst = 5}};
    int called = 0;
    while (calls.try_post([&called] { ++called; })) {
    }
    // [/rate]
    scheduler.drain();
    expect(called >= 25, "all that were not refused");

    // [pause]
    basic.pause();  // its tasks wait; what is posted meanwhile as well
    basic.set_weight(200);
    basic.resume();
    // [/pause]
    expect(basic.stats().tasks == 0, "nothing is left");
    return failures;
}
