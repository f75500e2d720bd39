// The counted ends of a channel: the last of each side, at any time.
#include "model/explore.hpp"
#include "model/interruption.hpp"

#include <fairlead/channel/make_channel.hpp>
#include <fairlead/coro/adapted_wait.hpp>
#include <fairlead/coro/spawn.hpp>

#include <gtest/gtest.h>

#include <array>
#include <utility>

namespace fairlead::channel_ends_tests {
namespace {

using model::interruption;
using model::plain;
using model::require;
using model::stops;

// What was sent is received or dropped, once, whichever side goes first; and then all is freed.
TEST(ModelChannelEnds, TheLastOfEachSideMayGoAtTheSameTime) {
    model::expect_passes([] {
        plain<int> dropped{0};
        std::array<int, 2> sent{};
        int got = 0;
        {
            auto [into, from] = make_channel<int>(
                2, when_full::wait, [to = &dropped](int&& value) { *to = *to + value; });
            sender<int> second = into;
            const auto sends = [](sender<int>& mine, int value) {
                const bool is_sent = mine.try_send(int{value}).has_value();
                mine = {};
                return is_sent ? value : 0;
            };
            auto* const first_end = &into;
            auto* const last_end = &from;
            model::in_threads([&] { sent[0] = sends(*first_end, 1); },
                              [&] { sent[1] = sends(second, 10); },
                              [&] {
                                  got = last_end->try_receive().value_or(0);
                                  *last_end = {};
                              });
        }
        require(sent[0] + sent[1] == got + dropped, "each value is at one place");
    });
}

// A receiver waits; the last senders go, at any time: it is told.
TEST(ModelChannelEnds, AReceiverThatWaitsIsToldTheEnd) {
    model::expect_passes_though_stopped([](stops how) {
        plain<int> got{0};
        {
            scheduler scheduler{{.workers = 2}};
            const interruption stop{scheduler, how};
            auto [into, from] = make_channel<int>(1);
            const auto sends = [](sender<int> given) -> task<> {
                const auto mine = std::move(given);
                require((co_await shielded(mine.send(1))).has_value(), "sent");
            };
            const auto receives = [](receiver<int> given) -> task<int> {
                const auto mine = std::move(given);
                int count = 0;
                while (co_await shielded(mine.receive())) ++count;
                co_return count;
            };
            auto receiving = spawn(scheduler, receives(std::move(from)));
            auto first = spawn(scheduler, sends(into));
            auto second = spawn(scheduler, sends(std::move(into)));
            got = model::result_of(receiving);
            model::result_of(first);
            model::result_of(second);
            scheduler.drain();
        }
        require(got == 2, "both arrive before the end");
    });
}

}  // namespace
}  // namespace fairlead::channel_ends_tests
