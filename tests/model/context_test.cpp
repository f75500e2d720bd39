// An inherited deadline races with a grant, under whole schedulers.
#include "model/interruption.hpp"
#include "model/tasks.hpp"

#include <fairlead/channel/channel.hpp>
#include <fairlead/context/with_deadline.hpp>
#include <fairlead/coro/adapted_wait.hpp>
#include <fairlead/coro/spawn.hpp>

#include <gtest/gtest.h>

#include <chrono>

namespace fairlead::context_tests {
namespace {

using namespace std::chrono_literals;
using model::require;

constexpr time_point soon{1us};

// A number is sent while the deadline passes. It is received, or it is still there.
TEST(ModelContext, AnInheritedDeadlineLosesNothing) {
    model::expect_passes_by_priorities([] {
        channel<int> numbers{1};
        bool taken = false;
        {
            scheduler scheduler{{.workers = 2}};
            const auto takes = [&]() -> task<waited<int>> {
                auto number = co_await numbers.receive();
                co_return number;
            };
            auto waits = spawn(scheduler, with_deadline(soon, takes()));
            const auto gives = [&]() -> task<> {
                static_cast<void>(numbers.try_send(7));
                co_return;
            };
            auto giver = spawn(scheduler, gives());
            const waited<int> got = model::result_of(waits);
            model::result_of(giver);
            require(got || got.error() == wait_error::expired, "the deadline is its own");
            taken = got.has_value();
        }
        require(numbers.try_receive().has_value() != taken, "the number is somewhere, once");
    });
}

// A child is overdue before its first step or in its wait, while its parent joins it.
TEST(ModelContext, AChildThatIsOverdueEndsOnce) {
    model::expect_passes_by_priorities([] {
        scheduler scheduler{{.workers = 2}};
        const auto child = [&]() -> task<> { co_await sleep_until(never); };
        const auto parent = [&]() -> task<> {
            auto started = spawn(scheduler, child());
            co_await shielded(started);
        };
        const auto ended = model::result_of(spawn(scheduler, with_deadline(soon, parent())));
        require(!ended && ended.error() == wait_error::expired, "the child has failed");
    });
}

}  // namespace
}  // namespace fairlead::context_tests
