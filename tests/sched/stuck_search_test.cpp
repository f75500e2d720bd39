#include "sched/worker/stuck_search.hpp"

#include <fairlead/sched/callback_task.hpp>
#include <fairlead/test/manual_clock.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace fairlead::sched::stuck_search_tests {
namespace {

using namespace std::chrono_literals;

// A worker that looks after each run of so many steps.
class looks {
public:
    void run(unsigned steps, duration each) {
        finished_ += steps;
        clock_.advance(each * steps);
        static_cast<void>(search_.is_due(finished_));
        was_long_ |= search_.steps_are_long();
    }
    void forget() { was_long_ = false; }
    [[nodiscard]] bool was_long() const { return was_long_; }

private:
    test::manual_clock clock_;
    stuck_search search_{1, 0, true};
    std::uint64_t finished_ = 0;
    bool was_long_ = false;
};

// It reads the clock at each 16th look, and 16 runs of 16 steps take long.
TEST(StuckSearch, ShortStepsAreNotLongThoughTheClockIsReadRarely) {
    looks worker;
    for (int i = 0; i != 100; ++i) worker.run(16, 300ns);
    worker.forget();
    for (int i = 0; i != 1'000; ++i) worker.run(16, 300ns);
    EXPECT_FALSE(worker.was_long());
}

TEST(StuckSearch, LongStepsAreLong) {
    looks worker;
    for (int i = 0; i != 100; ++i) worker.run(16, 300ns);
    worker.forget();
    for (int i = 0; i != 20; ++i) worker.run(1, 50us);
    EXPECT_TRUE(worker.was_long());
}

// A look is at 16 slots. So two looks are at all of 32, and a slot is stuck if no step has ended
// there between two visits.
TEST(StuckSearch, EachSlotHasItsTurn) {
    constexpr unsigned width = 32;
    constexpr unsigned own = 7;
    for (unsigned stuck = 0; stuck != width; ++stuck) {
        ready_queue ready;
        const sleeper_gate gate{true};
        callback_task task{[](callback_task&) {}};
        std::vector<std::unique_ptr<slot>> slots;
        for (unsigned i = 0; i != width; ++i) {
            slots.push_back(std::make_unique<slot>(ready, gate, i, width, false));
        }
        std::array<basic_task*, 1> tasks{&task};
        slots[stuck]->runs.push(tasks);

        stuck_search search{width, own, true};
        const auto found_in_two_looks = [&] {
            int found = 0;
            for (int look = 0; look != 2; ++look) {
                slot* const with_tasks = search.find(slots, *slots[own]).with_tasks;
                if (with_tasks == nullptr) continue;
                EXPECT_EQ(with_tasks->index, stuck);
                ++found;
            }
            return found;
        };
        for (const auto& each : slots) each->finished.add(1);
        EXPECT_EQ(found_in_two_looks(), 0);
        EXPECT_EQ(found_in_two_looks(), stuck == own ? 0 : 1);
        for (const auto& each : slots) each->finished.add(1);
        EXPECT_EQ(found_in_two_looks(), 0);
    }
}

// A slot whose tasks never end, as its step posts for ever, does not hide another.
TEST(StuckSearch, EachSlotWithTasksHasItsTurn) {
    constexpr unsigned width = 4;
    ready_queue ready;
    const sleeper_gate gate{true};
    std::array<callback_task, 2> tasks{callback_task{[](callback_task&) {}},
                                       callback_task{[](callback_task&) {}}};
    std::vector<std::unique_ptr<slot>> slots;
    for (unsigned i = 0; i != width; ++i) {
        slots.push_back(std::make_unique<slot>(ready, gate, i, width, false));
    }
    const std::array<basic_task*, 1> of_one{&tasks[0]};
    const std::array<basic_task*, 1> of_three{&tasks[1]};
    slots[1]->runs.push(of_one);
    slots[3]->runs.push(of_three);
    stuck_search search{width, 2, true};
    std::vector<unsigned> found;
    while (found.size() != 6) found.push_back(search.find(slots, *slots[2]).with_tasks->index);
    EXPECT_EQ(found, (std::vector{3U, 1U, 3U, 1U, 3U, 1U}));
}

TEST(StuckSearch, AWayThatHasLedToATaskIsLeftOutOnce) {
    stuck_search search{1, 0, true};
    EXPECT_FALSE(search.stands_back(found_by::round));
    search.had_turn(found_by::round);
    EXPECT_FALSE(search.stands_back(found_by::look_between_tasks));
    EXPECT_TRUE(search.stands_back(found_by::round));
    EXPECT_FALSE(search.stands_back(found_by::round));
}

// So every second time there is a round instead.
TEST(StuckSearch, ALookBeforeARoundThatHasLedToATaskIsNotDueNextTime) {
    const test::manual_clock clock;
    stuck_search search{1, 0, true};
    EXPECT_TRUE(search.is_due(clock.now() + 1ms, 1ms));
    EXPECT_FALSE(search.is_due(clock.now() + 1ms, 1ms));
    search.had_turn();
    EXPECT_FALSE(search.is_due(clock.now() + 1ms, 1ms)) << "too early, which does not count";
    EXPECT_FALSE(search.is_due(clock.now() + 2ms, 1ms));
    EXPECT_TRUE(search.is_due(clock.now() + 2ms, 1ms));
}

// So every second time the worker gets to its run, or to ready.
TEST(StuckSearch, ALookBetweenTasksThatHasLedToATaskIsNotDueNextTime) {
    test::manual_clock clock;
    stuck_search search{1, 0, true};
    std::uint64_t finished = 0;
    const auto is_due = [&] {
        clock.advance(1ms);
        return search.is_due(++finished);
    };
    EXPECT_TRUE(is_due());
    EXPECT_TRUE(is_due());
    search.had_turn();
    EXPECT_FALSE(is_due());
    EXPECT_TRUE(is_due());
}

// With policy::fair nothing that such a look takes from can be filled for ever.
TEST(StuckSearch, ALookBetweenTasksNeverStandsBackWithoutDeques) {
    test::manual_clock clock;
    stuck_search search{1, 0, false};
    for (std::uint64_t finished = 1; finished != 5; ++finished) {
        clock.advance(1ms);
        EXPECT_TRUE(search.is_due(finished));
        search.had_turn();
    }
}

// What follows one look says nothing about what follows the other.
TEST(StuckSearch, ALookDoesNotStandBackForTheOther) {
    test::manual_clock clock;
    stuck_search search{1, 0, true};
    clock.advance(1ms);
    EXPECT_TRUE(search.is_due(1));
    search.had_turn();
    EXPECT_TRUE(search.is_due(clock.now() + 1ms, 1ms));
    clock.advance(2ms);
    EXPECT_FALSE(search.is_due(2));
    clock.advance(1ms);
    EXPECT_TRUE(search.is_due(3));
}

}  // namespace
}  // namespace fairlead::sched::stuck_search_tests
