// Schedulers that live for a moment. A scheduler is destroyed while a thread returns from the call
// that ended the last task, or two threads stop it, or it is stopped in the middle of posts.
#include "faults/faults.hpp"
#include "support/threads.hpp"
#include "support/watchdog.hpp"

#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/detail/sync/signal.hpp>
#include <fairlead/sched/callback_task.hpp>
#include <fairlead/sched/scheduler.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <utility>

namespace fairlead::test::life_tests {
namespace {

using namespace std::chrono_literals;

// 100,000 lives in all, of which 80,000 have threads. A sanitizer or an emulator makes each at
// least ten times as long. Most of the time goes into starting, waking and joining threads.
int share_of(int lives) { return lives / (counts_exactly || watchdog::patience() > 1 ? 20 : 1); }

// A second thread beside the main thread, the same for all lives.
class companion {
public:
    ~companion() {
        begin({});
        thread_.join();
    }
    void begin(std::function<void()> what) {
        what_ = std::move(what);
        begin_.send();
    }
    void finish() { done_.receive(); }

private:
    void run() {
        for (;;) {
            begin_.receive();
            if (!what_) return;
            what_();
            done_.send();
        }
    }

    std::function<void()> what_;
    sync::signal begin_;
    sync::signal done_;
    std::thread thread_{[this] { run(); }};
};

scheduler_options of_workers(int workers) {
    scheduler_options options;
    options.workers = static_cast<unsigned>(workers);
    return options;
}

class lives : public testing::Test {
protected:
    const watchdog guard;
    companion other;
};

TEST_F(lives, on_the_caller_with_tasks_left) {
    int runs = 0;
    const int count = share_of(20'000);
    for (int i = 0; i != count; ++i) {
        callback_task waits{[](callback_task&) {}};
        scheduler_options options;
        options.run_on_caller = true;
        options.stop_limit = 0s;
        scheduler home{std::move(options)};
        home.post([&runs] { ++runs; });
        home.post_wait(waits);
        if (i % 2 == 0) home.run_until_idle();
        if (i % 4 == 0) waits.signal();
    }
    EXPECT_GE(runs, count / 2);
}

// The poster is still inside its post when the scheduler is destroyed.
TEST_F(lives, end_right_after_the_last_task) {
    for (int i = 0, count = share_of(30'000); i != count; ++i) {
        sync::signal told;
        {
            scheduler home{of_workers(1 + i % 2)};
            other.begin([&] { home.post([&told] { told.send(); }); });
            told.receive();
        }
        other.finish();
    }
}

// The sender is still inside its signal when the task and the scheduler are destroyed.
TEST_F(lives, end_right_after_the_last_signal) {
    for (int i = 0, count = share_of(30'000); i != count; ++i) {
        sync::signal told;
        auto task = std::make_unique<callback_task>([&told](callback_task& self) {
            if (self.receive_signal()) {
                told.send();
            } else {
                scheduler::current()->post_wait(self);
            }
        });
        {
            scheduler home{of_workers(1 + i % 2)};
            home.post_wait(*task);
            other.begin([&task = *task] { task.signal(); });
            told.receive();
        }
        task.reset();
        other.finish();
    }
}

// No task is lost that was posted during a stop: it runs before the stop, or after the next start.
TEST_F(lives, are_stopped_in_the_middle_of_posts) {
    constexpr int posts = 20;
    for (int i = 0, count = share_of(12'000); i != count; ++i) {
        std::atomic<int> runs{0};
        scheduler home{of_workers(1 + i % 2)};
        other.begin([&] {
            for (int j = 0; j != posts; ++j) home.post([&runs] { ++runs; });
        });
        static_cast<void>(home.stop(0s));
        other.finish();
        home.start();
        home.drain();
        ASSERT_EQ(runs, posts);
    }
}

TEST_F(lives, are_stopped_by_two_at_once) {
    for (int i = 0, count = share_of(6'000); i != count; ++i) {
        callback_task waits{[](callback_task&) {}};
        scheduler home{of_workers(1 + i % 3)};
        home.post_wait(waits);
        const auto stop = [&home] { EXPECT_TRUE(home.stop(10s).clean()); };
        other.begin(stop);
        stop();
        other.finish();
        EXPECT_TRUE(home.stopping());
    }
}

// A task cannot stop its scheduler, but it can tell a thread that does. It goes on until it is told
// of the stop.
TEST_F(lives, are_stopped_on_behalf_of_a_task) {
    static constexpr auto asks = [](sync::signal& told) -> task<bool> {
        told.send();
        while (!co_await stop_requested()) co_await shielded(yield());
        co_return true;
    };
    for (int i = 0, count = share_of(2'000); i != count; ++i) {
        sync::signal told;
        scheduler home{of_workers(1 + i % 3)};
        auto asking = spawn(home, asks(told));
        told.receive();
        EXPECT_TRUE(home.stop(10s).clean());
        EXPECT_TRUE(asking.get());
    }
}

}  // namespace
}  // namespace fairlead::test::life_tests
