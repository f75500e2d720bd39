#include "sched/round/sleeper_table.hpp"

#include "support/tasks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <vector>

namespace fairlead::sched {
namespace {

TEST(SleeperTable, IsEmptyAtFirst) {
    sleeper_table table;
    EXPECT_EQ(table.size(), 0U);
    table.for_each([](basic_task&) { FAIL(); });
}

TEST(SleeperTable, ReusesHoles) {
    sleeper_table table;
    std::vector<test::scripted> tasks(3);
    const auto first = table.insert(tasks[0]);
    const auto second = table.insert(tasks[1]);
    EXPECT_NE(first, second);
    table.erase(first);
    EXPECT_EQ(table.insert(tasks[2]), first);
    EXPECT_EQ(table.size(), 2U);
    table.erase(first);
    table.erase(second);
    EXPECT_EQ(table.size(), 0U);
    EXPECT_EQ(table.insert(tasks[0]), second);  // the last to be free, also when all are
    EXPECT_EQ(table.insert(tasks[1]), first);
    table.erase(first);
    table.erase(second);
}

TEST(SleeperTable, DoesWhatAMapDoes) {
    for (unsigned seed = 1; seed != 5; ++seed) {
        SCOPED_TRACE(seed);
        std::mt19937 random{seed};
        sleeper_table table;
        std::vector<test::scripted> tasks(500);
        std::map<std::int32_t, basic_task*> reference;
        std::vector<basic_task*> free;
        for (auto& each : tasks) free.push_back(&each);
        for (int step = 0; step != 20'000; ++step) {
            if (!free.empty() && random() % 100 < (step / 2'000 % 2 == 0 ? 60U : 35U)) {
                basic_task* const task = free.back();
                free.pop_back();
                const auto place = table.insert(*task);
                ASSERT_TRUE(reference.emplace(place, task).second) << "a place was given twice";
            } else if (!reference.empty()) {
                const auto gone =
                    std::next(reference.begin(), static_cast<long>(random() % reference.size()));
                table.erase(gone->first);
                free.push_back(gone->second);
                reference.erase(gone);
            }
            ASSERT_EQ(table.size(), reference.size());
        }
        std::set<basic_task*> visited;
        table.for_each([&](basic_task& each) { EXPECT_TRUE(visited.insert(&each).second); });
        EXPECT_EQ(visited.size(), reference.size());
        for (const auto& [place, task] : reference) EXPECT_TRUE(visited.contains(task));
    }
}

}  // namespace
}  // namespace fairlead::sched
