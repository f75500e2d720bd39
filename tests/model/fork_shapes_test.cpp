// Forks of any shape: a number of children, of which some throw and some wait. The schedule decides
// which children another worker takes. Each child writes a variable in the frame of its parent.
#include "model/explore.hpp"

#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/fork_join.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/coro/task.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace fairlead::fork_shapes_tests {
namespace {

using model::plain;
using model::require;

constexpr std::size_t children_max = 4;

struct shape {
    std::size_t children;
    std::size_t throws;  // a bit for each child
    std::size_t waits;

    [[nodiscard]] static shape any() {
        model::explorer& choices = *model::explorer::running();
        const std::size_t children = 2 + choices.choose(children_max - 1);
        return {.children = children,
                .throws = choices.choose(std::size_t{1} << children),
                .waits = choices.choose(std::size_t{1} << children)};
    }
    [[nodiscard]] bool child_throws(std::size_t index) const { return (throws >> index & 1) != 0; }
    [[nodiscard]] bool child_waits(std::size_t index) const { return (waits >> index & 1) != 0; }
};

struct failure {
    std::size_t of_child;
};

enum class child_state { not_begun, begun, ended };

task<> child(shape is, std::size_t index, plain<child_state>& state) {
    state = child_state::begun;
    if (is.child_waits(index)) co_await shielded(yield());
    state = child_state::ended;
    if (is.child_throws(index)) throw failure{index};
}

task<> parent(shape is, unsigned workers) {
    std::array<plain<child_state>, children_max> states;
    std::optional<std::size_t> caught;
    std::vector<task<>> children;
    for (std::size_t i = 0; i != is.children; ++i) children.push_back(child(is, i, states[i]));
    try {
        co_await fork_join(std::move(children));
    } catch (const failure& found) {
        caught = found.of_child;
    }
    std::optional<std::size_t> first;  // the first in order; also in time, if all children run here
    bool failed_before = false;        // whether an earlier child failed, if all children run here
    for (std::size_t i = 0; i != is.children; ++i) {
        const child_state state = states[i];
        require(state != child_state::begun, "what has begun has ended");
        require(state == child_state::ended || is.throws != 0, "all run if none fails");
        if (state == child_state::ended && is.child_throws(i) && !first) first = i;
        if (workers == 1 && is.waits == 0) {
            require(failed_before == (state == child_state::not_begun), "none begins after that");
        }
        failed_before |= is.child_throws(i);
    }
    require(caught.has_value() == first.has_value(), "a failure is rethrown");
    if (workers == 1 && is.waits == 0) require(caught == first, "it is the first in time");
    if (caught) require(is.child_throws(*caught), "it is that of a child");
}

TEST(ModelForkShapes, AParentGoesOnWhenAllChildrenHaveEnded) {
    for (const unsigned workers : {1U, 2U}) {
        model::expect_passes_by_priorities(
            [=] {
                scheduler home{{.workers = workers}};
                block_on(home, parent(shape::any(), workers));
            },
            workers == 1 ? 200 : 1'000);
    }
}

}  // namespace
}  // namespace fairlead::fork_shapes_tests
