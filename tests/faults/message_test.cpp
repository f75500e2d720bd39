// Messages without memory: a receiver that could not be made handles nothing, and a service that
// could not be started as a whole can be stopped, and answers each request.
#include "faults/faults.hpp"

#include <fairlead/coro/spawn.hpp>
#include <fairlead/message/join.hpp>
#include <fairlead/message/port.hpp>
#include <fairlead/message/service.hpp>
#include <fairlead/sched/scheduler.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <new>
#include <optional>
#include <utility>
#include <vector>

namespace fairlead::test::message_tests {
namespace {

constexpr fault no_memory{};

// More workers than the recycler keeps memory for: so some are there before it runs out.
constexpr std::size_t many = 300;

// Calls `attach` without memory from the n-th allocation, for n = 1, 2, ... until it succeeds.
template <class Attach>
void expect_all_or_no_receiver(Attach attach) {
    for (std::int64_t n = 1;; ++n) {
        scheduler home{{.run_on_caller = true}};
        port<int> left{2};
        port<int> right{2};
        int handled = 0;
        std::optional<port_receiver> made;
        {
            const armed plan{no_memory, call_range::from(n)};
            try {
                made.emplace(attach(home, left, right, handled));
            } catch (const std::bad_alloc&) {
            }
        }
        ASSERT_TRUE(left.try_send(1));
        ASSERT_TRUE(right.try_send(1));
        home.run_until_idle();
        ASSERT_EQ(handled, made ? 1 : 0) << "call " << n;
        left.close_and_drop();
        home.run_until_idle();
        if (!made) continue;
        EXPECT_TRUE(made->has_ended());
        EXPECT_GT(n, 1);
        return;
    }
}

TEST(message_allocations, a_receiver_without_memory_for_all_workers_handles_nothing) {
    expect_all_or_no_receiver([](scheduler& home, port<int>& left, port<int>&, int& handled) {
        return left.receive_with(home, [&](int) { ++handled; }, {.at_most = many});
    });
}

TEST(message_allocations, a_join_without_memory_for_all_workers_handles_nothing) {
    expect_all_or_no_receiver([](scheduler& home, port<int>& left, port<int>& right, int& handled) {
        return join(
            home, [&](int, int) { ++handled; }, {.at_most = many}, left, right);
    });
}

TEST(message_allocations, a_service_that_could_not_start_is_stopped) {
    for (std::int64_t n = 1;; ++n) {
        scheduler home{{.run_on_caller = true}};
        service<int> of{home, 0};
        std::vector<future<int>> replies;
        for (int i = 0; i != 2; ++i) {
            auto& kind = of.concurrent<int, int>([](const int&, int asked) { return asked; }, many);
            replies.push_back(kind.ask(7));
        }
        bool started = false;
        {
            const armed plan{no_memory, call_range::from(n)};
            try {
                started = of.start();
            } catch (const std::bad_alloc&) {
            }
        }
        EXPECT_TRUE(spawn(home, of.stop()).get());
        EXPECT_EQ(of.status(), service_status::stopped);
        for (auto& each : replies) {
            ASSERT_TRUE(each.is_ready()) << "no request is left without an answer";
            EXPECT_TRUE(!started || each.take().has_value());
        }
        if (started) return;
    }
}

}  // namespace
}  // namespace fairlead::test::message_tests
