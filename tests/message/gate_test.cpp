// Gates: entries that are alone or share, three policies, and the close with its teardown.
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/message/gate.hpp>
#include <fairlead/message/port.hpp>

#include "support/tasks.hpp"
#include "support/watchdog.hpp"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace fairlead::gate_tests {
namespace {

using namespace std::chrono_literals;
using test::simulation;

// Tasks that are inside for 1 ms each, and write into a log when they come in.
struct entries {
    simulation& sim;
    gate door;
    std::string log{};
    int alone = 0;
    int together = 0;

    task<> enters(char name) {
        const bool is_alone = name < 'a';
        waited<gate_hold> hold = co_await (is_alone ? door.exclusive() : door.concurrent());
        if (!hold) {
            log += '-';
            EXPECT_EQ(hold.error(), wait_error::closed);
            co_return;
        }
        log += name;
        ++(is_alone ? alone : together);
        EXPECT_LE(alone, 1);
        EXPECT_TRUE(alone == 0 || together == 0);
        co_await sleep_for(1ms);
        --(is_alone ? alone : together);
    }

    // Small letters enter beside each other, capitals alone; each begins after the one before.
    void begin(const std::string& names) {
        for (const char each : names) {
            spawn(sim.scheduler, enters(each)).detach();
            sim.scheduler.run_until_idle();
        }
    }
};

std::string order_of(gate_policy policy, const std::string& names) {
    simulation sim;
    entries all{sim, gate{policy}};
    all.begin(names);
    EXPECT_TRUE(sim.scheduler.drain_for(1h));
    EXPECT_EQ(all.door.waiting(), 0U);
    return all.log;
}

TEST(Gate, ThePolicySaysWhatComesInNext) {
    EXPECT_EQ(order_of(gate_policy::phase_fair, "aABbCcd"), "aAbcdBC");
    EXPECT_EQ(order_of(gate_policy::arrival, "aABbCcd"), "aABbCcd");
    EXPECT_EQ(order_of(gate_policy::exclusive_first, "aABbCcd"), "aABCbcd");
}

TEST(Gate, AnArrivalThatGivesUpLetsThoseBehindIn) {
    simulation sim;
    entries all{sim, gate{gate_policy::arrival}};
    gate_hold first = all.door.try_concurrent();
    ASSERT_TRUE(first);
    std::vector<wait_error> errors;
    const auto gives_up = [&](time_point deadline) -> task<> {
        const auto hold = co_await all.door.exclusive(deadline);
        EXPECT_FALSE(hold.has_value());
        if (!hold) errors.push_back(hold.error());
    };
    auto stopped = spawn(sim.scheduler, gives_up(never));
    auto expires = spawn(sim.scheduler, gives_up(sim.clock.now() + 5ms));
    sim.scheduler.run_until_idle();
    all.begin("ab");
    EXPECT_EQ(all.log, "");
    stopped.request_stop();
    sim.scheduler.run_until_idle();
    EXPECT_EQ(all.log, "") << "an exclusive entry waits still";
    EXPECT_FALSE(all.door.try_concurrent());
    EXPECT_TRUE(sim.scheduler.drain_for(1h));
    EXPECT_EQ(all.log, "ab");
    EXPECT_EQ(errors, (std::vector{wait_error::stopped, wait_error::expired}));
}

TEST(Gate, ACloseRefusesWaitsForTheHoldersAndTearsDownOnce) {
    for (const auto policy :
         {gate_policy::phase_fair, gate_policy::arrival, gate_policy::exclusive_first}) {
        simulation sim;
        entries all{sim, gate{policy}};
        all.begin("abAc");
        int teardowns = 0;
        int refused = 0;
        const auto closes = [&]() -> task<> {
            const auto teardown = co_await all.door.close();
            if (teardown) {
                EXPECT_EQ(all.together, 0);
                ++teardowns;
            } else {
                EXPECT_EQ(teardown.error(), wait_error::closed);
                ++refused;
            }
        };
        auto first = spawn(sim.scheduler, closes());
        auto second = spawn(sim.scheduler, closes());
        sim.scheduler.run_until_idle();
        EXPECT_EQ(teardowns, 0) << "two are inside";
        EXPECT_EQ(refused, 1);
        EXPECT_TRUE(all.door.is_closed());
        all.begin("dB");
        EXPECT_EQ(all.log, "ab----");
        EXPECT_TRUE(sim.scheduler.drain_for(1h));
        EXPECT_EQ(teardowns, 1);
        EXPECT_FALSE(all.door.try_exclusive());
        EXPECT_FALSE(all.door.try_concurrent());
    }
}

TEST(Gate, ACloseThatExpiresLeavesTheTeardownToTheNext) {
    simulation sim;
    gate door;
    gate_hold inside = door.try_concurrent();
    std::vector<bool> ended;
    const auto closes = [&](time_point deadline) -> task<> {
        const auto teardown = co_await door.close(deadline);
        ended.push_back(teardown.has_value());
    };
    const time_point deadline = sim.clock.now() + 1ms;
    auto first = spawn(sim.scheduler, closes(deadline));
    sim.scheduler.run_until_idle();
    EXPECT_EQ(ended, std::vector<bool>{});
    sim.scheduler.run_until(deadline);
    sim.scheduler.run_until_idle();
    EXPECT_EQ(ended, std::vector{false});
    EXPECT_TRUE(door.is_closed());
    inside.leave();
    auto second = spawn(sim.scheduler, closes(never));
    EXPECT_TRUE(sim.scheduler.drain_for(1h));
    EXPECT_EQ(ended, (std::vector{false, true}));
}

TEST(Gate, AHoldMovesAndEndsOnce) {
    gate door;
    gate_hold one = door.try_exclusive();
    gate_hold other = std::move(one);
    EXPECT_FALSE(one);
    EXPECT_FALSE(door.try_concurrent());
    other = gate_hold{};
    gate_hold third = door.try_concurrent();
    EXPECT_TRUE(third);
    third = door.try_concurrent();
    EXPECT_FALSE(door.try_exclusive());
    third.leave();
    third.leave();
    EXPECT_TRUE(door.try_exclusive());
}

TEST(Gate, ThreadsEnterAndClose) {
    test::watchdog guard;
    gate door;
    int guarded = 0;
    const auto adds = [&] {
        for (int i = 0; i != 1'000; ++i) {
            const auto hold = door.exclusive_blocking();
            ASSERT_TRUE(hold.has_value());
            ++guarded;
        }
    };
    std::thread one{adds};
    std::thread two{adds};
    one.join();
    two.join();
    EXPECT_EQ(guarded, 2'000);
    EXPECT_TRUE(door.concurrent_blocking().has_value());
    EXPECT_TRUE(door.close_blocking().has_value());
    EXPECT_EQ(door.exclusive_blocking().error(), wait_error::closed);
}

// A task that is granted an entry, and destroyed before it goes on, gives the entry back.
TEST(Gate, ATaskThatIsDestroyedWithItsSchedulerIsNotInside) {
    gate door;
    gate_hold inside = door.try_exclusive();
    {
        simulation sim;
        auto enters = [&]() -> task<> { static_cast<void>(co_await door.exclusive()); };
        spawn(sim.scheduler, enters()).detach();
        sim.scheduler.run_until_idle();
        inside.leave();
    }
    EXPECT_TRUE(door.try_exclusive());
}

// A handler that is alone inside a gate can be let in by itself only.
void enter_from_inside(bool closes) {
    simulation sim;
    gate door;
    port<int> numbers;
    port_receiver all = numbers.receive_with(sim.scheduler,
                                             [&](int) -> task<> {
                                                 if (closes) {
                                                     auto last = co_await door.close();
                                                     static_cast<void>(last);
                                                 }
                                                 auto again = co_await door.concurrent();
                                                 static_cast<void>(again);
                                             },
                                             {.gate = door.exclusive(), .name = "deposits"});
    EXPECT_TRUE(numbers.try_send(1));
    sim.scheduler.run_until_idle();
}
TEST(GateDeathTest, AHandlerThatWaitsForItsOwnGateIsNamed) {
    EXPECT_DEATH(enter_from_inside(false), "deposits -> gate -> deposits");
    EXPECT_DEATH(enter_from_inside(true), "deposits -> gate -> deposits");
}

// Another gate, another task, and the same gate when the handler has left it.
TEST(Gate, AHandlerMayWaitForOtherGatesAndOtherTasksForIts) {
    simulation sim;
    gate door;
    gate other;
    port<int> numbers;
    int handled = 0;
    port_receiver all = numbers.receive_with(sim.scheduler,
                                             [&](int) -> task<> {
                                                 auto beside = co_await other.exclusive();
                                                 EXPECT_TRUE(beside.has_value());
                                                 co_await sleep_for(1ms);
                                                 ++handled;
                                             },
                                             {.at_most = 2, .gate = door.exclusive()});
    for (int i = 0; i != 4; ++i) EXPECT_TRUE(numbers.try_send(int{i}));
    int entered = 0;
    const auto enters = [&]() -> task<> {
        const auto hold = co_await door.exclusive();
        if (hold) ++entered;
    };
    for (int i = 0; i != 3; ++i) spawn(sim.scheduler, enters()).detach();
    numbers.close();
    EXPECT_TRUE(sim.scheduler.drain_for(1h));
    EXPECT_EQ(handled, 4);
    EXPECT_EQ(entered, 3);
}

}  // namespace
}  // namespace fairlead::gate_tests
