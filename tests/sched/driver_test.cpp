// The calls of a scheduler to its driver, and the driver that sleeps on a futex.
#include <fairlead/sched/futex_driver.hpp>

#include "support/tasks.hpp"
#include "support/threads.hpp"
#include "support/watchdog.hpp"

#include <fairlead/detail/sync/signal.hpp>
#include <fairlead/sched/scheduler.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

namespace fairlead::driver_tests {
namespace {

using namespace std::chrono_literals;
using test::scripted;

TEST(FutexDriver, AWakeEndsAWaitOrTheNextOne) {
    const test::watchdog guard;
    futex_driver driver;
    driver.wake();
    driver.wait();
    std::jthread waker{[&] { driver.wake(); }};
    driver.wait();
}

TEST(FutexDriver, AWaitEndsAtItsDeadline) {
    const test::watchdog guard;
    futex_driver driver;
    const time_point deadline = clock::now() + 2ms;
    static_cast<void>(driver.set_deadline(deadline));
    driver.wait();
    EXPECT_GE(clock::now(), deadline);
    static_cast<void>(driver.set_deadline(immediately));
    driver.wait();
}

TEST(FutexDriver, ADeadlineThatIsPutOffIsSleptThrough) {
    const test::watchdog guard;
    for (int round = 0; round != 20; ++round) {
        futex_driver driver;
        const time_point first = clock::now() + 2ms;
        const time_point second = first + 2ms;
        static_cast<void>(driver.set_deadline(first));
        time_point woken;
        std::jthread sleeper{[&] {
            driver.wait();
            woken = clock::now();
        }};
        while (clock::now() < first - 1ms) std::this_thread::yield();  // it sleeps by now, mostly
        EXPECT_TRUE(driver.set_deadline(second));
        const bool in_time = clock::now() < first;
        sleeper.join();
        EXPECT_GE(woken, in_time ? second : first);
    }
}

TEST(FutexDriver, SaysThatAWaitUnderWayDoesNotSeeAnEarlierDeadline) {
    futex_driver driver;
    EXPECT_FALSE(driver.set_deadline(clock::now()));
    EXPECT_TRUE(driver.set_deadline(never));
}

// A driver that reports its current deadline. It obeys a change of the deadline at once, or does
// not.
class watched_driver final : public driver {
public:
    explicit watched_driver(bool obeys) noexcept : obeys_{obeys} {}
    [[nodiscard]] bool set_deadline(time_point to) noexcept override {
        static_cast<void>(sleep_.set_deadline(to));
        const bool earlier = deadline.exchange(to) > to;
        if (earlier && obeys_) sleep_.wake();
        return obeys_ || !earlier;
    }
    void wait() noexcept override {
        asleep = true;
        sleep_.wait();
        asleep = false;
    }
    void poll(event_sink&) noexcept override {}
    void wake() noexcept override { sleep_.wake(); }
    [[nodiscard]] bool has_sources() const noexcept override { return false; }

    std::atomic<time_point> deadline{never};
    std::atomic<bool> asleep{false};

private:
    futex_driver sleep_;
    bool obeys_;
};

struct watched_scheduler {
    explicit watched_scheduler(unsigned workers, bool obeys = true) {
        auto made = std::make_unique<watched_driver>(obeys);
        driver = made.get();
        scheduler_options options;
        options.workers = workers;
        options.driver = std::move(made);
        scheduler.emplace(std::move(options));
    }
    watched_driver* driver;
    std::optional<fairlead::scheduler> scheduler;
};

// An idle process must not wake up for a deadline that no task waits for any more.
TEST(SleepPlan, ADeadlineThatIsGoneIsForgottenWhenAllAreAsleep) {
    const test::watchdog guard;
    for (const unsigned workers : {1U, 2U, 4U}) {
        watched_scheduler watched{workers};
        for (int i = 0; i != 50; ++i) {
            scripted task;
            std::latch done{1};
            task.then([&](scripted& self) {
                EXPECT_TRUE(self.receive_signal());
                done.count_down();
            });
            watched.scheduler->post_delay(task, 1h);
            if (i % 2 == 0) {
                test::await([&] { return watched.driver->deadline.load() != never; });
            }
            task.signal();
            done.wait();
            test::await(
                [&] { return watched.driver->deadline.load() == never && watched.driver->asleep; });
            EXPECT_TRUE(watched.scheduler->drain_for(1h));
        }
    }
}

TEST(SleepPlan, AnEarlierDeadlineIsKeptWhetherTheDriverObeysOrMustBeWoken) {
    const test::watchdog guard;
    for (const bool obeys : {false, true}) {
        watched_scheduler watched{2, obeys};
        scripted late{[](scripted& self) { EXPECT_TRUE(self.receive_signal()); }};
        watched.scheduler->post_delay(late, 1h);
        test::await([&] { return watched.driver->deadline.load() != never; });
        for (int i = 0; i != 100; ++i) {
            std::latch done{1};
            scripted early{[&](scripted&) { done.count_down(); }};
            watched.scheduler->post_delay(early, 100us);
            done.wait();  // or the watchdog ends it after less than an hour
            EXPECT_TRUE(early.expired());
        }
        late.signal();
        EXPECT_TRUE(watched.scheduler->drain_for(1h));
    }
}

// Before a worker waits in it, a step of another worker posts two tasks.
class busy_driver final : public driver {
public:
    [[nodiscard]] bool set_deadline(time_point) noexcept override {
        if (!asks) return true;
        wanted.send();
        posted.receive();
        return true;
    }
    void wait() noexcept override { woken_.receive(); }
    void poll(event_sink&) noexcept override { ++polls; }
    void wake() noexcept override { woken_.send(); }
    [[nodiscard]] bool has_sources() const noexcept override { return true; }

    std::atomic<bool> asks{false};
    std::atomic<int> polls{0};
    sync::signal wanted;
    sync::signal posted;

private:
    sync::signal woken_;
};

// A worker that leaves the driver to its next wait finds a task instead, each time.
TEST(Driver, IsPolledThoughEachWaitIsGivenUp) {
    const test::watchdog guard;
    auto made = std::make_unique<busy_driver>();
    busy_driver& driver = *made;
    scheduler scheduler{{.workers = 2,
                         .policy = policy::stealing,
                         .blocked_after = 0ms,
                         .driver = std::move(made)}};
    std::atomic<bool> over{false};
    std::atomic<int> steps{0};
    const auto post_two = [&] {
        for (int i = 0; i != 2; ++i) scheduler.post([&] { ++steps; });
    };
    scheduler.post([&] {
        driver.asks = true;
        post_two();  // the other worker wakes up
        for (driver.wanted.receive(); !over; driver.wanted.receive()) {
            post_two();
            driver.posted.send();
        }
        driver.asks = false;
        driver.posted.send();
    });
    test::await([&] { return steps > 10; });
    const int polls = driver.polls + 30;
    const time_point limit = clock::now() + 10s;  // at two in 2 s it would be ten
    while (driver.polls < polls && clock::now() < limit) std::this_thread::yield();
    EXPECT_GE(driver.polls, polls) << "a poll takes an interval of 1 ms, about";
    over = true;
    driver.wanted.send();
    scheduler.drain();
}

}  // namespace
}  // namespace fairlead::driver_tests
