// Broadcasts. Threads send, receive, subscribe, leave and close, with every order of steps; and
// whole schedulers.
#include "model/bell_wait.hpp"
#include "model/interruption.hpp"
#include "model/tasks.hpp"

#include <fairlead/channel/broadcast.hpp>
#include <fairlead/coro/select.hpp>
#include <fairlead/coro/spawn.hpp>

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <optional>
#include <utility>

namespace fairlead::broadcast_tests {
namespace {

using model::bell_wait;
using model::interruption;
using model::plain;
using model::require;
using model::stops;
using state = channels::broadcast_state<int>;

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

waited<void> send(state& into, int value) {
    return by_thread<channels::broadcast_send<int>>{into, make_held<int>(value)}.run();
}

// A subscription of a thread.
struct reader {
    explicit reader(state& its) : of{its}, at{its.subscribe(0)} {}
    reader(const reader&) = delete;
    ~reader() { of.unsubscribe(at); }

    std::optional<int> receive() {
        const auto next = by_thread<channels::broadcast_receive<int>>{of, at, is_waiting}.run();
        if (!next) return std::nullopt;
        return **next;
    }

    state& of;
    channels::cursor at;
    bool is_waiting = false;
};

TEST(ModelBroadcast, EachValueArrivesOnceAtEachSubscription) {
    model::expect_passes({.preemptions = 2}, [] {
        state one{1, lag::wait};
        std::array<std::array<int, 2>, 2> got{};
        reader first{one};
        reader second{one};
        const auto receives = [](reader& from, std::array<int, 2>& into) {
            for (int& each : into) each = from.receive().value();
        };
        model::in_threads(
            [&] {
                for (int i = 1; i != 3; ++i) require(send(one, i).has_value(), "sent");
            },
            [&] { receives(first, got[0]); }, [&] { receives(second, got[1]); });
        for (const auto& each : got) require(each == std::array{1, 2}, "in order, none lost");
        require(first.at.skipped + second.at.skipped == 0, "no sender has overtaken");
    });
}

TEST(ModelBroadcast, WhatIsSkippedIsCounted) {
    model::expect_passes([] {
        state one{1, lag::skip};
        reader from{one};
        int last = 0;
        unsigned got = 0;
        model::in_threads(
            [&] {
                for (int i = 1; i != 4; ++i) require(send(one, i).has_value(), "never waits");
                one.close();
            },
            [&] {
                while (const auto next = from.receive()) {
                    require(*next > last, "in order");
                    last = *next;
                    ++got;
                    require(from.at.skipped + got == static_cast<unsigned>(last), "exactly");
                }
            });
        require(last == 3, "the last one is there");
    });
}

TEST(ModelBroadcast, ASubscriptionThatFallsBehindIsClosed) {
    model::expect_passes([] {
        state one{1, lag::close};
        reader from{one};
        int got = 0;
        model::in_threads(
            [&] {
                for (int i = 1; i != 3; ++i) require(send(one, i).has_value(), "never waits");
                one.close();
            },
            [&] {
                while (const auto next = from.receive()) require(*next == ++got, "no gap");
            });
        require(from.at.fell_behind == (got != 2), "all, or it has fallen behind");
    });
}

// The slowest subscription ends beside its sender.
TEST(ModelBroadcast, TheEndOfTheSlowestLetsTheSenderGoOn) {
    model::expect_passes([] {
        state one{1, lag::wait};
        std::optional<reader> slow{std::in_place, one};
        require(send(one, 1).has_value(), "there is a place");
        model::in_threads([&] { require(send(one, 2).has_value(), "sent"); },
                          [&] { require(send(one, 3).has_value(), "sent"); },
                          [&] { slow.reset(); });
    });
}

// A send that gives up races with a receive: the value arrives, or the sender knows that it does
// not.
TEST(ModelBroadcast, ASendThatGivesUpLosesNothing) {
    model::expect_passes([] {
        state one{1, lag::wait};
        reader from{one};
        require(send(one, 1).has_value(), "there is a place");
        by_thread<channels::broadcast_send<int>> second{one, make_held<int>(2)};
        require(second.enter(), "1 is unread");
        bool left = false;
        model::in_threads([&] { require(from.receive() == 1, "the oldest"); },
                          [&] { left = second.leave(); });
        require(left != second.collect(std::nullopt).has_value(), "one of the two");
        const auto next = one.try_receive(from.at);
        require(next.has_value() == !left, "it arrives if it was sent");
    });
}

// A receive that gives up races with a send: the value was given, or is there still.
TEST(ModelBroadcast, AReceiveThatGivesUpLosesNothing) {
    model::expect_passes([] {
        state one{1, lag::wait};
        reader from{one};
        by_thread<channels::broadcast_receive<int>> first{one, from.at, from.is_waiting};
        require(first.enter(), "it is empty");
        bool left = false;
        model::in_threads([&] { require(send(one, 7).has_value(), "sent"); },
                          [&] { left = first.leave(); });
        const auto got = first.collect(std::nullopt);
        require(left != got.has_value(), "one of the two");
        require(one.try_receive(from.at).has_value() == left, "once");
    });
}

TEST(ModelBroadcast, ACloseEndsWaitsAndLosesNothing) {
    model::expect_passes([] {
        state one{1, lag::wait};
        reader from{one};
        int sent = 0;
        int got = 0;
        model::in_threads([&] { require(one.close(), "the first close"); },
                          [&] {
                              for (int i = 0; i != 2; ++i) sent += send(one, 1).has_value() ? 1 : 0;
                          },
                          [&] {
                              while (from.receive()) ++got;
                          });
        require(got == sent, "what was sent was received");
    });
}

TEST(ModelBroadcast, ASubscriptionBeginsAtAnyTime) {
    model::expect_passes([] {
        state one{2, lag::wait};
        int first = 0;
        unsigned count = 0;
        model::in_threads(
            [&] {
                for (int i = 1; i != 4; ++i) require(send(one, i).has_value(), "sent");
                one.close();
            },
            [&] {
                reader from{one};
                int last = 0;
                while (const auto next = from.receive()) {
                    if (count++ == 0) first = *next;
                    require(last == 0 || *next == last + 1, "no gap");
                    last = *next;
                }
                require(count == 0 || last == 3, "to the end");
            });
        require(count == 0 || first + static_cast<int>(count) == 4, "from its beginning");
    });
}

// The reader of the last value destroys the broadcast, while the call that has woken it returns.
TEST(ModelBroadcast, WhatWasToldMayDestroyTheBroadcast) {
    model::expect_passes([] {
        auto one = std::make_unique<state>(1, lag::wait);
        state& shared = *one;
        std::optional<reader> from{std::in_place, shared};
        model::in_threads([&] { require(send(shared, 1).has_value(), "sent"); },
                          [&] {
                              require(from->receive() == 1, "received");
                              from.reset();
                              one.reset();
                          });
    });
}

// --- as a whole ----------------------------------------------------------------------------------

// A select over two subscriptions: the branch that has not ended loses no value.
TEST(ModelBroadcast, ASelectTakesFromOneSubscription) {
    model::expect_passes_by_priorities([] {
        broadcast<int> a{2};
        broadcast<int> b{2};
        auto from_a = a.subscribe();
        auto from_b = b.subscribe();
        plain<int> got{0};
        {
            scheduler scheduler{{.workers = 2}};
            const auto receives = [&]() -> task<int> {
                const auto value = [](const auto& next) { return **next; };
                const auto selected =
                    co_await select(on(from_a.receive(), value), on(from_b.receive(), value));
                co_return selected.value();
            };
            auto receiving = spawn(scheduler, receives());
            require(a.try_send(1).has_value() && b.try_send(10).has_value(), "sent");
            got = receiving.get();
        }
        int left = 0;
        if (const auto next = from_a.try_receive()) left += **next;
        if (const auto next = from_b.try_receive()) left += **next;
        require(got + left == 11, "each value is at one place");
    });
}

// Tasks send and receive with a deadline, and a stop at any time.
TEST(ModelBroadcast, TasksLoseNothingToStopsAndDeadlines) {
    model::expect_passes_though_stopped([](stops how) {
        broadcast<int> one{1, lag::wait};
        plain<int> sent{0};
        plain<int> got{0};
        auto sub = one.subscribe();
        {
            scheduler scheduler{{.workers = 2}};
            const interruption stop{scheduler, how};
            const auto gives = [&]() -> task<int> {
                int count = 0;
                for (int i = 0; i != 2; ++i) {
                    if (co_await one.send(i, clock::now())) ++count;
                }
                co_return count;
            };
            const auto takes = [&]() -> task<int> {
                int count = 0;
                while (co_await sub.receive(clock::now() + std::chrono::microseconds{1})) ++count;
                co_return count;
            };
            auto giver = spawn(scheduler, gives());
            auto taker = spawn(scheduler, takes());
            sent = model::result_of(giver);
            got = model::result_of(taker);
            scheduler.drain();
        }
        int left = 0;
        while (sub.try_receive()) ++left;
        require(sent == got + left, "no value is lost");
    });
}

}  // namespace
}  // namespace fairlead::broadcast_tests
