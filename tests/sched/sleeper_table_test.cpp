#include "sched/slot/sleeper_table.hpp"

#include "support/tasks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <vector>

namespace fairlead::sched::sleeper_table_tests {
namespace {

std::set<basic_task*> visited(const sleeper_table& table) {
    std::set<basic_task*> found;
    table.for_each([&](basic_task& each) { EXPECT_TRUE(found.insert(&each).second); });
    return found;
}

TEST(SleeperTable, IsEmptyAtFirst) {
    sleeper_table table;
    EXPECT_TRUE(table.empty());
    EXPECT_TRUE(visited(table).empty());
}

TEST(SleeperTable, HasWhatWasInsertedAndNotErased) {
    sleeper_table table;
    std::vector<test::scripted> tasks(3);
    sleeper_place* const first = table.insert(tasks[0]);
    sleeper_place* const second = table.insert(tasks[1]);
    EXPECT_NE(first, second);
    EXPECT_FALSE(table.empty());
    EXPECT_EQ(visited(table), (std::set<basic_task*>{&tasks[0], &tasks[1]}));
    sleeper_table::erase(*first);
    EXPECT_EQ(visited(table), (std::set<basic_task*>{&tasks[1]}));
    sleeper_table::erase(*second);
    EXPECT_TRUE(table.empty());
}

TEST(SleeperTable, FillsEmptyPlacesBeforeItGrows) {
    sleeper_table table;
    test::scripted task;
    std::set<sleeper_place*> places;
    for (int i = 0; i != 1'000; ++i) {
        sleeper_place* const place = table.insert(task);
        places.insert(place);
        sleeper_table::erase(*place);
    }
    EXPECT_LT(places.size(), 100U);  // one chunk
}

TEST(SleeperTable, DoesWhatAMapDoes) {
    for (unsigned seed = 1; seed != 5; ++seed) {
        SCOPED_TRACE(seed);
        std::mt19937 random{seed};
        sleeper_table table;
        std::vector<test::scripted> tasks(2'000);
        std::map<sleeper_place*, basic_task*> reference;
        std::vector<basic_task*> free;
        for (auto& each : tasks) free.push_back(&each);
        for (int step = 0; step != 50'000; ++step) {
            // It grows, nearly empties, and grows again.
            if (!free.empty() && random() % 100 < (step / 5'000 % 2 == 0 ? 75U : 25U)) {
                basic_task* const task = free.back();
                free.pop_back();
                sleeper_place* const place = table.insert(*task);
                ASSERT_NE(place, nullptr);
                ASSERT_TRUE(reference.emplace(place, task).second) << "a place was given twice";
            } else if (!reference.empty()) {
                const auto gone =
                    std::next(reference.begin(), static_cast<long>(random() % reference.size()));
                sleeper_table::erase(*gone->first);
                free.push_back(gone->second);
                reference.erase(gone);
            }
            if (step % 1'000 == 0) {
                std::set<basic_task*> expected;
                for (const auto& [place, task] : reference) expected.insert(task);
                ASSERT_EQ(visited(table), expected);
                ASSERT_EQ(table.empty(), expected.empty());
            }
        }
    }
}

// A burst of so many tasks sleeps and is woken; then tasks sleep one after the other. The number of
// places that these use, once the owner has gone round over all places of the burst.
std::size_t places_used_after_a_burst(sleeper_table& table, std::size_t count) {
    std::vector<test::scripted> tasks(count);
    std::vector<sleeper_place*> places;
    for (auto& each : tasks) places.push_back(table.insert(each));
    for (sleeper_place* const each : places) sleeper_table::erase(*each);
    std::set<sleeper_place*> used;
    for (std::size_t i = 0; i != 3 * count; ++i) {
        sleeper_place* const place = table.insert(tasks[0]);
        if (i >= count) used.insert(place);
        sleeper_table::erase(*place);
    }
    return used.size();
}

TEST(SleeperTable, FreesTheChunksOfABurstWhileLaterTasksComeAndGo) {
    sleeper_table table;
    EXPECT_LT(places_used_after_a_burst(table, 10'000), 200U);
}

// A thread that looks at the table may be in any chunk.
TEST(SleeperTable, KeepsEmptyChunksWhileTheGateIsClosed) {
    const sleeper_gate closed{true};
    sleeper_table table{&closed};
    EXPECT_GE(places_used_after_a_burst(table, 200), 200U);
}

}  // namespace
}  // namespace fairlead::sched::sleeper_table_tests
