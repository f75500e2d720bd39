#include <fairlead/detail/base/list.hpp>

#include <gtest/gtest.h>

#include <vector>

namespace fairlead::base::list_tests {
namespace {

struct node {
    int value = 0;
    list_links<node> links;
};
using nodes = list<node, &node::links>;

std::vector<int> values_of(const nodes& of) {
    std::vector<int> values;
    for (const node* at = of.front(); at != nullptr; at = nodes::next(*at)) {
        values.push_back(at->value);
    }
    EXPECT_EQ(values.size(), of.size());
    return values;
}

TEST(List, IsEmptyAtFirst) {
    nodes none;
    EXPECT_TRUE(none.empty());
    EXPECT_EQ(none.front(), nullptr);
    EXPECT_EQ(none.pop_front(), nullptr);
}

TEST(List, GivesNodesBackInTheOrderOfPushes) {
    node all[3] = {{1, {}}, {2, {}}, {3, {}}};
    nodes line;
    for (node& each : all) line.push_back(each);
    EXPECT_EQ(values_of(line), (std::vector{1, 2, 3}));
    for (node& each : all) {
        EXPECT_TRUE(nodes::has(each));
        EXPECT_EQ(line.pop_front(), &each);
        EXPECT_FALSE(nodes::has(each));
    }
    EXPECT_TRUE(line.empty());
}

TEST(List, AnyNodeCanBeTakenOut) {
    for (int out = 0; out != 3; ++out) {
        node all[3] = {{0, {}}, {1, {}}, {2, {}}};
        nodes line;
        for (node& each : all) line.push_back(each);
        line.erase(all[out]);
        EXPECT_FALSE(nodes::has(all[out]));
        std::vector wanted{0, 1, 2};
        wanted.erase(wanted.begin() + out);
        EXPECT_EQ(values_of(line), wanted);
        line.push_back(all[out]);
        wanted.push_back(out);
        EXPECT_EQ(values_of(line), wanted);
        for (node& each : all) line.erase(each);
        EXPECT_TRUE(line.empty());
    }
}

}  // namespace
}  // namespace fairlead::base::list_tests
