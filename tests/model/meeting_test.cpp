// Arrivals at a barrier. Threads arrive, wait, give up and leave for good, with every order of
// steps.
#include "model/bell_wait.hpp"

#include <fairlead/detail/sync/meeting.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <memory>

namespace fairlead::meeting_tests {
namespace {

using model::bell_wait;
using model::plain;
using model::require;
using sync::meeting;

// An arrival of one thread.
class arrival final : public bell_wait<sync::waiter> {
public:
    // Whether it waits. `completion` runs if this is the last arrival.
    bool begin(meeting& of, const std::function<void()>& completion = {}) {
        sync::waiter_list ended;
        if (!of.arrive(*this, ended)) return true;
        if (completion) completion();
        ended.tell_all();
        return false;
    }

    void ask(meeting& of, const std::function<void()>& completion = {}) {
        if (begin(of, completion)) wait_for_end();
        require(take_grant(), "the phase has ended");
        expect_to_be_told();
    }
};

TEST(ModelMeeting, TheCompletionSeesAllArrivalsAndRunsBeforeTheWaitsEnd) {
    model::expect_passes([] {
        meeting all{3};
        plain<int> written[3]{};
        plain<int> sum{0};
        const auto arrives = [&](int index) {
            written[index] = index + 1;
            arrival mine;
            mine.ask(all, [&] { sum = sum + written[0] + written[1] + written[2]; });
            require(sum == 6, "the completion has run, once");
        };
        model::in_threads([&] { arrives(0); }, [&] { arrives(1); }, [&] { arrives(2); });
        require(all.arrived() == 0, "the next phase is empty");
    });
}

TEST(ModelMeeting, PhasesFollowEachOther) {
    model::expect_passes([] {
        meeting all{2};
        plain<int> phases{0};
        const auto arrives = [&] {
            for (int phase = 1; phase != 4; ++phase) {
                arrival mine;
                mine.ask(all, [&] { phases = phases + 1; });
                require(phases == phase, "no thread is a phase ahead");
            }
        };
        model::in_threads(arrives, arrives);
    });
}

// tokio#6494, tokio#8370.
TEST(ModelMeeting, AnArrivalThatIsWithdrawnDoesNotCount) {
    model::expect_passes([] {
        meeting all{2};
        arrival first;
        require(first.begin(all), "it waits");
        bool gone = false;
        bool waits = false;
        arrival second;
        model::in_threads([&] { gone = all.withdraw(first); }, [&] { waits = second.begin(all); });
        require(gone != first.was_told(), "one of the two");
        require(waits == gone, "the second one is the last arrival if the first one still counts");
        require(all.arrived() == (gone ? 1 : 0), "only what waits counts");
        if (gone) require(all.withdraw(second), "it has not ended");
    });
}

TEST(ModelMeeting, TheLastOneToLeaveEndsThePhase) {
    model::expect_passes([] {
        meeting all{3};
        plain<int> completions{0};
        const auto completes = [&] { completions = completions + 1; };
        const auto leaves = [&] {
            sync::waiter_list ended;
            if (!all.leave(ended)) return;
            completes();
            ended.tell_all();
        };
        arrival mine;
        model::in_threads(leaves, leaves, [&] {
            mine.ask(all, completes);
            require(completions == 1, "the completion has run");
        });
        require(all.parties() == 1, "two have left");
    });
}

// Of the threads that go on from the last phase, each may destroy the barrier.
TEST(ModelMeeting, WhatGoesOnMayDestroyTheBarrier) {
    for (const bool first_destroys : {false, true}) {
        model::expect_passes([&] {
            auto all = std::make_unique<meeting>(2);
            const auto arrives = [&](bool destroys) {
                arrival mine;
                mine.ask(*all);
                if (destroys) all.reset();
            };
            model::in_threads([&] { arrives(first_destroys); }, [&] { arrives(!first_destroys); });
        });
    }
}

TEST(ModelMeeting, ADropThatEndsThePhaseIsTheLastTouch) {
    model::expect_passes([] {
        auto all = std::make_unique<meeting>(2);
        model::in_threads(
            [&] {
                sync::waiter_list ended;
                if (all->leave(ended)) ended.tell_all();
            },
            [&] {
                arrival mine;
                mine.ask(*all);
                all.reset();
            });
    });
}

}  // namespace
}  // namespace fairlead::meeting_tests
