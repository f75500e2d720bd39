// Services: exclusive and concurrent requests, and the stop.
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/message/service.hpp>

#include "support/tasks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <utility>
#include <vector>

namespace fairlead::service_tests {
namespace {

using namespace std::chrono_literals;
using test::simulation;

struct counters {
    int sum = 0;
};

// Adds with a wait in between; reads beside each other. Each takes 1 ms.
struct adding {
    simulation sim{};
    int readers = 0;
    int readers_most = 0;
    service<counters> of{sim.scheduler};
    port<request<int, int>>& add =
        of.exclusive<int, int>([this](counters& to, int number) -> task<int> {
            EXPECT_EQ(readers, 0);
            const int before = to.sum;
            co_await sleep_for(1ms);
            to.sum = before + number;
            if (number < 0) throw std::runtime_error{"negative"};
            co_return to.sum;
        });
    port<request<int, int>>& read = of.concurrent<int, int>(
        [this](const counters& from, int) -> task<int> {
            readers_most = std::max(readers_most, ++readers);
            co_await sleep_for(1ms);
            --readers;
            co_return from.sum;
        },
        3);

    bool stop(time_point deadline = never, service_rest rest = service_rest::drain) {
        bool stopped = false;
        auto stops = [&]() -> task<> { stopped = co_await of.stop(deadline, rest); };
        spawn(sim.scheduler, stops()).detach();
        EXPECT_TRUE(sim.scheduler.drain_for(1h));
        return stopped;
    }
};

TEST(Service, RequestsAreAloneOrShareTheState) {
    adding all;
    auto early = all.add.ask(1);
    EXPECT_EQ(all.of.status(), service_status::idle);
    EXPECT_EQ(all.of.stats().queued, 1U);
    EXPECT_TRUE(all.of.start());
    EXPECT_FALSE(all.of.start());
    std::vector<future<int>> sums;
    for (int i = 0; i != 6; ++i) {
        sums.push_back(all.read.ask(0));
        sums.push_back(all.add.ask(1));
    }
    auto bad = all.add.ask(-7);
    EXPECT_TRUE(all.stop());
    EXPECT_EQ(all.of.status(), service_status::stopped);
    EXPECT_EQ(early.take().value(), 1);
    int largest = 0;
    for (auto& each : sums) largest = std::max(largest, each.take().value());
    EXPECT_EQ(largest, 7) << "no addition was lost";
    EXPECT_FALSE(bad.take().has_value());
    EXPECT_EQ(all.readers_most, 3);
    EXPECT_EQ(all.of.stats().handled, 14U);
    EXPECT_EQ(all.of.stats().failed, 1U);
    EXPECT_FALSE(all.stop());
    EXPECT_FALSE(all.add.ask(1).take().has_value()) << "closed";
}

// What queues at the deadline is dropped, and answered; the handler that runs ends first.
TEST(Service, AStopDropsTheRestAtItsDeadline) {
    for (const auto rest : {service_rest::drain, service_rest::drop}) {
        adding all;
        EXPECT_TRUE(all.of.start());
        std::vector<future<int>> sums;
        for (int i = 0; i != 10; ++i) sums.push_back(all.add.ask(1));
        all.sim.scheduler.run_until_idle();
        EXPECT_TRUE(all.stop(all.sim.clock.now() + 2500us, rest));
        int answered = 0;
        for (auto& each : sums) {
            ASSERT_TRUE(each.is_ready()) << "no request is left without an answer";
            if (each.take()) ++answered;
        }
        EXPECT_EQ(answered, rest == service_rest::drain ? 3 : 1);
        EXPECT_EQ(all.of.stats().queued, 0U);
        EXPECT_EQ(all.of.stats().handled, static_cast<std::uint64_t>(answered));
    }
}

}  // namespace
}  // namespace fairlead::service_tests
