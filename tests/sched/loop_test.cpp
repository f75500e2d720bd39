// A scheduler in a foreign main loop that cannot poll a descriptor: the driver calls the loop.
#include "support/simulated.hpp"
#include "support/tasks.hpp"
#include "support/watchdog.hpp"

#include <fairlead/sched/futex_driver.hpp>
#include <fairlead/sched/group.hpp>
#include <fairlead/sched/scheduler.hpp>

#include <gtest/gtest.h>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>

namespace fairlead::loop_tests {
namespace {

using namespace std::chrono_literals;
using test::scripted;

// Such a loop: it sleeps in poll(2) until the driver calls it, or until the time that it was given.
class foreign_loop {
public:
    foreign_loop() = default;
    foreign_loop(const foreign_loop&) = delete;
    foreign_loop& operator=(const foreign_loop&) = delete;
    ~foreign_loop() { ::close(event_); }

    void call() {
        ++calls;
        const std::uint64_t one = 1;
        EXPECT_EQ(::write(event_, &one, sizeof(one)), static_cast<ssize_t>(sizeof(one)));
    }

    // Whether it was called.
    bool sleep_until(time_point until) {
        const auto rest = until == never ? timespec{} : rest_until(until);
        pollfd entry{.fd = event_, .events = POLLIN, .revents = 0};
        if (::ppoll(&entry, 1, until == never ? nullptr : &rest, nullptr) != 1) return false;
        std::uint64_t count = 0;
        return ::read(event_, &count, sizeof(count)) == static_cast<ssize_t>(sizeof(count));
    }

    scheduler_options options(policy policy = policy::fair) {
        return {.policy = policy,
                .run_on_caller = true,
                .driver = std::make_unique<futex_driver>([this] { call(); })};
    }

    std::atomic<int> calls{0};

private:
    static timespec rest_until(time_point until) {
        const duration rest =
            until == immediately ? duration{} : std::max(until - clock::now(), duration{});
        return {.tv_sec = static_cast<time_t>(rest / 1s),
                .tv_nsec = static_cast<long>((rest % 1s).count())};
    }

