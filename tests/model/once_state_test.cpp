// Something that is made once. Threads make it, fail, wait and give up, with every order of steps.
#include "model/bell_wait.hpp"

#include <fairlead/detail/sync/once_state.hpp>

#include <gtest/gtest.h>

#include <memory>

namespace fairlead::once_state_tests {
namespace {

using model::bell_wait;
using model::plain;
using model::require;
using sync::once_state;

using wait = bell_wait<once_state::waiter>;

// [ON1]
TEST(ModelOnceState, OneThreadMakesItAndAllSeeIt) {
    model::expect_passes([] {
        once_state one;
        plain<int> made{0};
        const auto gets = [&] {
            if (!one.is_ready()) {
                wait mine{true};
                if (mine.ask(one)) {
                    made = made + 1;
                    one.set_ready();
                }
            }
            require(made == 1, "made once, and seen");
        };
        model::in_threads(gets, gets, [&] {
            wait mine{false};
            require(mine.ask(one), "ready");
            require(made == 1, "a wait that does not begin sees it, too");
        });
    });
}

// tokio#4496.
TEST(ModelOnceState, AFailureLetsTheNextOneMakeIt) {
    model::expect_passes([] {
        once_state one;
        plain<int> attempts{0};
        const auto gets = [&] {
            wait mine{true};
            if (!mine.ask(one)) return;
            attempts = attempts + 1;
            if (attempts == 1) {
                one.give_up();
            } else {
                one.set_ready();
            }
        };
        model::in_threads(gets, gets);
        require(attempts == 2 && one.is_ready(), "the second attempt has made it");
    });
}

// The right is given up while the only wait for it withdraws.
TEST(ModelOnceState, AWithdrawalLosesNoRight) {
    model::expect_passes([] {
        once_state one;
        require(one.try_begin(), "empty");
        wait next{true};
        require(one.enter(next), "it waits");
        bool gone = false;
        model::in_threads([&] { one.give_up(); }, [&] { gone = one.withdraw(next); });
        require(gone != next.was_told() && gone != next.has(), "one of the two");
        require(one.try_begin() == gone, "the right is there, or has been granted");
    });
}

TEST(ModelOnceState, AThreadThatSeesItMayDestroyIt) {
    for (const bool begins : {false, true}) {
        model::expect_passes([&] {
            auto one = std::make_unique<once_state>();
            require(one->try_begin(), "empty");
            model::in_threads([&] { one->set_ready(); },
                              [&] {
                                  if (!one->is_ready()) {
                                      wait mine{begins};
                                      require(mine.ask(*one) != begins, "ready");
                                  }
                                  one.reset();
                              });
        });
    }
}

}  // namespace
}  // namespace fairlead::once_state_tests
