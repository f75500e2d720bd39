#include <fairlead/detail/base/chain.hpp>

#include <gtest/gtest.h>

#include <vector>

namespace fairlead::base::chain_tests {
namespace {

struct node {
    int value = 0;
    node* next = nullptr;
};
using nodes = chain<node, &node::next>;

std::vector<int> empty_out(nodes& from) {
    std::vector<int> values;
    while (node* const each = from.pop_front()) values.push_back(each->value);
    return values;
}

TEST(Chain, IsEmptyAtFirst) {
    nodes none;
    EXPECT_TRUE(none.empty());
    EXPECT_EQ(none.size(), 0U);
    EXPECT_EQ(none.front(), nullptr);
    EXPECT_EQ(none.back(), nullptr);
    EXPECT_EQ(none.pop_front(), nullptr);
}

TEST(Chain, GivesNodesBackInTheOrderOfPushes) {
    node all[3] = {{1}, {2}, {3}};
    nodes line;
    for (node& each : all) line.push_back(each);
    EXPECT_EQ(line.size(), 3U);
    EXPECT_EQ(line.front(), &all[0]);
    EXPECT_EQ(line.back(), &all[2]);
    EXPECT_EQ(empty_out(line), (std::vector{1, 2, 3}));
    EXPECT_TRUE(line.empty());
    EXPECT_EQ(line.back(), nullptr);
}

TEST(Chain, UnlinksWhatItGivesBack) {
    node all[2] = {{1}, {2}};
    nodes line;
    for (node& each : all) line.push_back(each);
    EXPECT_EQ(line.pop_front()->next, nullptr);
}

TEST(Chain, PushForgetsTheOldLinkOfANode) {
    node stale{9};
    node one{1, &stale};
    nodes line;
    line.push_back(one);
    EXPECT_EQ(empty_out(line), (std::vector{1}));
}

TEST(Chain, IsUsableAgainAfterItWasEmptied) {
    node all[2] = {{1}, {2}};
    nodes line;
    line.push_back(all[0]);
    static_cast<void>(line.pop_front());
    line.push_back(all[1]);
    EXPECT_EQ(line.size(), 1U);
    EXPECT_EQ(empty_out(line), (std::vector{2}));
}

TEST(Chain, AppendKeepsOrderAndEmptiesTheOther) {
    node all[5] = {{1}, {2}, {3}, {4}, {5}};
    nodes first;
    nodes second;
    first.append(std::move(second));  // nothing to nothing
    EXPECT_TRUE(first.empty());
    second.push_back(all[0]);
    second.push_back(all[1]);
    first.append(std::move(second));  // to nothing
    EXPECT_TRUE(second.empty());
    EXPECT_EQ(second.size(), 0U);
    second.push_back(all[2]);
    first.append(std::move(second));
    first.append(nodes{});
    first.push_back(all[3]);  // the tail is that of the appended one
    EXPECT_EQ(first.size(), 4U);
    EXPECT_EQ(empty_out(first), (std::vector{1, 2, 3, 4}));
}

TEST(Chain, AdoptsLinkedNodes) {
    node last{2};
    node first{1, &last};
    nodes line{&first, &last, 2};
    node more{3};
    line.push_back(more);
    EXPECT_EQ(line.size(), 3U);
    EXPECT_EQ(empty_out(line), (std::vector{1, 2, 3}));
}

TEST(Chain, TheNodeBehindAnyOtherCanBeTakenOut) {
    node all[3] = {{1}, {2}, {3}};
    nodes line;
    for (node& each : all) line.push_back(each);
    EXPECT_EQ(line.pop_behind(&all[0]), &all[1]);
    EXPECT_EQ(line.pop_behind(&all[0]), &all[2]);
    EXPECT_EQ(line.back(), &all[0]);
    line.push_back(all[2]);
    EXPECT_EQ(line.pop_behind(nullptr), &all[0]);
    EXPECT_EQ(line.size(), 1U);
    EXPECT_EQ(empty_out(line), (std::vector{3}));
}

}  // namespace
}  // namespace fairlead::base::chain_tests
