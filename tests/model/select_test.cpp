// Selects. What ends waits claims them: two threads end two branches of one select, which may also
// be ended by a stop, with every order of steps. And whole schedulers, with the real awaiter.
#include "model/bell_wait.hpp"
#include "model/interruption.hpp"
#include "model/tasks.hpp"

#include <fairlead/channel/channel.hpp>
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/select.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/detail/channel/operations.hpp>
#include <fairlead/detail/sync/line.hpp>
#include <fairlead/future/promise.hpp>
#include <fairlead/wait/semaphore.hpp>

#include <gtest/gtest.h>

#include <optional>
#include <utility>

namespace fairlead::select_tests {
namespace {

using model::bell_wait;
using model::interruption;
using model::plain;
using model::require;
using model::stops;
using state = channels::channel_state<int>;
using sends = bell_wait<channels::send_operation<int>>;
using receives = bell_wait<channels::receive_operation<int>>;

constexpr sync::choice::branch stopped = 255;

waited<void> try_send(state& into, int value) {
    return channels::try_now<channels::send_operation<int>>(into, std::span<int>{&value, 1});
}

// Two branches that wait, of one choice.
template <class First, class Second>
void wait_both(sync::choice& choice, First& first, Second& second) {
    first.set_choice(choice, 0);
    second.set_choice(choice, 1);
    require(first.enter() && second.enter(), "there is nothing yet");
}

// Two senders: one value arrives, the other one is in its channel.
TEST(ModelSelect, OneOfTwoElementsIsTaken) {
    model::expect_passes([] {
        state a{1, when_full::wait};
        state b{1, when_full::wait};
        sync::choice choice;
        receives of_a{a};
        receives of_b{b};
        wait_both(choice, of_a, of_b);
        model::in_threads([&] { require(try_send(a, 1).has_value(), "there is a place"); },
                          [&] { require(try_send(b, 2).has_value(), "there is a place"); });
        const bool first = choice.is_for(0);
        require(first != choice.is_for(1), "one was chosen");
        require(!(first ? of_b : of_a).leave(), "the other one was dropped");
        require((first ? of_a : of_b).collect(std::nullopt).value() == (first ? 1 : 2),
                "its value");
        require(a.length() == (first ? 0U : 1U) && b.length() == (first ? 1U : 0U),
                "the other value is there");
    });
}

// A stop races with a send, and both branches leave.
TEST(ModelSelect, AStopTakesNothing) {
    model::expect_passes([] {
        state a{1, when_full::wait};
        state b{1, when_full::wait};
        sync::choice choice;
        receives of_a{a};
        receives of_b{b};
        wait_both(choice, of_a, of_b);
        bool left = false;
        model::in_threads([&] { require(try_send(a, 1).has_value(), "there is a place"); },
                          [&] {
                              left = choice.claim(stopped);
                              if (!left) return;
                              static_cast<void>(of_a.leave());
                              static_cast<void>(of_b.leave());
                          });
        if (!left) static_cast<void>(of_b.leave());
        require(of_a.collect(std::nullopt).has_value() != left, "one of the two");
        require(a.length() == (left ? 1U : 0U), "no element is lost");
    });
}

// asio#1041, cobalt#206, zio#4269: of three branches one takes what comes, unless a stop comes
// before it. The third branch has taken nothing, whatever comes after it.
TEST(ModelSelect, OneOfThreeBranchesTakesWhatComes) {
    model::expect_passes([] {
        state a{1, when_full::wait};
        state b{1, when_full::wait};
        state c{1, when_full::wait};
        sync::choice choice;
        receives of_a{a};
        receives of_b{b};
        receives of_c{c};
        wait_both(choice, of_a, of_b);
        of_c.set_choice(choice, 2);
        require(of_c.enter(), "there is nothing yet");
        bool left = false;
        model::in_threads([&] { require(try_send(a, 1).has_value(), "there is a place"); },
                          [&] { require(try_send(b, 2).has_value(), "there is a place"); },
                          [&] {
                              left = choice.claim(stopped);
                              if (!left) return;
                              for (receives* each : {&of_a, &of_b, &of_c}) {
                                  static_cast<void>(each->leave());
                              }
                          });
        require(try_send(c, 3).has_value(), "there is a place");
        if (!left) static_cast<void>((choice.is_for(0) ? of_b : of_a).leave());
        const int got = of_a.collect(std::nullopt).value_or(0) +
                        of_b.collect(std::nullopt).value_or(0) +
                        of_c.collect(std::nullopt).value_or(0);
        require(got == (left ? 0 : choice.is_for(0) ? 1 : 2), "one element, or none");
        require(a.length() + b.length() + c.length() == (left ? 3U : 2U), "none is lost");
    });
}

// A select begins to wait while elements come: it has one of them, and waits for none.
TEST(ModelSelect, NoElementIsMissedWhileItEnters) {
    model::expect_passes([] {
        state a{1, when_full::wait};
        state b{1, when_full::wait};
        sync::choice choice;
        receives of_a{a};
        receives of_b{b};
        of_a.set_choice(choice, 0);
        of_b.set_choice(choice, 1);
        model::bell ended;
        of_a.first_act = of_b.first_act = [&] { ended.ring(); };
        int got = 0;
        model::in_threads([&] { require(try_send(b, 2).has_value(), "there is a place"); },
                          [&] { require(try_send(a, 1).has_value(), "there is a place"); },
                          [&] {
                              const bool a_waits = of_a.enter();
                              const bool b_waits = choice.is_open() && of_b.enter();
                              if (choice.is_open() || (choice.is_for(0) ? a_waits : b_waits)) {
                                  ended.wait();
                              }
                              const bool first = choice.is_for(0);
                              if (first ? b_waits : a_waits)
                                  static_cast<void>((first ? of_b : of_a).leave());
                              got = (first ? of_a : of_b).collect(std::nullopt).value();
                          });
        require(a.length() + b.length() == 1 && (a.length() == 1) == (got == 2), "one is left");
    });
}

// Permits: one of two lines gives one.
TEST(ModelSelect, OneOfTwoPermitsIsTaken) {
    using permits = bell_wait<sync::line_waiter>;
    model::expect_passes([] {
        sync::line a{1, 1};
        sync::line b{1, 1};
        sync::choice choice;
        permits of_a;
        permits of_b;
        of_a.set_choice(choice, 0);
        of_b.set_choice(choice, 1);
        require(a.enter(of_a) && b.enter(of_b), "they are taken");
        model::in_threads([&] { a.give_back(); }, [&] { b.give_back(); });
        const bool first = choice.is_for(0);
        static_cast<void>((first ? b : a).withdraw(first ? of_b : of_a));
        require(a.taken() == (first ? 1U : 0U) && b.taken() == (first ? 0U : 1U), "one is taken");
    });
}

// A branch begins to wait while its permit returns: no wake-up is missed, and no permit is lost.
TEST(ModelSelect, NoPermitIsMissedWhileABranchEnters) {
    using permits = bell_wait<sync::line_waiter>;
    model::expect_passes([] {
        sync::line one{1, 1};
        sync::choice choice;
        permits wait;
        wait.set_choice(choice, 0);
        plain<int> guarded{0};
        model::in_threads(
            [&] {
                guarded = 1;
                one.give_back();
            },
            [&] {
                if (one.enter(wait)) wait.wait_for_end();
                require(wait.take_grant() && guarded == 1, "it was granted, with what came before");
                one.give_back();
            },
            [&] {
                if (!one.try_take()) return;
                guarded = guarded + 0;
                one.give_back();
            });
        require(one.taken() == 0, "all have returned");
    });
}

// Two selects, to send and to receive, with all places reserved, and a place that returns.
TEST(ModelSelect, TwoSelectsMeetWhenAPlaceIsFree) {
    model::expect_passes([] {
        state one{1, when_full::wait};
        state other{1, when_full::wait};
        bell_wait<channels::reserve_operation<int>> place{one};
        require(!place.enter(), "there is a place");
        std::optional<channel_permit<int>> reserved{place.collect(std::nullopt).value()};
        sync::choice of_sender;
        sync::choice of_receiver;
        int value = 5;
        sends give{one, std::span<int>{&value, 1}};
        receives instead{other};
        receives take{one};
        receives or_else{other};
        wait_both(of_sender, instead, give);
        wait_both(of_receiver, take, or_else);
        model::in_threads([&] { reserved.reset(); },
                          [&] { require(try_send(other, 6).has_value(), "there is a place"); });
        // The value of `other` went to the first of the two, unless that has given its own.
        const bool gave = of_sender.is_for(1);
        require(gave || of_sender.is_for(0), "the sender has ended");
        if (gave) {
            static_cast<void>(instead.leave());
            require(give.collect(std::nullopt).has_value(), "it was sent");
        } else {
            static_cast<void>(give.leave());
            require(instead.collect(std::nullopt).value() == 6, "it was received");
        }
        if (of_receiver.is_open()) {
            require(!gave, "a value that was sent is received");
            static_cast<void>(take.leave());
            static_cast<void>(or_else.leave());
        } else {
            const bool first = of_receiver.is_for(0);
            static_cast<void>((first ? or_else : take).leave());
            require((first ? take : or_else).collect(std::nullopt).value() == (first ? 5 : 6),
                    "its");
        }
        require(one.length() == ((gave && !of_receiver.is_for(0)) ? 1U : 0U), "none is lost");
    });
}

// --- as a whole ----------------------------------------------------------------------------------

task<int> takes_from_both(channel<int>& a, channel<int>& b) {
    int count = 0;
    const auto counts = [&](waited<int> got) {
        if (got) ++count;
        return got.has_value();
    };
    for (;;) {
        const time_point soon = clock::now() + std::chrono::microseconds{1};
        const auto more = co_await select(on(a.receive(soon), counts), on(b.receive(soon), counts));
        if (!more || !*more) co_return count;
    }
}
task<int> gives(channel<int>& a, channel<int>& b) {
    int count = 0;
    for (int i = 0; i != 2; ++i) {
        int to_a = i;
        int to_b = i;
        const auto counts = [&](waited<void> sent) { count += sent ? 1 : 0; };
        co_await select(on(a.send(std::move(to_a), clock::now()), counts),
                        on(b.send(std::move(to_b), clock::now()), counts));
    }
    co_return count;
}

TEST(ModelSelect, TasksLoseNothingToStopsAndDeadlines) {
    model::expect_passes_though_stopped([](stops how) {
        channel<int> a{1};
        channel<int> b{1};
        plain<int> sent{0};
        plain<int> got{0};
        {
            scheduler scheduler{{.workers = 2}};
            const interruption stop{scheduler, how};
            auto giver = spawn(scheduler, gives(a, b));
            auto taker = spawn(scheduler, takes_from_both(a, b));
            sent = model::result_of(giver);
            got = model::result_of(taker);
            scheduler.drain();
        }
        int left = 0;
        while (a.try_receive()) ++left;
        while (b.try_receive()) ++left;
        require(sent == got + left, "no element is lost");
    });
}

task<int> takes_one(channel<int>& a, channel<int>& b) {
    int count = 0;
    const auto counts = [&](waited<int> got) { count += got ? 1 : 0; };
    co_await select(on(a.receive(), counts), on(b.receive(), counts));
    co_return count;
}

// A sender has claimed a branch, and has not told it yet, when the task hears of a stop.
TEST(ModelSelect, AStopAfterTheClaimTakesNothingAway) {
    model::expect_passes_by_priorities([] {
        channel<int> a{1};
        channel<int> b{1};
        plain<int> got{0};
        {
            scheduler scheduler{{.workers = 1}};
            auto taker = spawn(scheduler, takes_one(a, b));
            model::in_threads([&] { require(a.try_send(1).has_value(), "there is a place"); },
                              [&] { taker.request_stop(); });
            got = model::result_of(taker);
        }
        require(got + static_cast<int>(a.length()) == 1, "the element was taken, or is there");
    });
}

task<> ends() { co_return; }

// Joins are told without a mutex: the select goes on when nothing can touch it any more.
task<int> joins_one_of_two(channel<int>& in) {
    const executor here = co_await current_executor();
    auto first = spawn(here, ends());
    auto second = spawn(here, ends());
    int ended = 0;
    const auto counts = [&](const auto&) { ++ended; };
    co_await select(on(first.join(), counts), on(second.join(), counts), on(in.receive(), counts));
    // A stop leaves the joins too.
    if (first.valid()) static_cast<void>(co_await first.join());
    if (second.valid()) static_cast<void>(co_await second.join());
    co_return ended;
}

TEST(ModelSelect, AJoinThatCannotLeaveIsWaitedFor) {
    model::expect_passes_though_stopped([](stops how) {
        channel<int> in{1};
        plain<int> ended{0};
        {
            scheduler scheduler{{.workers = 2}};
            const interruption stop{scheduler, how};
            auto joins = spawn(scheduler, joins_one_of_two(in));
            require(in.try_send(1).has_value(), "there is a place");
            ended = model::result_of(joins);
            scheduler.drain();
        }
        require(ended == 1 || how != stops::none, "one branch has ended");
    });
}

task<> sets(promise<int> to) {
    to.set(2);
    co_return;
}
task<int> takes_one_of_two(future<int>& a, future<int>& b, channel<int>& in) {
    int ended = 0;
    const auto counts = [&](const auto&) { ++ended; };
    co_await select(on(std::move(a), counts), on(std::move(b), counts), on(in.receive(), counts));
    // A stop leaves the futures too.
    for (auto* const each : {&a, &b}) {
        if (each->valid()) static_cast<void>(co_await each->wait());
    }
    co_return ended;
}

// So are results of futures, and a future that was not taken has its result.
TEST(ModelSelect, AResultThatIsNotTakenStaysInItsFuture) {
    model::expect_passes_though_stopped([](stops how) {
        channel<int> in{1};
        auto one = make_promise<int>();
        auto two = make_promise<int>();
        plain<int> ended{0};
        {
            scheduler scheduler{{.workers = 2}};
            const interruption stop{scheduler, how};
            auto takes = spawn(scheduler, takes_one_of_two(one.future, two.future, in));
            spawn(scheduler, sets(std::move(two.promise))).detach();
            one.promise.set(1);
            ended = model::result_of(takes);
            scheduler.drain();
        }
        require(ended == 1 || how != stops::none, "one branch has ended");
        int left = 0;
        for (auto* const each : {&one.future, &two.future}) {
            if (each->valid() && each->take().has_value()) ++left;
        }
        require(left + ended == 2 || how != stops::none, "no result is lost");
    });
}

// A scheduler is destroyed while its select is told of one branch: the other branches leave.
TEST(ModelSelect, LeavesAllBranchesWhenItsTaskIsDestroyed) {
    model::expect_passes_by_priorities([] {
        channel<int> a{1};
        channel<int> b{1};
        {
            scheduler scheduler{{.workers = 1, .stop_limit = duration{0}}};
            spawn(scheduler, takes_from_both(a, b)).detach();
            spawn(scheduler, joins_one_of_two(b)).detach();
            require(a.try_send(1).has_value(), "there is a place");
        }
        // What still waited there would be gone.
        require(b.try_send(2).has_value() && b.length() == 1, "nothing waits");
    });
}

}  // namespace
}  // namespace fairlead::select_tests
