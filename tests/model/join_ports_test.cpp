// Joins of several ports. Threads send, receive, close and join, with every order of steps.
#include "model/bell_wait.hpp"

#include <fairlead/channel/channel.hpp>
#include <fairlead/detail/message/joining.hpp>
#include <fairlead/detail/message/port_core.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <optional>
#include <tuple>

namespace fairlead::join_ports_tests {
namespace {

using messages::joined;
using messages::port_core;
using model::bell_wait;
using model::require;

template <class T>
class watches final : public bell_wait<messages::watch_operation<T>> {
public:
    using bell_wait<messages::watch_operation<T>>::bell_wait;

    waited<void> run() {
        if (this->enter()) this->wait_for_end();
        return this->collect(std::nullopt);
    }
};

// Takes pairs until there will be none. How many.
int join_all(port_core<int>& first, port_core<int>& second) {
    for (int pairs = 0;;) {
        std::size_t missing = 0;
        std::tuple<std::optional<envelope<int>>, std::optional<envelope<int>>> taken;
        const joined how =
            messages::take_each([] { return time_point{}; }, missing, taken, first, second);
        if (how == joined::all) {
            require(std::get<0>(taken)->message == std::get<1>(taken)->message,
                    "each in its order");
            ++pairs;
            continue;
        }
        watches<envelope<int>> arrival{(missing == 0 ? first : second).elements.state(), false};
        if (!arrival.run()) return pairs;
    }
}

TEST(ModelJoinPorts, CrossedJoinsTakeAllOrNothing) {
    model::expect_passes({.preemptions = 2}, [] {
        port_core<int> left{2, when_full::wait};
        port_core<int> right{2, when_full::wait};
        require(left.elements.try_send(1).has_value(), "there is room");
        int pairs[2]{};
        model::in_threads(
            [&] {
                require(right.elements.try_send(1).has_value(), "there is room");
                left.elements.close();
                right.elements.close();
            },
            [&] { pairs[0] = join_all(left, right); }, [&] { pairs[1] = join_all(right, left); });
        require(pairs[0] + pairs[1] == 1, "the pair is taken once");
        require(left.elements.length() + right.elements.length() == 0, "nothing is left");
    });
}

// A wait for the end alone, while the close races with the receive of the last element.
TEST(ModelJoinPorts, TheEndOfAChannelIsToldOnce) {
    for (const bool drops : {false, true}) {
        model::expect_passes({.preemptions = 3}, [&] {
            channel<int> one{2};
            require(one.try_send(1).has_value(), "there is room");
            model::in_threads([&] { drops ? one.close_and_drop() : one.close(); },
                              [&] { static_cast<void>(one.try_receive()); },
                              [&] {
                                  watches<int> end{one.state(), true};
                                  require(end.run().error() == wait_error::closed, "the end");
                                  require(one.is_closed() && one.length() == 0, "it is the end");
                              });
        });
    }
}

TEST(ModelJoinPorts, AWaitForTheEndThatLeavesIsNotTold) {
    model::expect_passes({.preemptions = 3}, [] {
        channel<int> one{1};
        watches<int> end{one.state(), true};
        require(end.enter(), "it is open");
        bool left = false;
        model::in_threads([&] { one.close(); }, [&] { left = end.leave(); });
        require(left != end.was_told(), "one of the two");
    });
}

}  // namespace
}  // namespace fairlead::join_ports_tests
