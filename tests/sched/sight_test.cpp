// What the monitor makes of a slot, in simulated time, against what really happens there.
#include "sched/block/sight.hpp"

#include "support/seeds.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <random>

namespace fairlead::sched::sight_tests {
namespace {

using namespace std::chrono_literals;
using test::below;

constexpr duration gap_max = 5ms;  // between two looks

// A slot on which steps run, block, end, and lose it; as the kernel would tell.
class simulated_slot {
public:
    explicit simulated_slot(std::mt19937_64& random) : random_{random} { begin(); }

    void pass(duration time) {
        now_ += time;
        while (now_ >= changes_at_) change();
    }

    // As handover::relieve: false, if it is not the step that the monitor means.
    bool relieve(std::uint64_t number, std::uint64_t times_passed) {
        if (number != ended_ || times_passed != times_passed_) return false;
        ++times_passed_;
        begin();
        return true;
    }

    [[nodiscard]] time_point now() const { return now_; }
    [[nodiscard]] bool runs() const { return kind_ != kind::none; }
    [[nodiscard]] std::uint64_t ended() const { return ended_; }
    [[nodiscard]] std::uint64_t times_passed() const { return times_passed_; }
    [[nodiscard]] std::uint64_t step() const { return step_; }  // no two have the same
    [[nodiscard]] time_point began() const { return began_; }
    [[nodiscard]] bool computes() const { return kind_ == kind::computes; }
    [[nodiscard]] bool blocks_for_ever() const { return kind_ == kind::blocks; }
    [[nodiscard]] bool blocked() const {
        return kind_ == kind::blocks || (kind_ == kind::mixed && blocked_);
    }

private:
    enum class kind { none, computes, blocks, mixed };

    void begin() {
        kind_ = static_cast<kind>(below(random_, 4));
        ++step_;
        began_ = now_;
        blocked_ = below(random_, 2) == 0;
        ends_at_ = kind_ == kind::blocks ? never : now_ + 1us * (1 + below(random_, 60'000));
        gives_up_slot_ = below(random_, 3) == 0 && kind_ != kind::blocks;
        plan();
    }

    void plan() {
        changes_at_ = ends_at_;
        if (kind_ == kind::mixed) {
            changes_at_ = std::min(ends_at_, now_ + 1us * (1 + below(random_, 9'000)));
        }
    }

    void change() {
        if (changes_at_ != ends_at_) {
            blocked_ = !blocked_;
            plan();
        } else if (gives_up_slot_) {  // and ends elsewhere
            ++times_passed_;
            begin();
        } else {
            ++ended_;
            begin();
        }
    }

    std::mt19937_64& random_;
    time_point now_{1h};
    kind kind_ = kind::none;
    std::uint64_t step_ = 0;
    std::uint64_t ended_ = 0;
    std::uint64_t times_passed_ = 0;
    time_point began_{};
    time_point ends_at_{};
    time_point changes_at_{};
    bool blocked_ = false;
    bool gives_up_slot_ = false;
};

// What has been found of one step.
struct answers {
    std::uint64_t step = 0;
    bool last = false;
    bool before = false;
};

// A step loses its slot only if two looks in a row found it blocked; and soon, if it does nothing
// but block.
TEST(Sight, StepsThatBlockLoseTheirSlotAndNoOthers) {
    std::uint64_t relieved = 0;
    test::for_each_seed(100, [&](std::mt19937_64& random) {
        const duration report_after = 1ms * (1 + below(random, 20));  // less than a gap, or more
        simulated_slot slot{random};
        sight seen;
        answers found;
        for (int look = 0; look != 1'000; ++look) {
            slot.pass(1us * (1 + below(random, gap_max / 1us)));
            const time_point now = slot.now();
            const bool same =
                seen.look(slot.runs(), slot.ended(), slot.times_passed(), now, report_after);
            if (found.step != slot.step()) {
                ASSERT_FALSE(same) << "another step is another";
                found = {.step = slot.step()};
            }
            if (slot.blocks_for_ever()) {
                ASSERT_LT(now - slot.began(), 2 * report_after + 4 * gap_max)
                    << "it keeps its slot";
            }
            if (!seen.wants_answer(now)) continue;
            ASSERT_TRUE(slot.runs());
            found.before = std::exchange(found.last, slot.blocked());
            if (!seen.answer(slot.blocked(), now, report_after)) continue;
            ASSERT_FALSE(slot.computes());
            ASSERT_TRUE(found.last && found.before) << "it was found blocked twice";
            ASSERT_GE(now - slot.began(), report_after);
            ASSERT_TRUE(slot.relieve(seen.number(), seen.times_passed()));
            seen.forget();
            ++relieved;
        }
    });
    EXPECT_GT(relieved, 0U);
}

// The report is due at a time, and not after it.
TEST(Sight, AStepThatBlocksIsReportedAtTheTime) {
    sight seen;
    constexpr time_point begin{1h};
    constexpr duration report_after = 10ms;
    EXPECT_FALSE(seen.look(true, 0, 0, begin, report_after));
    EXPECT_FALSE(seen.wants_answer(begin + report_after / 2 - 1ns));
    EXPECT_TRUE(seen.wants_answer(begin + report_after / 2));
    EXPECT_FALSE(seen.answer(true, begin + report_after / 2, report_after));
    EXPECT_FALSE(seen.wants_answer(begin + report_after - 1ns));
    EXPECT_TRUE(seen.wants_answer(begin + report_after));
    EXPECT_TRUE(seen.answer(true, begin + report_after, report_after));
}

}  // namespace
}  // namespace fairlead::sched::sight_tests
