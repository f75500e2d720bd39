// Groups against their model, with random operations; and the model finds groups with a planted
// mistake.
#include "fuzz/groups_check.hpp"
#include "fuzz/random_input.hpp"

#include "support/seeds.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <vector>

namespace fairlead::fuzz::groups_tests {
namespace {

template <class Group = group>
void check_with(std::mt19937_64& random) {
    std::vector<std::uint8_t> bytes(200 + random() % 6'000);
    for (std::uint8_t& each : bytes) each = static_cast<std::uint8_t>(random());
    groups_check<Group>{input{bytes}}.run();
}

TEST(GroupsAgainstAModel, DoWhatItSays) { test::for_each_seed(600, check_with<>); }

struct group_that_is_not_paused : group {
    using group::group;
    void pause() noexcept {}
};

struct group_that_counts_a_step_twice : group {
    using group::group;
    [[nodiscard]] group_stats stats() const noexcept {
        group_stats all = group::stats();
        all.used += all.steps == 0 ? 0ns : all.used / static_cast<std::int64_t>(all.steps);
        return all;
    }
};

struct group_that_has_always_a_permit : group {
    using group::group;
    [[nodiscard]] permit try_permit() noexcept {
        set_queue_max(0);
        return group::try_permit();
    }
};

template <class Group>
void check_some() {
    test::for_each_seed(100, check_with<Group>);
}

TEST(GroupsAgainstAModelDeathTest, SeeAPauseThatIsNone) {
    EXPECT_DEATH(check_some<group_that_is_not_paused>(), "what is paused begins no step");
}
TEST(GroupsAgainstAModelDeathTest, SeeAStepThatIsChargedTwice) {
    EXPECT_DEATH(check_some<group_that_counts_a_step_twice>(), "is charged the time of its steps");
}
TEST(GroupsAgainstAModelDeathTest, SeeAPlaceTooMany) {
    EXPECT_DEATH(check_some<group_that_has_always_a_permit>(), "a permit is refused");
}

}  // namespace
}  // namespace fairlead::fuzz::groups_tests
