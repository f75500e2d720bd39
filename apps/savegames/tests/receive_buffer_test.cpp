// Tests the size of a buffer, and that it keeps its bytes while it grows.
#include "savegames/receive_buffer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

namespace savegames {
namespace {

class receive_buffer_test : public testing::Test {
protected:
    // Makes one read of at most `size` bytes, and returns how many were read.
    std::size_t read(receive_buffer& buffer, std::size_t size, char what = 'x') {
        EXPECT_TRUE(buffer.make_room());
        const std::size_t taken = std::min(size, buffer.room().size());
        std::ranges::fill(buffer.room().first(taken), static_cast<std::byte>(what));
        buffer.add(taken);
        return taken;
    }

    static std::string text(const receive_buffer& buffer) {
        const auto content = buffer.content();
        return {reinterpret_cast<const char*>(content.data()), content.size()};
    }

    budget memory{receive_buffer::size_min * 3, 0};
    budget::account owner;
};

TEST_F(receive_buffer_test, grows_only_for_what_comes_fast) {
    receive_buffer buffer{memory, owner};
    for (int i = 0; i != 100; ++i) {
        EXPECT_EQ(read(buffer, 1000), 1000U);
        buffer.remove(1000);
    }
    EXPECT_EQ(buffer.size(), receive_buffer::size_min);
    buffer.remove(read(buffer, receive_buffer::size_min));
    EXPECT_EQ(read(buffer, SIZE_MAX), 2 * receive_buffer::size_min);
    EXPECT_EQ(memory.used(), 2 * receive_buffer::size_min);
}

TEST_F(receive_buffer_test, does_not_grow_for_speed_beyond_the_budget) {
    receive_buffer buffer{memory, owner};
    for (int i = 0; i != 4; ++i) buffer.remove(read(buffer, SIZE_MAX));
    EXPECT_EQ(buffer.size(), 2 * receive_buffer::size_min);
    EXPECT_EQ(memory.used(), buffer.size());
}

TEST_F(receive_buffer_test, keeps_what_is_not_parsed) {
    receive_buffer buffer{memory, owner};
    read(buffer, receive_buffer::size_min - 1, 'a');
    buffer.remove(receive_buffer::size_min - 3);
    read(buffer, 3, 'b');
    EXPECT_EQ(text(buffer), "aabbb");
    EXPECT_EQ(buffer.size(), receive_buffer::size_min);
}

TEST_F(receive_buffer_test, a_part_that_is_too_long_has_no_room) {
    receive_buffer buffer{memory, owner};
    std::size_t size = 0;
    while (size < receive_buffer::size_max) size += read(buffer, SIZE_MAX);
    EXPECT_FALSE(buffer.make_room());
    EXPECT_EQ(memory.used(), receive_buffer::size_max);
    buffer.shrink();
    EXPECT_TRUE(buffer.empty());
    EXPECT_EQ(buffer.size(), receive_buffer::size_min);
    EXPECT_EQ(memory.used(), receive_buffer::size_min);
}

}  // namespace
}  // namespace savegames
