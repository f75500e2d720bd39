#include <fairlead/detail/sched/task_state.hpp>

#include "support/sanitizer.hpp"
#include "support/threads.hpp"
#include "support/watchdog.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <thread>
#include <vector>

namespace fairlead::task_state_tests {
namespace {

constexpr bool deaf = true;
constexpr bool hears = false;

task_state& asleep(task_state& state, bool is_deaf = hears) {
    EXPECT_TRUE(state.park(is_deaf));
    EXPECT_TRUE(state.is_waiting());
    return state;
}

TEST(TaskState, IsBlankAtFirst) {
    task_state state;
    EXPECT_FALSE(state.is_waiting());
    EXPECT_FALSE(state.is_signalled());
    EXPECT_FALSE(state.is_stopping());
    EXPECT_FALSE(state.take_signal());
    EXPECT_FALSE(state.take_completed());
}

TEST(TaskState, OfSeveralWakersOfASleeperOneHasTheDuty) {
    task_state state;
    asleep(state);
    EXPECT_TRUE(state.wake());
    EXPECT_FALSE(state.wake());
    EXPECT_FALSE(state.signal());
    EXPECT_FALSE(state.complete());
    EXPECT_FALSE(state.request_stop());
    EXPECT_FALSE(state.unpark());
    state.begin_run();
    EXPECT_FALSE(state.is_waiting());
    EXPECT_TRUE(state.take_signal());
    EXPECT_TRUE(state.take_completed());
    EXPECT_TRUE(state.is_stopping());
}

TEST(TaskState, EveryKindOfWakingIsADutyForASleeper) {
    for (const auto wake :
         {+[](task_state& s) { return s.wake(); }, +[](task_state& s) { return s.signal(); },
          +[](task_state& s) { return s.complete(); },
          +[](task_state& s) { return s.request_stop(); }}) {
        task_state state;
        EXPECT_FALSE(wake(state));  // awake: remembered
        EXPECT_FALSE(state.park(hears));
        state.begin_run();
        static_cast<void>(state.take_signal());
        static_cast<void>(state.take_completed());
        asleep(state);
        EXPECT_TRUE(wake(state));
        EXPECT_FALSE(wake(state));
    }
}

TEST(TaskState, UnparkTakesTheSleeperFromItsWakers) {
    task_state state;
    asleep(state);
    EXPECT_TRUE(state.unpark());
    EXPECT_FALSE(state.is_waiting());
    EXPECT_FALSE(state.wake());    // remembered for the run after
    EXPECT_FALSE(state.signal());  // remembered, too
    state.begin_run();
    EXPECT_TRUE(state.take_signal());
    asleep(state);  // begin_run has used up the wake-up
}

TEST(TaskState, AWakeUpDuringTheRunIsForTheNextOne) {
    task_state state;
    state.begin_run();
    EXPECT_FALSE(state.wake());
    EXPECT_FALSE(state.park(hears));
    state.begin_run();
    asleep(state);
}

TEST(TaskState, BeginRunKeepsSignalsAndUsesUpWakeUps) {
    task_state state;
    asleep(state);
    EXPECT_TRUE(state.signal());
    state.begin_run();
    EXPECT_TRUE(state.is_signalled());
    EXPECT_FALSE(state.park(hears)) << "a signal that was not received keeps the task awake";
    EXPECT_TRUE(state.take_signal());
    EXPECT_FALSE(state.take_signal());
    asleep(state);
}

TEST(TaskState, SignalsDoNotCount) {
    task_state state;
    EXPECT_FALSE(state.signal());
    EXPECT_FALSE(state.signal());
    EXPECT_TRUE(state.take_signal());
    EXPECT_FALSE(state.take_signal());
}

TEST(TaskState, TheDeafSleepThroughSignals) {
    task_state state;
    EXPECT_FALSE(state.signal());
    asleep(state, deaf);
    EXPECT_FALSE(state.signal());
    EXPECT_TRUE(state.is_waiting());
    EXPECT_TRUE(state.complete());
    EXPECT_FALSE(state.wake());
    state.begin_run();
    EXPECT_TRUE(state.is_signalled());
    EXPECT_TRUE(state.take_completed());
}

TEST(TaskState, TheDeafWakeUpForEverythingElse) {
    for (const auto wake :
         {+[](task_state& s) { return s.wake(); }, +[](task_state& s) { return s.complete(); },
          +[](task_state& s) { return s.request_stop(); }}) {
        task_state state;
        asleep(state, deaf);
        EXPECT_FALSE(state.signal());
        EXPECT_TRUE(wake(state)) << "the signal before it was not its duty";
    }
    task_state state;
    asleep(state, deaf);
    EXPECT_FALSE(state.signal());
    EXPECT_TRUE(state.unpark());
}

TEST(TaskState, DeafnessEndsWithTheSleep) {
    task_state state;
    asleep(state, deaf);
    EXPECT_TRUE(state.unpark());
    state.begin_run();
    asleep(state);
    EXPECT_TRUE(state.signal());
    state.begin_run();
    EXPECT_TRUE(state.take_signal());
    asleep(state, deaf);
    EXPECT_TRUE(state.wake());
    state.begin_run();
    asleep(state);
    EXPECT_TRUE(state.signal());
}

TEST(TaskState, ACompletionBeforeTheSleepKeepsItAwake) {
    task_state state;
    EXPECT_FALSE(state.complete());
    EXPECT_FALSE(state.park(deaf));
    EXPECT_FALSE(state.park(hears));
}

TEST(TaskState, StoppingIsForGood) {
    task_state state;
    asleep(state);
    EXPECT_TRUE(state.request_stop());
    state.begin_run();
    EXPECT_TRUE(state.is_stopping());
    asleep(state);  // told once: it may sleep to clean up
    EXPECT_TRUE(state.wake());
    state.begin_run();
    EXPECT_TRUE(state.is_stopping());
    state.reset();
    EXPECT_FALSE(state.is_stopping());
}

TEST(TaskState, TheFirstReasonOfAStopCounts) {
    constexpr stopped_by kicked = own_reason(65'279);  // the largest
    for (const stopped_by first : {kicked, stopped_by::unsaid, stopped_by::timeout}) {
        task_state state;
        EXPECT_EQ(state.stop_reason(), stopped_by::unsaid);
        asleep(state);
        EXPECT_TRUE(state.request_stop(first));
        EXPECT_FALSE(state.request_stop(stopped_by::overdue));
        state.mark_stopping();
        EXPECT_EQ(state.stop_reason(), first);
        state.begin_run();
        EXPECT_FALSE(state.take_signal()) << "a reason is no other bit";
        EXPECT_FALSE(state.take_completed());
        asleep(state);
        EXPECT_TRUE(state.signal());
        EXPECT_EQ(state.stop_reason(), first) << "no other call changes it";
        state.reset();
        EXPECT_EQ(state.stop_reason(), stopped_by::unsaid);
        EXPECT_FALSE(state.is_stopping());
    }
    task_state told;
    told.mark_stopping();
    EXPECT_FALSE(told.request_stop(kicked));
    EXPECT_EQ(told.stop_reason(), stopped_by::shutdown);
}

// Wakers of all kinds against the role, which parks and unparks. Each sleep ends by exactly one: a
// waker that got the duty, or the role.
TEST(TaskState, EachSleepEndsOnce) {
    test::watchdog guard;
    constexpr int rounds = 1'000;  // each waits for four threads to get a processor
    task_state state;
    std::atomic<int> ended{0};
    int wrong = 0;
    bool slept = false;
    std::barrier turn{4, [&]() noexcept {
                          if (slept) wrong += ended != 1;
                          if (!slept) wrong += ended != 0;
                          ended = 0;
                          state.begin_run();
                          static_cast<void>(state.take_signal());
                          static_cast<void>(state.take_completed());
                          slept = false;
                      }};
    test::run_together(4, [&](std::size_t self) {
        for (int i = 0; i != rounds; ++i) {
            if (self == 0) {
                slept = state.park(i % 2 == 0 ? deaf : hears);
                if (slept && state.unpark()) ++ended;
            } else if (self == 1) {
                ended += state.wake();
            } else if (self == 2) {
                ended += i % 3 == 0 ? state.signal() : state.complete();
            } else {
                ended += state.signal();
            }
            turn.arrive_and_wait();
        }
    });
    EXPECT_EQ(wrong, 0);
}

// What a waker wrote before it woke is seen by the run that was about to begin, or there is another
// run. One side is a task that is woken already and begins to run; the other writes and wakes. A
// wake that looks before it leaps, with its data still in the store buffer, is caught by the many
// trials.
TEST(TaskState, AWakerThatFindsAnotherStillPublishesItsData) {
    test::watchdog guard;
    // Each trial needs both threads at once: on a loaded machine a switch by the system. What is
    // looked for is the order of the processor; sanitizers only slow it down.
    constexpr int repeats = test::sanitized ? 20 : 200;
    constexpr std::size_t count = 2'000;
    struct alignas(64) trial {
        task_state state;
        int seen = 0;
        alignas(64) std::atomic<int> data{0};
    };
    std::vector<trial> trials(count);
    for (trial& each : trials) static_cast<void>(each.state.wake());
    int lost = 0;
    std::barrier turn{2, [&]() noexcept {
                          for (trial& each : trials) {
                              const bool runs_again = !each.state.park(hears);
                              lost += each.seen == 0 && each.data == 1 && !runs_again;
                              each.state.reset();
                              static_cast<void>(each.state.wake());
                              each.data = 0;
                          }
                      }};
    std::atomic<long> at[2] = {0, 0};
    const auto side_by_side = [&](std::size_t self) {
        const long here = ++at[self];
        for (int spins = 0; at[1 - self] < here; ++spins) {
            if (spins > 1'000) std::this_thread::yield();
        }
    };
    test::run_together(2, [&](std::size_t self) {
        for (int i = 0; i != repeats; ++i) {
            for (trial& each : trials) {
                side_by_side(self);
                if (self == 0) {
                    each.state.begin_run();
                    each.seen = each.data.load(std::memory_order_relaxed);
                } else {
                    each.data.store(1, std::memory_order_relaxed);
                    static_cast<void>(each.state.wake());
                }
            }
            turn.arrive_and_wait();
        }
    });
    EXPECT_EQ(lost, 0);
}

}  // namespace
}  // namespace fairlead::task_state_tests
