#include "savegames/codec.hpp"

#include <gtest/gtest.h>

#include <string>

namespace savegames::codec_tests {
namespace {

constexpr std::size_t no_limit = std::size_t{1} << 30;

TEST(codec, round_trip) {
    for (const std::size_t size : {0U, 1U, 1000U, 3'000'000U}) {
        const std::string text(size, 'x');
        const auto stored = pack(text);
        ASSERT_TRUE(stored.has_value());
        EXPECT_EQ(stored->size, size);
        EXPECT_EQ(stored->checksum, checksum(text));
        EXPECT_EQ(unpack(*stored, no_limit).value(), text);
    }
}

TEST(codec, checksum_is_xxh3) {
    // The reference value of XXH3_64bits for an empty input.
    EXPECT_EQ(checksum(""), 0x2d06800538d394c2U);
    EXPECT_EQ(checksum_text(0x2d06800538d394c2U), "2d06800538d394c2");
    EXPECT_EQ(checksum_text(1), "0000000000000001");
}

TEST(codec, limit_holds_before_anything_is_decompressed) {
    const save stored = pack(std::string(1'000'000, 'x')).value();
    EXPECT_LT(stored.data.size(), 1000U);
    EXPECT_EQ(unpack(stored, 999'999).error().code, error::too_large);
    EXPECT_TRUE(unpack(stored, 1'000'000).has_value());
}

TEST(codec, bomb_that_lies_about_its_size_is_corrupt) {
    save bomb = pack(std::string(100'000'000, 'x')).value();
    bomb.size = 100;  // less than the frame holds
    EXPECT_EQ(unpack(bomb, 1000).error().code, error::corrupt);
}

TEST(codec, second_frame_cannot_overflow) {
    save stored = pack("hello").value();
    stored.data += pack(std::string(100'000, 'x')).value().data;
    EXPECT_EQ(unpack(stored, 1000).error().code, error::corrupt);
}

TEST(codec, every_damage_is_noticed) {
    const save good = pack(R"({"level":12,"items":["sword","rope","rope"]})").value();
    for (std::size_t at = 0; at < good.data.size(); ++at) {
        save damaged = good;
        damaged.data[at] = static_cast<char>(damaged.data[at] ^ 0x10);
        const auto text = unpack(damaged, no_limit);
        if (text) {
            EXPECT_EQ(checksum(*text), good.checksum) << at;  // the frame does not use this bit
        } else {
            EXPECT_EQ(text.error().code, error::corrupt) << at;
        }
        save cut = good;
        cut.data.resize(at);
        EXPECT_EQ(unpack(cut, no_limit).error().code, error::corrupt) << at;
    }
    save wrong_sum = good;
    ++wrong_sum.checksum;
    EXPECT_EQ(unpack(wrong_sum, no_limit).error().code, error::corrupt);
}

}  // namespace
}  // namespace savegames::codec_tests
