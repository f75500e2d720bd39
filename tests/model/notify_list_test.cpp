// Waits for a notification that move to the FIFO of a lock. Threads wait, notify, lock and give up,
// with every order of steps.
#include "model/bell_wait.hpp"

#include <fairlead/detail/sync/notify_list.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <optional>

namespace fairlead::notify_list_tests {
namespace {

using model::bell_wait;
using model::plain;
using model::require;
using sync::line;
using sync::notify_list;

void lock(line& of) {
    bell_wait<sync::line_waiter> mine;
    require(mine.ask(of) && mine.take_grant(), "granted");
}

class wait final : public bell_wait<sync::notified_waiter> {
public:
    using bell_wait::bell_wait;

    // The caller has the lock, and has it again after this.
    void ask(notify_list& of) {
        of.enter(*this);
        wait_for_lock();
    }

    void wait_for_lock() {
        wait_for_end();
        require(take_grant(), "granted");
    }
};

// A change under the lock and a notification after it are not missed.
TEST(ModelNotifyList, AChangeUnderTheLockIsNotMissed) {
    for (const bool notifies_inside : {false, true}) {
        model::expect_passes([&] {
            line guard{1};
            notify_list condition;
            plain<bool> ready{false};
            model::in_threads(
                [&] {
                    lock(guard);
                    while (!ready) wait{guard}.ask(condition);
                    guard.give_back();
                },
                [&] {
                    lock(guard);
                    ready = true;
                    if (notifies_inside) condition.notify_one();
                    guard.give_back();
                    if (!notifies_inside) condition.notify_one();
                });
            require(guard.taken() == 0 && condition.waiting() == 0, "nothing is left");
        });
    }
}

// All have the lock in turn, though each is notified while another thread has it.
TEST(ModelNotifyList, AllThatAreNotifiedGetTheLockInTurn) {
    model::expect_passes([] {
        line guard{1};
        notify_list condition;
        plain<int> inside{0};
        wait first{guard};
        wait second{guard};
        lock(guard);
        condition.enter(first);
        lock(guard);
        condition.enter(second);
        const auto goes_on = [&](wait& mine) {
            mine.wait_for_lock();
            inside = inside + 1;
            guard.give_back();
        };
        model::in_threads([&] { require(condition.notify_all() == 2, "both wait"); },
                          [&] { goes_on(first); }, [&] { goes_on(second); });
        require(inside == 2 && guard.taken() == 0, "each had the lock alone");
    });
}

// A notification races with a withdrawal, such as by a deadline. Either the notification is this
// wait's, or it goes to the next one.
TEST(ModelNotifyList, AWithdrawalLosesNoNotification) {
    model::expect_passes([] {
        line guard{1};
        notify_list condition;
        wait first{guard};
        wait second{guard};
        lock(guard);
        condition.enter(first);
        lock(guard);
        condition.enter(second);
        bool left = false;
        model::in_threads([&] { condition.notify_one(); },
                          [&] {
                              left = condition.leave(first);
                              if (!left) {
                                  first.wait_for_lock();
                                  guard.give_back();
                              }
                          });
        require(left == second.was_told(), "one of the two was notified");
        if (left) guard.give_back();
        require(condition.leave(second) != left, "the other one waits still");
        require(guard.taken() == 0, "the lock is free");
    });
}

// The task is destroyed while its wait is in the FIFO of the lock.
TEST(ModelNotifyList, AWaitLeavesTheFifoOfTheLock) {
    model::expect_passes([] {
        line guard{1};
        notify_list condition;
        wait first{guard};
        lock(guard);
        condition.enter(first);
        lock(guard);
        bool gone = false;
        model::in_threads([&] { condition.notify_one(); }, [&] { guard.give_back(); },
                          [&] { gone = condition.leave(first) || guard.withdraw(first); });
        require(gone != first.was_told(), "one of the two");
        if (!gone) guard.give_back();
        require(guard.taken() == 0 && guard.try_take(), "the lock is free");
    });
}

// The first act of what goes on is to destroy the condition and the lock, although the thread that
// notifies, and the thread that unlocks, are still in their calls.
TEST(ModelNotifyList, WhatGoesOnMayDestroyTheCondition) {
    model::expect_passes([] {
        auto guard = std::make_unique<line>(1);
        auto condition = std::make_unique<notify_list>();
        wait first{*guard};
        lock(*guard);
        condition->enter(first);
        lock(*guard);
        model::in_threads([&] { condition->notify_one(); }, [&] { guard->give_back(); },
                          [&] {
                              first.wait_for_lock();
                              condition.reset();
                              guard->give_back();
                              guard.reset();
                          });
    });
}

}  // namespace
}  // namespace fairlead::notify_list_tests
