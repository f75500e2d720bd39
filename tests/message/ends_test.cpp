// How gates, receivers, joins and services end: under stops and deadlines, without memory, and in
// which order.
#include <fairlead/context/with_deadline.hpp>
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/message/choice.hpp>
#include <fairlead/message/gate.hpp>
#include <fairlead/message/join.hpp>
#include <fairlead/message/service.hpp>

#include "support/tasks.hpp"
#include "support/watchdog.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace fairlead::ends_tests {
namespace {

using namespace std::chrono_literals;
using test::simulation;

// --- gates ---------------------------------------------------------------------------------------

// The stop ends the wait for the teardown before it begins; the gate is closed all the same.
TEST(Gate, ACloseOfAStoppedTaskRefusesAllTheSame) {
    simulation sim;
    gate door;
    gate_hold inside = door.try_concurrent();
    int refused = 0;
    const auto enters = [&]() -> task<> {
        const auto hold = co_await door.exclusive();
        if (!hold && hold.error() == wait_error::closed) ++refused;
    };
    std::vector<wait_error> errors;
    const auto closes = [&]() -> task<> {
        const auto teardown = co_await door.close();
        if (!teardown) errors.push_back(teardown.error());
    };
    auto waits = spawn(sim.scheduler, enters());
    sim.scheduler.run_until_idle();
    auto stopped = spawn(sim.scheduler, closes());
    stopped.request_stop();
    sim.scheduler.run_until_idle();
    EXPECT_EQ(errors, std::vector{wait_error::stopped});
    EXPECT_TRUE(door.is_closed());
    EXPECT_EQ(refused, 1);
    inside.leave();
    EXPECT_FALSE(door.try_concurrent());
    auto last = spawn(sim.scheduler, closes());
    EXPECT_TRUE(sim.scheduler.drain_for(1h));
    EXPECT_EQ(errors.size(), 1U) << "the teardown was left to the next close";
}

// --- receivers -----------------------------------------------------------------------------------

// What a handler has captured: says whether its receiver had ended when it went.
struct probe {
    std::optional<receiver_ref> receiver{};
    std::optional<bool> went_after_the_end{};

