#include <fairlead/detail/timer/deadline_heap.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <vector>

namespace fairlead::timer::deadline_heap_tests {
namespace {

using namespace std::chrono_literals;

struct node {
    std::int32_t index = -1;
    time_point deadline;
};
using heap = deadline_heap<node, &node::index>;

TEST(DeadlineHeap, IsEmptyAtFirst) {
    heap sleepers;
    EXPECT_TRUE(sleepers.empty());
    EXPECT_EQ(sleepers.size(), 0U);
    EXPECT_EQ(sleepers.next(), never);
}

TEST(DeadlineHeap, HasTheEarliestOnTop) {
    heap sleepers;
    std::vector<node> nodes(100);
    for (std::size_t i = 0; i != nodes.size(); ++i) {
        nodes[i].deadline = time_point{} + 1s * static_cast<long>((i * 37) % nodes.size());
        ASSERT_TRUE(sleepers.push(nodes[i], nodes[i].deadline));
    }
    for (long i = 0; i != 100; ++i) {
        ASSERT_EQ(sleepers.next(), time_point{} + 1s * i);
        ASSERT_EQ(sleepers.top().deadline, sleepers.next());
        sleepers.erase(sleepers.top());
    }
    EXPECT_TRUE(sleepers.empty());
}

TEST(DeadlineHeap, TakesTheEndsOfTime) {
    heap sleepers;
    node first;
    node last;
    ASSERT_TRUE(sleepers.push(last, never));
    ASSERT_TRUE(sleepers.push(first, immediately));
    EXPECT_EQ(&sleepers.top(), &first);
    sleepers.erase(first);
    EXPECT_EQ(sleepers.next(), never);
    EXPECT_EQ(&sleepers.top(), &last);
    sleepers.erase(last);
}

// Against a multimap that does the same, with many equal deadlines and removals anywhere.
void compare(unsigned seed, std::size_t most, long range) {
    SCOPED_TRACE(seed);
    std::mt19937 random{seed};
    heap sleepers;
    std::multimap<time_point, node*> reference;
    std::vector<node> nodes(most);
    std::vector<node*> free;
    std::vector<node*> inside;
    for (node& each : nodes) free.push_back(&each);
    bool growing = true;
    for (int step = 0; step != 20'000; ++step) {
        if (free.empty()) growing = false;
        if (inside.empty()) growing = true;
        if (!free.empty() && random() % 4 < (growing ? 3U : 1U)) {
            node* const added = free.back();
            free.pop_back();
            inside.push_back(added);
            added->deadline =
                time_point{} + std::chrono::nanoseconds{static_cast<long>(random()) % range};
            ASSERT_TRUE(sleepers.push(*added, added->deadline));
            reference.emplace(added->deadline, added);
        } else if (!inside.empty()) {
            const bool top = random() % 2 == 0;
            node* const gone = top ? &sleepers.top() : inside[random() % inside.size()];
            sleepers.erase(*gone);
            std::erase(inside, gone);
            free.push_back(gone);
            const auto [from, to] = reference.equal_range(gone->deadline);
            reference.erase(
                std::find_if(from, to, [&](auto& each) { return each.second == gone; }));
        }
        ASSERT_EQ(sleepers.size(), reference.size());
        ASSERT_EQ(sleepers.next(), reference.empty() ? never : reference.begin()->first);
        if (!inside.empty()) {
            ASSERT_EQ(sleepers.top().deadline, sleepers.next());
        }
    }
    std::set<node*> visited;
    sleepers.for_each([&](node& each) { EXPECT_TRUE(visited.insert(&each).second); });
    EXPECT_EQ(visited, (std::set<node*>{inside.begin(), inside.end()}));
}

TEST(DeadlineHeap, DoesWhatAMultimapDoes) {
    for (unsigned seed = 1; seed != 5; ++seed) {
        compare(seed, 5, 3);
        compare(seed, 50, 10);
        compare(seed, 3'000, 1'000'000);
    }
}

TEST(DeadlineHeap, KnowsThePlaceOfEveryNode) {
    heap sleepers;
    std::vector<node> nodes(2'000);
    std::mt19937 random{7};
    for (node& each : nodes)
        ASSERT_TRUE(sleepers.push(each, time_point{} + 1ns * static_cast<long>(random() % 500)));
    std::set<std::int32_t> indices;
    for (const node& each : nodes) indices.insert(each.index);
    EXPECT_EQ(indices.size(), nodes.size());
    EXPECT_EQ(*indices.begin(), 0);
    EXPECT_EQ(*indices.rbegin(), 1'999);
    // Shrinking moves the array, not the indices.
    for (std::size_t i = 0; i != nodes.size(); ++i)
        sleepers.erase(nodes[(i * 7 + 3) % nodes.size()]);
    EXPECT_TRUE(sleepers.empty());
    ASSERT_TRUE(sleepers.push(nodes[0], never));
    EXPECT_EQ(nodes[0].index, 0);
}

}  // namespace
}  // namespace fairlead::timer::deadline_heap_tests
