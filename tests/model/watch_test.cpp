// Watches. Threads set, update, wait, give up and close, with every order of steps; and whole
// schedulers.
#include "model/bell_wait.hpp"
#include "model/interruption.hpp"
#include "model/tasks.hpp"

#include <fairlead/channel/watch.hpp>
#include <fairlead/coro/adapted_wait.hpp>
#include <fairlead/coro/spawn.hpp>

#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <utility>

namespace fairlead::watch_tests {
namespace {

using model::bell_wait;
using model::interruption;
using model::plain;
using model::require;
using model::stops;
using state = channels::watch_state<int>;

void set(state& one, int value) {
    auto next = make_held<int>(value);
    require(one.publish(next, std::nullopt) == state::publication::done, "it is open");
}

struct viewer {
    explicit viewer(state& its) : of{its}, seen{its.subscribe(initial::seen)} {}
    viewer(const viewer&) = delete;
    ~viewer() { of.unsubscribe(); }

    class wait final : public bell_wait<channels::change_operation<int>> {
    public:
        explicit wait(viewer& its)
            : bell_wait<channels::change_operation<int>>{its.of, its.seen, its.is_waiting} {}
    };

    std::optional<int> changed() {
        wait once{*this};
        if (once.enter()) once.wait_for_end();
        const auto next = once.collect(std::nullopt);
        if (!next) return std::nullopt;
        return **next;
    }

    state& of;
    std::uint64_t seen;
    bool is_waiting = false;
};

TEST(ModelWatch, TheLastValueIsNeverMissed) {
    model::expect_passes([] {
        state one{make_held<int>(0)};
        viewer mine{one};
        int last = 0;
        model::in_threads(
            [&] {
                for (int i = 1; i != 4; ++i) set(one, i);
                one.close();
            },
            [&] {
                while (const auto next = mine.changed()) {
                    require(*next > last, "each at most once, in order");
                    last = *next;
                }
            });
        require(last == 3, "the last is seen before the end");
    });
}

TEST(ModelWatch, AllWatchersAreWoken) {
    model::expect_passes([] {
        state one{make_held<int>(0)};
        viewer first{one};
        viewer second{one};
        model::in_threads([&] { set(one, 1); }, [&] { require(first.changed() == 1, "seen"); },
                          [&] { require(second.changed() == 1, "seen"); });
    });
}

TEST(ModelWatch, AWaitThatGivesUpMissesNothing) {
    model::expect_passes([] {
        state one{make_held<int>(0)};
        viewer mine{one};
        viewer::wait first{mine};
        require(first.enter(), "it was seen");
        bool left = false;
        model::in_threads([&] { set(one, 1); }, [&] { left = first.leave(); });
        const auto got = first.collect(std::nullopt);
        require(left != got.has_value(), "one of the two");
        require(one.has_changed(mine.seen) == left, "it is seen, or still to be seen");
    });
}

// A value that comes between the wake-up and the look is seen at once, and marked as seen.
TEST(ModelWatch, WhatIsMarkedAsSeenWasSeen) {
    model::expect_passes([] {
        state one{make_held<int>(0)};
        viewer mine{one};
        int last = 0;
        model::in_threads([&] { set(one, 1); }, [&] { set(one, 2); },
                          [&] {
                              last = mine.changed().value();
                              while (one.has_changed(mine.seen)) last = mine.changed().value();
                          });
        if (one.has_changed(mine.seen)) last = mine.changed().value();
        require(last == *one.now().value, "the last one was seen");
    });
}

TEST(ModelWatch, UpdatesAreNotLost) {
    model::expect_passes([] {
        watch<int> one{0};
        const auto increments = [&] { require(one.update([](int& value) { ++value; }), "done"); };
        model::in_threads(increments, increments);
        require(*one.get() == 2, "both");
    });
}

TEST(ModelWatch, AReaderKeepsItsValue) {
    model::expect_passes([] {
        watch<int> one{1};
        model::in_threads([&] { one.set(2); },
                          [&] {
                              const auto before = one.get();
                              const int value = *before;
                              const auto after = one.get();
                              require(*before == value && *after >= value, "it does not change");
                          });
    });
}

// --- as a whole ----------------------------------------------------------------------------------

TEST(ModelWatch, TasksSeeTheLastValueThroughStops) {
    model::expect_passes_though_stopped([](stops how) {
        watch<int> one{0};
        plain<int> last{0};
        auto mine = one.subscribe();
        {
            scheduler scheduler{{.workers = 2}};
            const interruption stop{scheduler, how};
            const auto sets = [&]() -> task<> {
                one.set(1);
                one.update([](int& value) { ++value; });
                one.close();
                co_return;
            };
            const auto sees = [&]() -> task<int> {
                int seen = -1;
                while (const auto next = co_await shielded(mine.changed())) seen = **next;
                co_return seen;
            };
            auto watching = spawn(scheduler, sees());
            auto setting = spawn(scheduler, sets());
            last = model::result_of(watching);
            model::result_of(setting);
            scheduler.drain();
        }
        require(last == 2, "the last value is seen");
    });
}

}  // namespace
}  // namespace fairlead::watch_tests
