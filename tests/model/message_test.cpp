// Joins over ports. Two joins name their ports in different orders; the messages come from two
// threads, and stops from these, too. Where a join has one rival, with every order of steps.
#include "model/bell_wait.hpp"

#include <fairlead/detail/message/joining.hpp>
#include <fairlead/detail/message/port_core.hpp>
#include <fairlead/detail/sync/choice.hpp>
#include <fairlead/detail/sync/line.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

namespace fairlead::message_tests {
namespace {

using messages::joined;
using messages::port_core;
using model::bell_wait;
using model::require;
using watches = bell_wait<messages::watch_operation<envelope<int>>>;
using stop_waits = bell_wait<sync::line_waiter>;

void send(port_core<int>& to, int value) {
    require(to.elements.try_send(std::move(value)).has_value(), "there is a place");
}

// Waits in a select, as the worker of a join: for a stop, for a message at the port that is
// `missing`, and for the end of the other one. Whether it goes on.
bool watch(sync::line& stop, std::size_t missing, port_core<int>& first, port_core<int>& second) {
    sync::choice choice;
    stop_waits stopped;
    watches of_first{first.elements.state(), missing != 0};
    watches of_second{second.elements.state(), missing != 1};
    stopped.set_choice(choice, 0);
    of_first.set_choice(choice, 1);
    of_second.set_choice(choice, 2);
    model::bell ended;
    stopped.first_act = of_first.first_act = of_second.first_act = [&] { ended.ring(); };
    const bool is_stoppable = stop.enter(stopped);
    const bool first_waits = choice.is_open() && of_first.enter();
    const bool second_waits = choice.is_open() && of_second.enter();
    const bool is_told = choice.is_open() || (choice.is_for(0)   ? is_stoppable
                                              : choice.is_for(1) ? first_waits
                                                                 : second_waits);
    if (is_told) ended.wait();
    if (is_stoppable && !choice.is_for(0)) static_cast<void>(stop.withdraw(stopped));
    if (first_waits && !choice.is_for(1)) static_cast<void>(of_first.leave());
    if (second_waits && !choice.is_for(2)) static_cast<void>(of_second.leave());
    if (choice.is_for(0)) {
        require(stopped.take_grant(), "the stop was granted");
        return false;
    }
    return (choice.is_for(1) ? of_first : of_second).collect(std::nullopt).has_value();
}

// Takes one pair, unless it is stopped or a port is closed.
std::optional<std::pair<int, int>> join_once(sync::line& stop, port_core<int>& first,
                                             port_core<int>& second) {
    for (;;) {
        std::size_t missing = 0;
        std::tuple<std::optional<envelope<int>>, std::optional<envelope<int>>> taken;
        const joined how =
            messages::take_each([] { return time_point{}; }, missing, taken, first, second);
        if (how == joined::all) {
            return std::pair{std::get<0>(taken)->message, std::get<1>(taken)->message};
        }
        require(!std::get<0>(taken) && !std::get<1>(taken), "all or nothing");
        if (!watch(stop, missing, first, second)) return std::nullopt;
    }
}

// Two pairs for two joins: neither misses the message that it waits for.
TEST(ModelMessage, CrossedJoinsMissNoMessage) {
    const auto scenario = [] {
        port_core<int> left{2, when_full::wait};
        port_core<int> right{2, when_full::wait};
        sync::line stop{1, 1};
        std::optional<std::pair<int, int>> one;
        std::optional<std::pair<int, int>> two;
        model::in_threads([&] { one = join_once(stop, left, right); },
                          [&] { two = join_once(stop, right, left); },
                          [&] {
                              send(left, 1);
                              send(right, 11);
                          },
                          [&] {
                              send(right, 12);
                              send(left, 2);
                          });
        require(one.has_value() && two.has_value(), "each has a pair");
        require(one->first + two->second == 3 && one->second + two->first == 23,
                "each message was taken once");
    };
    model::expect_passes_by_priorities(scenario, 5'000);
}

// One pair for two joins, and a stop: one join has the pair, or it is left.
TEST(ModelMessage, CrossedJoinsTakeAllOrNothingThoughStopped) {
    const auto scenario = [] {
        port_core<int> left{1, when_full::wait};
        port_core<int> right{1, when_full::wait};
        sync::line stop{2, 2};
        std::optional<std::pair<int, int>> one;
        std::optional<std::pair<int, int>> two;
        model::in_threads([&] { one = join_once(stop, left, right); },
                          [&] { two = join_once(stop, right, left); },
                          [&] {
                              send(left, 1);
                              stop.give_back();
                          },
                          [&] {
                              send(right, 11);
                              stop.give_back();
                          });
        const std::size_t taken = (one ? 1U : 0U) + (two ? 1U : 0U);
        require(taken <= 1, "there is one pair");
        require(left.elements.length() == 1 - taken && right.elements.length() == 1 - taken,
                "each message is somewhere, once");
    };
    model::expect_passes_by_priorities(scenario, 5'000);
}

// A port is closed while a join waits at it or at the other one: the join ends.
TEST(ModelMessage, AJoinHearsOfTheEndOfEachPort) {
    model::expect_passes({.preemptions = 3}, [] {
        port_core<int> left{1, when_full::wait};
        port_core<int> right{1, when_full::wait};
        sync::line stop{1, 1};
        bool taken = false;
        model::in_threads([&] { taken = join_once(stop, left, right).has_value(); },
                          [&] {
                              send(left, 1);
                              right.elements.close();
                          });
        require(!taken && left.elements.length() == 1, "nothing was taken");
    });
}

}  // namespace
}  // namespace fairlead::message_tests
