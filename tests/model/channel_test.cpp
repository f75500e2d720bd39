// Channels. Threads send, receive, give up, close and destroy, with every order of steps; and whole
// schedulers.
#include "model/bell_wait.hpp"
#include "model/interruption.hpp"
#include "model/tasks.hpp"

#include <fairlead/channel/channel.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/detail/channel/operations.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

namespace fairlead::channel_tests {
namespace {

using model::bell_wait;
using model::interruption;
using model::plain;
using model::require;
using model::stops;
using state = channels::channel_state<int>;

// An operation of one thread.
template <class Operation>
class by_thread final : public bell_wait<Operation> {
public:
    using bell_wait<Operation>::bell_wait;

    auto run() {
        if (this->enter()) this->wait_for_end();
        return this->collect(std::nullopt);
    }
};
using sends = by_thread<channels::send_operation<int>>;
using receives = by_thread<channels::receive_operation<int>>;

waited<void> send(state& into, int value) { return sends{into, std::span<int>{&value, 1}}.run(); }
waited<int> receive(state& from) { return receives{from}.run(); }
waited<void> try_send(state& into, int value) {
    return channels::try_now<channels::send_operation<int>>(into, std::span<int>{&value, 1});
}
waited<int> try_receive(state& from) {
    return channels::try_now<channels::receive_operation<int>>(from);
}

TEST(ModelChannel, AnElementArrivesOnce) {
    model::expect_passes([] {
        state one{1, when_full::wait};
        std::array<int, 2> got{};
        model::in_threads([&] { require(send(one, 1).has_value(), "sent"); },
                          [&] { require(send(one, 2).has_value(), "sent"); },
                          [&] {
                              got[0] = receive(one).value();
                              got[1] = receive(one).value();
                          });
        require(got[0] + got[1] == 3, "each once");
    });
}

TEST(ModelChannel, TheElementsOfASenderStayInOrder) {
    model::expect_passes([] {
        state one{1, when_full::wait};
        std::array<int, 3> got{};
        model::in_threads(
            [&] {
                std::array<int, 3> values{1, 2, 3};
                by_thread<channels::send_many_operation<int>> all{one, values};
                require(all.run() == 3U, "all are sent");
            },
            [&] {
                for (int& each : got) each = receive(one).value();
            });
        require(got == std::array<int, 3>{1, 2, 3}, "in order");
    });
}

// A receive that gives up races with a send: the element is with the receiver, or in the channel.
TEST(ModelChannel, AReceiveThatGivesUpLosesNothing) {
    model::expect_passes([] {
        state one{2, when_full::wait};
        receives first{one};
        require(first.enter(), "it is empty");
        bool left = false;
        model::in_threads([&] { require(send(one, 7).has_value(), "sent"); },
                          [&] { left = first.leave(); });
        const waited<int> got = first.collect(std::nullopt);
        require(left != got.has_value(), "one of the two");
        require(one.length() == (left ? 1U : 0U), "no element is lost");
    });
}

// A send that gives up races with a receive: the value is with the sender, or was received.
TEST(ModelChannel, ASendThatGivesUpLosesNothing) {
    model::expect_passes([] {
        state one{1, when_full::wait};
        require(send(one, 1).has_value(), "there is a place");
        int value = 2;
        sends second{one, std::span<int>{&value, 1}};
        require(second.enter(), "it is full");
        bool left = false;
        model::in_threads([&] { require(receive(one).value() == 1, "the oldest"); },
                          [&] { left = second.leave(); });
        require(left != second.collect(std::nullopt).has_value(), "one of the two");
        require(one.length() == (left ? 0U : 1U), "no element is lost");
    });
}

// What the second thread does.
enum class act : std::uint8_t { send, receive, close };

// A receive that waits, two threads, and a stop: another element comes, or another receiver, or the
// channel is closed.
TEST(ModelChannel, TwoThreadsAndAStopOfAReceiveLoseNothing) {
    for (const act what : {act::send, act::receive, act::close}) {
        model::expect_passes([what] {
            state one{2, when_full::wait};
            receives first{one};
            require(first.enter(), "it is empty");
            bool left = false;
            bool sent = false;
            int got = 0;
            model::in_threads([&] { sent = try_send(one, 1).has_value(); },
                              [&] {
                                  if (what == act::send) require(try_send(one, 2).has_value(), "");
                                  if (what == act::receive) got = try_receive(one).value_or(0);
                                  if (what == act::close) one.close();
                              },
                              [&] { left = first.leave(); });
            require(left != first.was_told(), "the wait ends once");
            got += first.collect(std::nullopt).value_or(0);
            while (const waited<int> next = try_receive(one)) got += *next;
            require(got == (sent ? 1 : 0) + (what == act::send ? 2 : 0), "no element is lost");
        });
    }
}

// The same of a send that waits.
TEST(ModelChannel, TwoThreadsAndAStopOfASendLoseNothing) {
    for (const act what : {act::send, act::receive, act::close}) {
        model::expect_passes([what] {
            state one{1, when_full::wait};
            require(try_send(one, 1).has_value(), "there is a place");
            int value = 2;
            sends second{one, std::span<int>{&value, 1}};
            require(second.enter(), "it is full");
            bool left = false;
            bool sent = false;
            int got = 0;
            int more = 0;
            model::in_threads([&] { got = try_receive(one).value_or(0); },
                              [&] {
                                  if (what == act::send) sent = try_send(one, 4).has_value();
                                  if (what == act::receive) more = try_receive(one).value_or(0);
                                  if (what == act::close) one.close();
                              },
                              [&] { left = second.leave(); });
            const bool arrived = second.collect(std::nullopt).has_value();
            require(!left || !arrived, "the wait ends once");
            require(left || what == act::close || arrived, "it ends by a place, or a close");
            got += more;
            while (const waited<int> next = try_receive(one)) got += *next;
            require(got == 1 + (arrived ? 2 : 0) + (sent ? 4 : 0), "no element is lost");
        });
    }
}

TEST(ModelChannel, ACloseEndsWaitsAndLosesNothing) {
    model::expect_passes([] {
        state one{1, when_full::wait};
        int sent = 0;
        int got = 0;
        model::in_threads([&] { require(one.close(), "the first close"); },
                          [&] {
                              for (int i = 0; i != 2; ++i) sent += send(one, 1).has_value() ? 1 : 0;
                          },
                          [&] {
                              while (receive(one)) ++got;
                          });
        require(got == sent, "what was sent was received");
    });
}

// tokio#8074, tokio#4113: a try says "empty" or "closed" only if all that was sent before it was
// received.
TEST(ModelChannel, ATryFindsWhatWasSentBefore) {
    model::expect_passes([] {
        state one{2, when_full::wait};
        sync::atomic<int> sent{0};
        model::in_threads(
            [&] {
                for (int i = 1; i != 3; ++i) {
                    require(send(one, i).has_value(), "there is a place");
                    sent.store(i, sync::release);
                }
                one.close();
            },
            [&] {
                for (int got = 0; got != 2;) {
                    const int before = sent.load(sync::acquire);
                    const waited<int> next = try_receive(one);
                    require(next || (got >= before && next.error() == wait_error::would_wait),
                            "what was sent is there");
                    if (!next) return;
                    require(*next == ++got, "in order");
                }
            });
    });
}

// The last permit races with the close: the receiver is told.
TEST(ModelChannel, TheLastPermitEndsTheReceivers) {
    model::expect_passes([] {
        state one{2, when_full::wait};
        std::array<std::optional<channel_permit<int>>, 2> places;
        for (auto& each : places) {
            each = by_thread<channels::reserve_operation<int>>{one}.run().value();
        }
        int got = 0;
        model::in_threads([&] { one.close(); },
                          [&] {
                              require(std::move(*places[0]).send(5).has_value(), "it is reserved");
                              *places[1] = {};
                          },
                          [&] {
                              while (receive(one)) ++got;
                          });
        require(got == 1, "the permit's element arrives");
    });
}

TEST(ModelChannel, TheReceiverOfTheLastElementMayDestroyTheChannel) {
    model::expect_passes([] {
        auto one = std::make_unique<state>(1, when_full::wait);
        state& shared = *one;
        model::in_threads([&] { require(send(shared, 1).has_value(), "sent"); },
                          [&] {
                              require(receive(shared) == 1, "received");
                              one.reset();
                          });
    });
}

TEST(ModelChannel, ADestructorDropsWhatIsLeftOnce) {
    model::expect_passes([] {
        int dropped = 0;
        bool sent = false;
        {
            state one{1, when_full::wait};
            one.on_dropped([&dropped](int&&) { ++dropped; });
            model::in_threads([&] { sent = send(one, 1).has_value(); }, [&] { one.close(); });
        }
        require(dropped == (sent ? 1 : 0), "once");
    });
}

// A send that drops, beside a reservation that waits, a receive and a close: each value is at one
// place, and the reservation has a place or was ended.
TEST(ModelChannel, ADropTakesOnePlaceOnly) {
    model::expect_passes([] {
        int dropped = 0;
        int got = 0;
        std::array<int, 2> kept{};
        {
            state one{1, when_full::drop_oldest};
            one.on_dropped([&dropped](int&& value) { dropped += value; });
            require(send(one, 1).has_value(), "there is a place");
            model::in_threads(
                [&] {
                    auto place = by_thread<channels::reserve_operation<int>>{one}.run();
                    if (!place || !std::move(*place).send(100)) kept[0] = 100;
                },
                [&] {
                    if (!send(one, 10)) kept[1] = 10;
                },
                [&] {
                    got += receive(one).value_or(0);
                    one.close();
                });
        }
        require(dropped + got + kept[0] + kept[1] == 111, "each value is at one place");
    });
}

// --- as a whole ----------------------------------------------------------------------------------

// Two tasks pass elements through a channel of one place, with a deadline and a stop at any time.
TEST(ModelChannel, TasksLoseNothingToStopsAndDeadlines) {
    model::expect_passes_though_stopped([](stops how) {
        channel<int> one{1};
        plain<int> sent{0};
        plain<int> got{0};
        {
            scheduler scheduler{{.workers = 2}};
            const interruption stop{scheduler, how};
            const auto gives = [&]() -> task<int> {
                int count = 0;
                for (int i = 0; i != 2; ++i) {
                    int value = i;
                    if (co_await one.send(std::move(value), clock::now())) ++count;
                }
                co_return count;
            };
            const auto takes = [&]() -> task<int> {
                int count = 0;
                while (co_await one.receive(clock::now() + std::chrono::microseconds{1})) ++count;
                co_return count;
            };
            auto giver = spawn(scheduler, gives());
            auto taker = spawn(scheduler, takes());
            sent = model::result_of(giver);
            got = model::result_of(taker);
            scheduler.drain();
        }
        int left = 0;
        while (one.try_receive()) ++left;
        require(sent == got + left, "no element is lost");
    });
}

}  // namespace
}  // namespace fairlead::channel_tests
