#include "savegames/bounded_queue.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace savegames {
namespace {

using names = std::vector<std::string>;

grant push(bounded_queue<std::string>& queue, const std::string& game, std::string item,
           std::size_t bytes = 0) {
    return queue.push(game, item, bytes);
}

std::size_t fill(bounded_queue<std::string>& queue, const std::string& game) {
    std::size_t pushed = 0;
    while (push(queue, game, game) == grant::granted) ++pushed;
    return pushed;
}

TEST(bounded_queue, of_one_game_is_in_order) {
    bounded_queue<std::string> queue{{.items_max = 10, .bytes_max = 100}};
    for (const char* const item : {"1", "2", "3"}) {
        EXPECT_EQ(push(queue, "chess", item), grant::granted);
    }
    EXPECT_EQ(queue.take(2, 100), (names{"1", "2"}));
    EXPECT_EQ(push(queue, "chess", "4"), grant::granted);
    EXPECT_EQ(queue.take(5, 100), (names{"3", "4"}));
}

TEST(bounded_queue, games_have_their_turn) {
    bounded_queue<std::string> queue{{.items_max = 100, .bytes_max = 100}};
    for (const char* const item : {"n1", "n2", "n3", "n4", "n5"}) {
        EXPECT_EQ(push(queue, "noisy", item), grant::granted);
    }
    EXPECT_EQ(push(queue, "quiet", "q1"), grant::granted);
    EXPECT_EQ(push(queue, "quiet", "q2"), grant::granted);
    EXPECT_EQ(push(queue, "also quiet", "a1"), grant::granted);
    EXPECT_EQ(queue.take(5, 100), (names{"a1", "n1", "q1", "n2", "q2"}));
    EXPECT_EQ(push(queue, "also quiet", "a2"), grant::granted);
    EXPECT_EQ(queue.take(5, 100), (names{"a2", "n3", "n4", "n5"}));
    EXPECT_EQ(queue.size(), 0U);
}

TEST(bounded_queue, a_noisy_game_does_not_fill_it_for_others) {
    bounded_queue<std::string> queue{{.items_max = 900, .bytes_max = 100}};
    EXPECT_NEAR(static_cast<double>(fill(queue, "noisy")), 800, 8);
    EXPECT_EQ(push(queue, "noisy", "x"), grant::over_share);
    EXPECT_EQ(push(queue, "quiet", "q"), grant::granted);
    EXPECT_EQ(push(queue, "noisy", "x"), grant::over_share);
    EXPECT_EQ(queue.take(2, 100), (names{"noisy", "q"}));
}

TEST(bounded_queue, nor_its_bytes) {
    bounded_queue<std::string> queue{{.items_max = 900, .bytes_max = 900}};
    std::size_t noise = 0;
    while (push(queue, "noisy", "n", 10) == grant::granted) noise += 10;
    EXPECT_NEAR(static_cast<double>(noise), 800, 10);
    EXPECT_EQ(push(queue, "noisy", "n", 10), grant::over_share);
    EXPECT_EQ(push(queue, "quiet", "q", 50), grant::granted);
    EXPECT_EQ(push(queue, "quiet", "q", 900), grant::exhausted);
}

TEST(bounded_queue, a_full_one_refuses_everybody) {
    bounded_queue<std::string> queue{{.items_max = 3, .bytes_max = 100}};
    EXPECT_EQ(fill(queue, "chess"), 3U);
    EXPECT_EQ(push(queue, "chess", "x"), grant::exhausted);
    EXPECT_EQ(push(queue, "go", "x"), grant::exhausted);
}

TEST(bounded_queue, one_item_fits_an_empty_one) {
    bounded_queue<std::string> queue{{.items_max = 3, .bytes_max = 100}};
    EXPECT_EQ(push(queue, "chess", "large", 1'000), grant::granted);
    EXPECT_EQ(push(queue, "go", "small", 1), grant::exhausted);
    EXPECT_EQ(queue.take(5, 10), names{"large"});
    EXPECT_EQ(push(queue, "go", "small", 1), grant::granted);
}

TEST(bounded_queue, what_is_refused_is_untouched) {
    bounded_queue<std::unique_ptr<int>> queue{{.items_max = 1, .bytes_max = 100}};
    auto first = std::make_unique<int>(1);
    auto second = std::make_unique<int>(2);
    EXPECT_EQ(queue.push("chess", first, 0), grant::granted);
    EXPECT_EQ(queue.push("chess", second, 0), grant::exhausted);
    EXPECT_EQ(first, nullptr);
    ASSERT_NE(second, nullptr);
    queue.close();
    EXPECT_EQ(queue.push("go", second, 0), grant::exhausted);
    ASSERT_NE(second, nullptr);
    EXPECT_EQ(queue.take(1, 1).size(), 1U);
    EXPECT_TRUE(queue.take(1, 1).empty());
}

}  // namespace
}  // namespace savegames
