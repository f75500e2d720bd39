#include <fairlead/detail/base/delegate.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <utility>

namespace fairlead::base::delegate_tests {
namespace {

using adder = delegate<int(int), 24>;

int twice(int value) { return 2 * value; }

TEST(Delegate, IsEmptyAtFirst) { EXPECT_FALSE(static_cast<bool>(adder{})); }

TEST(Delegate, CallsWhatItHolds) {
    int offset = 5;
    adder add = [&offset](int value) { return value + offset; };
    ASSERT_TRUE(static_cast<bool>(add));
    EXPECT_EQ(add(1), 6);
    offset = 7;
    EXPECT_EQ(add(1), 8);
}

TEST(Delegate, HoldsFunctionPointers) {
    adder call = &twice;
    EXPECT_EQ(call(4), 8);
}

TEST(Delegate, FillsItsCapacity) {
    struct {
        long a = 1, b = 2, c = 3;
        int operator()(int value) const { return static_cast<int>(a + b + c) + value; }
    } large;
    static_assert(sizeof(large) == 24);
    adder call = large;
    EXPECT_EQ(call(0), 6);
}

TEST(Delegate, CopiesAreIndependent) {
    adder count = [calls = 0](int) mutable { return ++calls; };
    adder other = count;
    EXPECT_EQ(count(0), 1);
    EXPECT_EQ(count(0), 2);
    EXPECT_EQ(other(0), 1);
    other = [](int) { return 9; };
    EXPECT_EQ(other(0), 9);
    EXPECT_EQ(count(0), 3);
}

TEST(Delegate, PassesReferencesAndMovesThrough) {
    delegate<void(int&), 8> raise = [](int& value) { ++value; };
    int value = 1;
    raise(value);
    EXPECT_EQ(value, 2);

    delegate<int(std::unique_ptr<int>), 8> consume = [](std::unique_ptr<int> p) { return *p; };
    EXPECT_EQ(consume(std::make_unique<int>(3)), 3);
}

TEST(Delegate, RefusesWhatCannotBeCalledSo) {
    static_assert(!std::is_constructible_v<adder, int (*)()>);
    static_assert(!std::is_constructible_v<adder, int>);
    static_assert(std::is_trivially_copyable_v<adder>);
}

}  // namespace
}  // namespace fairlead::base::delegate_tests
