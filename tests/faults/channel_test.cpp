// An unbounded channel without memory for another block.
#include "faults/faults.hpp"

#include <fairlead/channel/channel.hpp>
#include <fairlead/coro/spawn.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

namespace fairlead::test::channel_tests {
namespace {

constexpr fault no_memory{};
using value = std::unique_ptr<int>;

TEST(channel_allocations, values_that_there_is_no_memory_for_stay_with_their_sender) {
    channel<value> one{channel<value>::unbounded};
    auto place = one.try_reserve();
    ASSERT_TRUE(place);
    std::array<value, 100> values;
    for (int i = 0; i != 100; ++i) values[static_cast<std::size_t>(i)] = std::make_unique<int>(i);
    {
        const armed plan{no_memory, call_range::from(3)};
        EXPECT_EQ(one.try_send_many(values), 64U) << "two blocks";
        EXPECT_THROW(one.try_send_many(std::span{values}.subspan(64)), std::bad_alloc);
        EXPECT_THROW(one.try_send(std::move(values[64])), std::bad_alloc);
        EXPECT_THROW(std::move(*place).send(std::move(values[64])), std::bad_alloc);
        EXPECT_TRUE(plan.hit());
    }
    EXPECT_TRUE(*place) << "the place stays";
    EXPECT_EQ(one.length(), 64U);
    for (int i = 64; i != 100; ++i) EXPECT_EQ(*values[static_cast<std::size_t>(i)], i);
    EXPECT_TRUE(std::move(*place).send(std::move(values[64])));
    EXPECT_EQ(one.try_send_many(std::span{values}.subspan(65)), 35U);
    one.close();
    for (int i = 0; i != 100; ++i) EXPECT_EQ(**one.try_receive(), i);
    EXPECT_EQ(one.try_receive().error(), wait_error::closed);
}

TEST(channel_allocations, a_task_whose_send_has_no_memory_goes_on) {
    channel<value> one{channel<value>::unbounded};
    scheduler home{{.run_on_caller = true}};
    bool failed = false;
    const auto sends = [&]() -> task<> {
        value mine = std::make_unique<int>(5);
        try {
            const armed plan{no_memory, call_range::from(1)};
            static_cast<void>(co_await one.send(std::move(mine)));
        } catch (const std::bad_alloc&) {
            failed = true;
        }
        EXPECT_EQ(*mine, 5);
        EXPECT_TRUE(co_await one.send(std::move(mine)));
    };
    spawn(home, sends()).get();
    EXPECT_TRUE(failed);
    EXPECT_EQ(**one.try_receive(), 5);
}

// A bounded channel has all its blocks from the beginning, wherever its elements begin.
TEST(channel_allocations, a_bounded_channel_needs_no_memory_after_its_beginning) {
    for (const std::size_t capacity : {1U, 2U, 3U, 31U, 32U, 33U, 34U, 64U, 65U, 70U}) {
        channel<int> one{capacity};
        const armed plan{no_memory, call_range::from(1)};
        // It stays full, and its first element wanders through a block.
        for (std::size_t i = 0; i != capacity; ++i) ASSERT_TRUE(one.try_send(1));
        for (int round = 0; round != 70; ++round) {
            ASSERT_TRUE(one.try_receive());
            ASSERT_TRUE(one.try_send(1));
        }
        EXPECT_FALSE(plan.hit()) << capacity;
    }
}

TEST(channel_allocations, an_unbounded_channel_frees_what_was_read) {
    channel<int> one{channel<int>::unbounded};
    EXPECT_TRUE(one.try_send(0));
    EXPECT_TRUE(one.try_receive());
    const std::int64_t before = live_allocations();
    for (int i = 0; i != 1000; ++i) EXPECT_TRUE(one.try_send(int{i}));
    for (int i = 0; i != 1000; ++i) EXPECT_TRUE(one.try_receive());
    EXPECT_LE(live_allocations(), before + 1) << "it keeps one block beside the last";
}

// A receive that waits has been granted the first value when the memory for the next one runs out.
TEST(channel_allocations, a_grant_is_told_though_there_is_no_memory_for_the_next_value) {
    channel<int> one{channel<int>::unbounded};
    scheduler home{{.run_on_caller = true}};
    std::array<int, 1> got{};
    const auto takes = [&]() -> task<> { EXPECT_EQ(co_await one.receive_many(got), 1U); };
    auto receiver = spawn(home, takes());
    home.run_until_idle();
    std::array<int, 2> values{7, 8};
    {
        const armed plan{no_memory, call_range::from(1)};
        EXPECT_EQ(one.try_send_many(values), 1U);
        EXPECT_TRUE(plan.hit());
    }
    std::move(receiver).get();
    EXPECT_EQ(got[0], 7);
    EXPECT_EQ(one.length(), 0U);
}

}  // namespace
}  // namespace fairlead::test::channel_tests