    struct look {
        void operator()(probe* self) const {
            self->went_after_the_end = self->receiver->has_ended();
        }
    };
    [[nodiscard]] std::unique_ptr<probe, look> captured() {
        return std::unique_ptr<probe, look>{this};
    }
};

// So what waits for the end may destroy what the handler refers to.
TEST(Receiver, ItsHandlerIsGoneBeforeItsEndIsTold) {
    for (const std::string& kind :
         std::vector<std::string>{"receiver", "join", "choice", "gather"}) {
        simulation sim;
        port<int> left;
        port<int> right;
        probe handler;
        auto alone = [held = handler.captured()](int) {};
        const auto attach = [&]() -> port_receiver {
            if (kind == "receiver") return left.receive_with(sim.scheduler, std::move(alone));
            if (kind == "join") {
                auto both = [held = std::move(alone)](int, int) {};
                return join(sim.scheduler, std::move(both), {}, left, right);
            }
            if (kind == "choice") return choice(sim.scheduler, from(left, std::move(alone)));
            auto all = [held = std::move(alone)](const std::vector<int>&) {};
            return gather(sim.scheduler, 2, std::move(all), left);
        };
        const port_receiver one = attach();
        handler.receiver.emplace(one);
        sim.scheduler.run_until_idle();
        EXPECT_FALSE(handler.went_after_the_end.has_value()) << kind;
        left.close();
        EXPECT_TRUE(sim.scheduler.drain_for(1h));
        EXPECT_TRUE(one.has_ended());
        EXPECT_EQ(handler.went_after_the_end, false) << kind;
    }
}

TEST(Receiver, HasEndedIfItsTasksNeverBegin) {
    port<int> left;
    port<int> right;
    std::vector<port_receiver> all;
    {
        scheduler home{{.workers = 1, .on_late_posts = [](const stop_report&) {}}};
        static_cast<void>(home.stop(0s));
        all.push_back(left.receive_with(home, [](int) {}, {.at_most = 2}));
        all.push_back(join(
            home, [](int, int) {}, {}, left, right));
        all.push_back(choice(home, from(left, [](int) {})));
        all.push_back(gather(
            home, 2, [](const std::vector<int>&) {}, left));
    }
    for (const port_receiver& each : all) EXPECT_TRUE(each.has_ended());
}

// A receiver goes on after the request during which it was attached.
TEST(Receiver, DoesNotHaveTheDeadlineOfWhatAttachesIt) {
    simulation sim;
    port<int> left;
    port<int> right;
    int handled = 0;
    std::vector<port_receiver> all;
    const time_point deadline = sim.clock.now() + 1ms;
    const auto attaches = [&]() -> task<> {
        all.push_back(left.receive_with(sim.scheduler, [&](int) { ++handled; }));
        all.push_back(join(
            sim.scheduler, [&](int, int) { ++handled; }, {}, left, right));
        co_return;
    };
    const auto request = [&]() -> task<> { co_await with_deadline(deadline, attaches()); };
    spawn(sim.scheduler, request()).detach();
    sim.scheduler.run_until_idle();
    sim.clock.advance(2ms);
    sim.scheduler.run_until_idle();
    EXPECT_TRUE(left.try_send(1));
    sim.scheduler.run_until_idle();
    EXPECT_EQ(handled, 1);
    for (const port_receiver& each : all) EXPECT_FALSE(each.has_ended());
    left.close();
    EXPECT_TRUE(sim.scheduler.drain_for(1h));
}

TEST(Receiver, GoesOnWhenItsSinkThrows) {
    test::manual_clock clock;
    test::simulated_driver* driver = nullptr;
    auto options = test::simulated(clock, driver);
    std::vector<std::string> unhandled;
    options.on_unhandled = [&](const std::exception_ptr& why, const failure_origin&) {
        try {
            std::rethrow_exception(why);
        } catch (const std::runtime_error& thrown) {
            unhandled.emplace_back(thrown.what());
        }
    };
    scheduler home{std::move(options)};
    port<int> numbers;
    const auto sink = [](std::exception_ptr) { throw std::runtime_error{"the sink"}; };
    port_receiver all = numbers.receive_with(
        home, [](int) { throw std::runtime_error{"the handler"}; }, {.on_failure = sink});
    for (int i = 0; i != 2; ++i) EXPECT_TRUE(numbers.try_send(int{i}));
    numbers.close();
    EXPECT_TRUE(home.drain_for(1h));
    EXPECT_EQ(all.stats().handled, 2U);
    EXPECT_EQ(unhandled, (std::vector<std::string>{"the sink", "the sink"}));
}

// --- joins ---------------------------------------------------------------------------------------

// A join that can have no further message of one port ends, wherever it waits.
TEST(Join, EndsWhenAnyOfItsPortsIsClosedAndEmpty) {
    for (const std::size_t closed : {0U, 1U, 2U}) {
        simulation sim;
        std::array<port<int>, 3> ports;
        const port_receiver one = join(
            sim.scheduler, [](int, int, int) {}, {}, ports[0], ports[1], ports[2]);
        sim.scheduler.run_until_idle();
        EXPECT_FALSE(one.has_ended());
        ports[closed].close();
        sim.scheduler.run_until_idle();
        EXPECT_TRUE(one.has_ended()) << closed;
        EXPECT_TRUE(sim.scheduler.drain_for(1h));
    }
}

// The join waits for the right port while the left one has an element, which goes elsewhere.
TEST(Join, EndsWhenAnotherTakesTheLastMessageOfAClosedPort) {
    for (const bool drops : {false, true}) {
        simulation sim;
        port<int> left;
        port<int> right;
        EXPECT_TRUE(left.try_send(1));
        const port_receiver one = join(
            sim.scheduler, [](int, int) {}, {}, left, right);
        sim.scheduler.run_until_idle();
        left.close();
        sim.scheduler.run_until_idle();
        EXPECT_FALSE(one.has_ended()) << "there may be a right one yet";
        if (drops) {
            left.close_and_drop();
        } else {
            EXPECT_TRUE(left.elements().try_receive().has_value());
        }
        sim.scheduler.run_until_idle();
        EXPECT_TRUE(one.has_ended());
        EXPECT_TRUE(sim.scheduler.drain_for(1h));
    }
}

TEST(JoinDeathTest, OfOnePortTwiceIsRefused) {
    simulation sim;
    port<int> numbers;
    EXPECT_DEATH(static_cast<void>(join(
                     sim.scheduler, [](int, int) {}, {}, numbers, numbers)),
                 "of different ports");
}

// --- services ------------------------------------------------------------------------------------

// A service with one request, whose handler takes 5 ms.
struct slow_service {
    simulation sim{};
    service<int> of{sim.scheduler, 0};
    port<request<int, int>>& add = of.exclusive<int, int>([](int& sum, int number) -> task<int> {
        co_await sleep_for(5ms);
        sum += number;
        co_return sum;
    });

    // The first one runs, the second one queues.
    future<int> runs = add.ask(1);
    future<int> queues = add.ask(1);
    bool stopped = false;

    slow_service() {
        EXPECT_TRUE(of.start());
        sim.scheduler.run_until_idle();
    }

    time_point stopped_at{};

    task<> stops() {
        stopped = co_await of.stop();
        stopped_at = sim.clock.now();
    }

    void expect_end_after_the_handler(time_point began) {
        EXPECT_TRUE(sim.scheduler.drain_for(1h));
        EXPECT_TRUE(stopped);
        EXPECT_EQ(of.status(), service_status::stopped);
        EXPECT_EQ(stopped_at - began, 5ms) << "the handler that ran was awaited";
        EXPECT_EQ(runs.take().value(), 1);
        EXPECT_FALSE(queues.take().has_value()) << "the request that queued was dropped";
    }
};

// A stop is sticky: it must not make the wait for the handlers a loop without rest.
TEST(Service, AStopOfTheStoppingTaskDropsTheRestAndAwaitsTheHandlers) {
    const test::watchdog guard;
    slow_service all;
    const time_point began = all.sim.clock.now();
    auto stops = spawn(all.sim.scheduler, all.stops());
    all.sim.scheduler.run_until_idle();
    stops.request_stop();
    all.expect_end_after_the_handler(began);
}

TEST(Service, AnOverdueStopDropsTheRestAndAwaitsTheHandlers) {
    const test::watchdog guard;
    slow_service all;
    const time_point began = all.sim.clock.now();
    const auto in_time = [&]() -> task<> { co_await with_deadline(began + 1ms, all.stops()); };
    auto stops = spawn(all.sim.scheduler, in_time());
    all.expect_end_after_the_handler(began);
}

}  // namespace
}  // namespace fairlead::ends_tests
