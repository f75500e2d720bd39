// Permits of a line. Threads take a permit, wait for one, return one, give up and close the line,
// with every order of steps.
#include "model/bell_wait.hpp"

#include <fairlead/detail/sync/line.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <utility>

namespace fairlead::line_tests {
namespace {

using model::bell_wait;
using model::plain;
using model::require;
using sync::line;

using wait = bell_wait<sync::line_waiter>;

TEST(ModelLine, PermitsAreNeverMoreThanTheBound) {
    model::expect_passes([] {
        line one{2, 1};
        bool second = false;
        bool third = false;
        model::in_threads([&] { one.give_back(); }, [&] { second = one.try_take(); },
                          [&] { third = one.try_take(); });
        require(second || third, "one was free");
        require(one.try_take() != (second && third), "there are two");
        require(!one.try_take(), "there are no three");
    });
}

// [LN2] What is done under the only permit is seen by the next thread that has it.
TEST(ModelLine, ThePermitOrdersWhatItGuards) {
    model::expect_passes([] {
        line one{1};
        plain<int> guarded{0};
        const auto adds = [&] {
            wait mine;
            require(mine.ask(one), "granted");
            guarded = guarded + 1;
            one.give_back();
        };
        const auto tries = [&] {
            if (!one.try_take()) return;
            guarded = guarded + 1;
            one.give_back();
        };
        model::in_threads(adds, tries);
        require(guarded >= 1 && one.taken() == 0, "each had the permit alone");
    });
    model::expect_passes({.preemptions = 2}, [] {
        line one{1};
        plain<int> guarded{0};
        const auto adds = [&] {
            wait mine;
            require(mine.ask(one), "granted");
            guarded = guarded + 1;
            one.give_back();
        };
        model::in_threads(adds, adds, adds);
        require(guarded == 3 && one.taken() == 0, "each had the permit alone");
    });
}

// [LN1] A return races with the beginning of a wait.
TEST(ModelLine, AWaitIsGrantedWhatReturns) {
    model::expect_passes([] {
        line one{1, 1};
        wait second;
        model::in_threads([&] { one.give_back(); }, [&] { require(second.ask(one), "granted"); });
        require(!one.try_take(), "there is one permit");
        one.give_back();
        require(one.taken() == 0 && one.try_take(), "it has returned");
    });
}

TEST(ModelLine, TwoWaitsAreGrantedTwoReturns) {
    model::expect_passes({.preemptions = 2}, [] {
        line one{2, 2};
        wait first;
        wait second;
        model::in_threads([&] { one.give_back(); }, [&] { one.give_back(); },
                          [&] {
                              static_cast<void>(one.enter(first));
                              require(second.ask(one), "granted");
                              require(first.has(), "the first one before");
                          });
        require(one.taken() == 2, "each has one");
    });
}

// A grant races with a withdrawal, such as by a deadline or a stop: the wait has a permit, or has
// left it to the next.
TEST(ModelLine, AWithdrawalLosesNoPermit) {
    model::expect_passes([] {
        line one{1, 1};
        wait first;
        wait second;
        require(one.enter(first), "it waits");
        bool gone = false;
        model::in_threads([&] { one.give_back(); }, [&] { gone = one.withdraw(first); },
                          [&] { static_cast<void>(one.enter(second)); });
        require(gone != first.was_told(), "one of the two");
        if (!gone) one.give_back();
        require(second.has(), "the other wait has it");
        one.give_back();
        require(one.try_take(), "no permit is lost, and nothing waits");
    });
}

// asio#1348, asio#1630: what ends a wait comes from three threads at once. A stop, which withdraws
// the wait, races with a return, and with a thread that tries, waits, or closes the line.
TEST(ModelLine, TwoThreadsAndAStopEndAWaitOnce) {
    enum class act : std::uint8_t { tries, waits, closes };
    for (const act what : {act::tries, act::waits, act::closes}) {
        model::expect_passes([what] {
            line one{1, 1};
            wait first;
            wait second;
            require(one.enter(first), "it waits");
            bool gone = false;
            bool taken = false;
            model::in_threads([&] { one.give_back(); }, [&] { gone = one.withdraw(first); },
                              [&] {
                                  if (what == act::tries) taken = one.try_take();
                                  if (what == act::waits) static_cast<void>(one.enter(second));
                                  if (what == act::closes) static_cast<void>(one.close());
                              });
            require(gone != first.was_told(), "it ends once");
            const int holders = (first.has() ? 1 : 0) + (second.has() ? 1 : 0) + (taken ? 1 : 0);
            require(one.taken() == static_cast<std::uint64_t>(holders), "no permit is lost");
            require(holders <= 1, "there is one permit");
            require(what != act::waits || holders == 1, "it is granted to what waits");
            if (what == act::waits && first.has()) {
                one.give_back();
                require(second.has(), "then to the next");
            }
        });
    }
}

// The first wait needs more than there is, and holds up the second. When the first one leaves, the
// second is granted in the same critical section.
TEST(ModelLine, AWithdrawalLetsTheNextOneIn) {
    model::expect_passes([] {
        line one{5, 4};
        wait many{5};
        wait few;
        require(one.enter(many), "five are not free");
        model::in_threads([&] { require(one.withdraw(many), "nothing returns"); },
                          [&] { require(few.ask(one), "granted"); });
        require(one.taken() == 5, "the second one has it");
    });
}

TEST(ModelLine, AHigherBoundIsGranted) {
    model::expect_passes([] {
        line one{1, 1};
        wait first;
        wait second;
        model::in_threads([&] { one.set_bound(3); }, [&] { require(first.ask(one), "granted"); },
                          [&] { require(second.ask(one), "granted"); });
        require(one.taken() == 3, "each has one");
    });
}

TEST(ModelLine, ACloseEndsEachWait) {
    model::expect_passes([] {
        line one{1, 1};
        wait first;
        wait second;
        model::in_threads([&] { require(one.close(), "the first close"); },
                          [&] { static_cast<void>(first.ask(one)); },
                          [&] {
                              one.give_back();
                              static_cast<void>(second.ask(one));
                          });
        require(!(first.has() && second.has()), "there is one permit");
        require(one.taken() == (first.has() || second.has() ? 1 : 0), "no other is taken");
        require(one.is_closed() && !one.try_take() && !one.close(), "closed stays closed");
        wait late;
        require(!one.enter(late) && !late.has(), "a later wait ends at once");
    });
}

TEST(ModelLine, ACloseIsSeenWithWhatWasDoneBefore) {
    model::expect_passes([] {
        line one{1};
        plain<int> written{0};
        model::in_threads(
            [&] {
                written = 1;
                require(one.close(), "the only close");
            },
            [&] {
                if (one.is_closed()) require(written == 1, "what was written before is seen");
            });
    });
}

// --- the end of the line -------------------------------------------------------------------------

// The first act of the task that has the mutex now is to destroy it.
TEST(ModelLine, TheFirstOneToldMayDestroyTheLine) {
    model::expect_passes([] {
        auto one = std::make_unique<line>(1, 1);
        wait first;
        first.first_act = [&] { one.reset(); };
        model::in_threads([&] { one->give_back(); },
                          [&] {
                              if (!first.ask(*one)) return;
                              one.reset();
                          });
        require(one == nullptr, "it is gone");
    });
}

// [LN1] The story in line.hpp: a return, the withdrawal of the only wait, and a thread that takes
// the permit without the mutex, and destroys the line.
TEST(ModelLine, AThreadThatTakesTheLastPermitMayDestroyTheLine) {
    model::expect_passes([] {
        auto one = std::make_unique<line>(1, 1);
        wait first;
        require(one->enter(first), "it waits");
        model::in_threads([&] { one->give_back(); },
                          [&] {
                              // The other thread has no permit after a withdrawal that succeeds.
                              if (!one->withdraw(first)) return one.reset();
                              wait again;
                              if (one->try_take() || again.ask(*one)) one.reset();
                          });
        require(one == nullptr, "it is gone");
    });
}

// --- events and latches: grants that take nothing ------------------------------------------------

TEST(ModelLine, ASetWakesAllThatWait) {
    model::expect_passes([] {
        line event{1, 1};
        plain<int> written{0};
        wait first{1, 0};
        wait second{1, 0};
        const auto reads = [&](wait& mine) {
            require(mine.ask(event), "granted");
            require(written == 1, "what was written before is seen");
        };
        model::in_threads(
            [&] {
                written = 1;
                event.give_back_if_taken();
            },
            [&] { reads(first); }, [&] { reads(second); });
        require(event.has_free() && !event.give_back_if_taken(), "it is set");
    });
}

// Two sets of an event that one wait consumes, which may have left.
TEST(ModelLine, TwoSetsAreOneToken) {
    model::expect_passes([] {
        line event{1, 1};
        wait first;
        require(event.enter(first), "it waits");
        bool gone = false;
        model::in_threads([&] { event.give_back_if_taken(); }, [&] { event.give_back_if_taken(); },
                          [&] { gone = event.withdraw(first); });
        require(gone != first.was_told(), "one of the two");
        require(!gone || event.taken() == 0, "the token is kept for the next wait");
    });
}

// A set that comes for a wait, and finds under the mutex that the wait has left.
TEST(ModelLine, ASetThatFindsNoWaitAnyMoreIsSeen) {
    model::expect_passes([] {
        line event{1, 1};
        plain<int> written{0};
        wait first;
        require(event.enter(first), "it waits");
        model::in_threads(
            [&] {
                written = 1;
                event.give_back_if_taken();
            },
            [&] {
                if (!event.withdraw(first)) return;
                if (event.try_take()) require(written == 1, "what was written before is seen");
            });
    });
}

TEST(ModelLine, TheLastArrivalIsTheLastTouchOfALatch) {
    model::expect_passes([] {
        auto latch = std::make_unique<line>(2, 2);
        plain<int> first{0};
        plain<int> second{0};
        model::in_threads(
            [&] {
                first = 1;
                latch->give_back();
            },
            [&] {
                second = 1;
                latch->give_back();
            },
            [&] {
                wait all{2, 0};
                require(latch->has_free(2) || all.ask(*latch), "granted");
                require(first == 1 && second == 1, "what was done before is seen");
                latch.reset();
            });
    });
}

}  // namespace
}  // namespace fairlead::line_tests
