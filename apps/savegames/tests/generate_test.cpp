#include "savegames/generate.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "savegames/codec.hpp"
#include "savegames/patch.hpp"

namespace savegames::generate_tests {
namespace {

TEST(save_generator, saves_have_the_wanted_size_and_compress_like_real_ones) {
    save_generator generate{1};
    for (const std::size_t size : {1'000U, 1'200U, 3'000U, 8'000U, 30'000U, 300'000U, 2'000'000U}) {
        const std::string text = generate.make_save(size);
        ASSERT_TRUE(check_json(text, {}).has_value()) << text.substr(0, 2000);
        EXPECT_LE(text.size(), size + 300);
        EXPECT_GE(text.size() + 150, size);
        const double ratio =
            static_cast<double>(text.size()) / static_cast<double>(pack(text)->data.size());
        if (size >= 8'000) {
            EXPECT_GE(ratio, 3) << size;
            EXPECT_LE(ratio, 8) << size;
        }
        RecordProperty("ratio_" + std::to_string(size), std::to_string(ratio));
    }
    EXPECT_TRUE(check_json(generate.make_save(0), {}).has_value());
}

TEST(save_generator, same_seed_same_bytes) {
    save_generator a{7};
    save_generator b{7};
    save_generator other{8};
    EXPECT_EQ(a.make_save(5000), b.make_save(5000));
    EXPECT_EQ(a.make_patch(), b.make_patch());
    EXPECT_EQ(a.draw_size({}), b.draw_size({}));
    EXPECT_NE(a.make_save(5000), other.make_save(5000));
    // The exact bytes are promised, so that a recorded run can be repeated on any machine.
    save_generator fixed{42};
    EXPECT_EQ(checksum_text(checksum(fixed.make_save(2000))), "3d7e9a710efbebc0");
}

TEST(save_generator, patches_apply_and_change_the_save) {
    save_generator generate{3};
    std::string text = generate.make_save(20'000);
    for (int i = 0; i < 200; ++i) {
        const std::string patch = generate.make_patch();
        EXPECT_GE(patch.size(), 100U);
        EXPECT_LE(patch.size(), 600U);
        const auto patched = apply_merge_patch(text, patch, {});
        ASSERT_TRUE(patched.has_value()) << patch;
        EXPECT_NE(*patched, text);
        text = *patched;
    }
}

TEST(save_generator, sizes_are_log_normal) {
    save_generator generate{4};
    const size_distribution sizes;
    std::vector<std::size_t> drawn;
    for (int i = 0; i < 10'001; ++i) drawn.push_back(generate.draw_size(sizes));
    std::ranges::sort(drawn);
    EXPECT_GE(drawn.front(), sizes.size_min);
    EXPECT_LE(drawn.back(), sizes.size_max);
    EXPECT_NEAR(static_cast<double>(drawn[5000]), sizes.median, 0.06 * sizes.median);
    EXPECT_NEAR(static_cast<double>(drawn[1000]), 6'500, 1'000);
    EXPECT_NEAR(static_cast<double>(drawn[9000]), 138'000, 14'000);
}

}  // namespace
}  // namespace savegames::generate_tests