    const int event_ = ::eventfd(0, EFD_CLOEXEC);
};

TEST(ForeignLoop, RunsWhatIsReadyAndThenSleeps) {
    foreign_loop loop;
    scheduler home{loop.options()};
    EXPECT_EQ(home.driver().descriptor(), -1);
    int ran = 0;
    home.post([&] { home.post([&] { ++ran; }); });
    EXPECT_EQ(home.run_in_loop(), never);
    EXPECT_EQ(ran, 1);
    EXPECT_EQ(home.run_in_loop(), never);
}

TEST(ForeignLoop, IsCalledOnceForWhatIsPostedWhileItSleeps) {
    foreign_loop loop;
    scheduler home{loop.options()};
    EXPECT_EQ(home.run_in_loop(), never);
    for (int round = 1; round != 10; ++round) {
        int ran = 0;
        for (int i = 0; i != 3; ++i) home.post([&] { ++ran; });
        EXPECT_EQ(loop.calls, round);
        EXPECT_EQ(home.run_in_loop(), never);
        EXPECT_EQ(ran, 3);
    }
}

TEST(ForeignLoop, ReturnsWhenItHasRunEnough) {
    foreign_loop loop;
    scheduler home{loop.options()};
    int ran = 0;
    for (int i = 0; i != 10; ++i) home.post([&] { ++ran; });
    EXPECT_EQ(home.run_in_loop(4), immediately);
    EXPECT_EQ(ran, 4);
    EXPECT_EQ(home.run_in_loop(4), immediately);
    EXPECT_EQ(home.run_in_loop(4), never);
    EXPECT_EQ(ran, 10);
}

// Each step posts the next task, which is the only one there is.
TEST(ForeignLoop, ReturnsWhenItHasRunEnoughOfAChain) {
    for (const policy policy : {policy::fair, policy::stealing}) {
        foreign_loop loop;
        scheduler home{loop.options(policy)};
        int ran = 0;
        std::function<void()> hop = [&] {
            if (++ran != 10) home.post(hop);
        };
        home.post(hop);
        EXPECT_EQ(home.run_in_loop(4), immediately);
        EXPECT_EQ(ran, 4);
        EXPECT_EQ(home.run_in_loop(4), immediately);
        EXPECT_EQ(home.run_in_loop(4), never);
        EXPECT_EQ(ran, 10);
    }
}

// A task that posts itself for ever lets another run, although the loop looks after each step and
// no time passes.
TEST(ForeignLoop, IsFairWithOneStepAtATime) {
    for (const policy policy : {policy::fair, policy::stealing}) {
        test::manual_clock clock;
        test::simulated_driver* driver = nullptr;
        scheduler home{test::simulated(clock, driver, policy)};
        int others = 0;
        scripted other{[&](scripted&) { ++others; }};
        int steps = 0;
        bool over = false;
        scripted endless{[&](scripted& self) {
            if (steps++ == 0) home.post(other);
            if (!over) home.post(self);
        }};
        home.post(endless);
        for (int i = 0; i != 1000; ++i) EXPECT_EQ(home.run_in_loop(1), immediately);
        EXPECT_EQ(others, 1);
        over = true;
        EXPECT_EQ(home.run_in_loop(), never);
    }
}

// The round before the loop sleeps deals the group a turn each time.
TEST(ForeignLoop, TheDequeHasItsTurnBesideAGroup) {
    test::manual_clock clock;
    test::simulated_driver* driver = nullptr;
    scheduler home{test::simulated(clock, driver, policy::stealing)};
    group busy{home};
    int others = 0;
    bool over = false;
    scripted endless{[&](scripted& self) {
        clock.advance(200us);
        if (!over) busy.post(self);
    }};
    home.post([&] {
        home.post([&] { ++others; });
        busy.post(endless);
    });
    for (int i = 0; i != 1000 && others == 0; ++i) EXPECT_EQ(home.run_in_loop(1), immediately);
    EXPECT_EQ(others, 1);
    over = true;
    EXPECT_EQ(home.run_in_loop(), never);
}

TEST(ForeignLoop, LosesNoPostOfOtherThreads) {
    const test::watchdog guard;
    foreign_loop loop;
    scheduler home{loop.options()};
    constexpr int posts = 2000;
    int ran = 0;
    std::jthread poster{[&] {
        for (int i = 0; i != posts; ++i) {
            home.post([&] { ++ran; });
            if (i % 7 == 0) std::this_thread::yield();
        }
    }};
    while (ran != posts) {
        if (const time_point until = home.run_in_loop(); until != immediately && ran != posts) {
            EXPECT_TRUE(loop.sleep_until(until));  // nothing else wakes it
        }
    }
}

TEST(ForeignLoop, SleepsUntilTheNextDeadline) {
    const test::watchdog guard;
    foreign_loop loop;
    scheduler home{loop.options()};
    const time_point due = clock::now() + 3ms;
    time_point ran_at{};
    scripted timed{[&](scripted&) { ran_at = clock::now(); }};
    home.post_deadline(timed, due);
    while (ran_at == time_point{}) {
        const time_point until = home.run_in_loop();
        if (ran_at != time_point{}) break;
        EXPECT_EQ(until, due);
        EXPECT_FALSE(loop.sleep_until(until));
    }
    EXPECT_GE(ran_at, due);
}

TEST(ForeignLoop, IsCalledForADeadlineThatCameMeanwhile) {
    foreign_loop loop;
    scheduler home{loop.options()};
    scripted late{[](scripted&) {}};
    scripted early{[](scripted&) {}};
    const time_point due = clock::now() + 1h;
    home.post_deadline(late, due);
    EXPECT_EQ(home.run_in_loop(), due);
    home.post_deadline(early, due - 1min);
    EXPECT_EQ(loop.calls, 1);
    EXPECT_EQ(home.run_in_loop(), due - 1min);
    for (scripted* const each : {&early, &late}) each->wakeup();
    EXPECT_EQ(home.run_in_loop(), never);
}

TEST(ForeignLoop, MayBeLeftForADrain) {
    const test::watchdog guard;
    foreign_loop loop;
    scheduler home{loop.options()};
    EXPECT_EQ(home.run_in_loop(), never);
    scripted timed{[](scripted&) {}};
    home.post_deadline(timed, clock::now() + 1ms);
    home.drain();
    EXPECT_EQ(timed.runs, 1);
}

}  // namespace
}  // namespace fairlead::loop_tests
