#include "sched/worker/stuck_search.hpp"

#include <fairlead/test/manual_clock.hpp>

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <vector>

namespace fairlead::sched {
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
    stuck_search search_{1, 0};
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

        stuck_search search{width, own};
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

}  // namespace
}  // namespace fairlead::sched
