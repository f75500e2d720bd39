#include "savegames/bounded_queue.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace savegames::bounded_queue_tests {
namespace {

using names = std::vector<std::string>;

grant push(bounded_queue<std::string>& queue, const std::string& game, std::string item,
           std::size_t bytes = 0) {
    return queue.push(game, item, bytes);
}

template <class T>
std::vector<T> take(bounded_queue<T>& queue, std::size_t count_max, std::size_t bytes_max) {
    std::vector<T> taken;
    taken.reserve(count_max);
    queue.take(taken, count_max, bytes_max);
    return taken;
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
    EXPECT_EQ(take(queue, 2, 100), (names{"1", "2"}));
    EXPECT_EQ(push(queue, "chess", "4"), grant::granted);
    EXPECT_EQ(take(queue, 5, 100), (names{"3", "4"}));
}

TEST(bounded_queue, games_have_their_turn) {
    bounded_queue<std::string> queue{{.items_max = 100, .bytes_max = 100}};
    for (const char* const item : {"n1", "n2", "n3", "n4", "n5"}) {
        EXPECT_EQ(push(queue, "noisy", item), grant::granted);
    }
    EXPECT_EQ(push(queue, "quiet", "q1"), grant::granted);
    EXPECT_EQ(push(queue, "quiet", "q2"), grant::granted);
    EXPECT_EQ(push(queue, "also quiet", "a1"), grant::granted);
    EXPECT_EQ(take(queue, 5, 100), (names{"a1", "n1", "q1", "n2", "q2"}));
    EXPECT_EQ(push(queue, "also quiet", "a2"), grant::granted);
    EXPECT_EQ(take(queue, 5, 100), (names{"a2", "n3", "n4", "n5"}));
    EXPECT_EQ(queue.size(), 0U);
}

TEST(bounded_queue, a_noisy_game_does_not_fill_it_for_others) {
    bounded_queue<std::string> queue{{.items_max = 900, .bytes_max = 100}};
    EXPECT_NEAR(static_cast<double>(fill(queue, "noisy")), 800, 8);
    EXPECT_EQ(push(queue, "noisy", "x"), grant::over_share);
    EXPECT_EQ(push(queue, "quiet", "q"), grant::granted);
    EXPECT_EQ(push(queue, "noisy", "x"), grant::over_share);
    EXPECT_EQ(take(queue, 2, 100), (names{"noisy", "q"}));
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
    EXPECT_EQ(take(queue, 5, 10), names{"large"});
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
    EXPECT_EQ(take(queue, 1, 1).size(), 1U);
    EXPECT_TRUE(take(queue, 1, 1).empty());
}

// An item that calls a function when it is moved.
struct eventful {
    std::function<void()> on_move;

    explicit eventful(std::function<void()> event) : on_move{std::move(event)} {}
    eventful(eventful&& other) noexcept : on_move{std::move(other.on_move)} {
        if (on_move) on_move();
    }
    eventful& operator=(eventful&& other) noexcept = default;
};

// The kernel may stop a thread while the thread moves an item out of the queue, and workers must be
// able to push meanwhile. If the queue moved items under its mutex, this test would not end.
TEST(bounded_queue, a_taker_keeps_no_pusher_waiting) {
    bounded_queue<eventful> queue{{.items_max = 10, .bytes_max = 100}};
    bool taking = false;
    eventful first{[&] {
        if (!std::exchange(taking, false)) return;
        std::jthread{[&] {
            eventful second{{}};
            EXPECT_EQ(queue.push("chess", second, 0), grant::granted);
        }}.join();
    }};
    ASSERT_EQ(queue.push("chess", first, 0), grant::granted);
    taking = true;
    EXPECT_EQ(take(queue, 1, 1).size(), 1U);
    EXPECT_FALSE(taking);
    EXPECT_EQ(queue.size(), 1U);
}

// The same while a thread moves an item into the queue.
TEST(bounded_queue, a_pusher_keeps_no_pusher_waiting) {
    bounded_queue<eventful> queue{{.items_max = 10, .bytes_max = 100}};
    bool pushing = true;
    eventful first{[&] {
        if (!std::exchange(pushing, false)) return;
        std::jthread{[&] {
            eventful second{{}};
            EXPECT_EQ(queue.push("chess", second, 0), grant::granted);
        }}.join();
    }};
    ASSERT_EQ(queue.push("chess", first, 0), grant::granted);
    EXPECT_FALSE(pushing);
    EXPECT_EQ(queue.size(), 2U);
}

TEST(bounded_queue, loses_nothing_between_threads) {
    constexpr int each = 2'000;
    bounded_queue<int> queue{{.items_max = 64, .bytes_max = 100}};
    std::array<int, 3> granted{};  // items of each pusher that the queue took
    std::array<int, 2> taken{};    // items that each taker took
    {
        std::vector<std::jthread> takers;
        for (int& count : taken) {
            takers.emplace_back([&] {
                while (const std::size_t got = take(queue, 3, 100).size()) {
                    count += static_cast<int>(got);
                }
            });
        }
        {
            std::vector<std::jthread> pushers;
            for (int& count : granted) {
                pushers.emplace_back([&, game = "game" + std::to_string(&count - granted.data())] {
                    for (int item = 0, pushed = 0; pushed != each; ++pushed, item = pushed) {
                        count += queue.push(game, item, 0) == grant::granted ? 1 : 0;
                    }
                });
            }
        }
        queue.close();
    }
    EXPECT_GT(std::accumulate(granted.begin(), granted.end(), 0), 0);
    EXPECT_EQ(std::accumulate(taken.begin(), taken.end(), 0),
              std::accumulate(granted.begin(), granted.end(), 0));
}

}  // namespace
}  // namespace savegames::bounded_queue_tests
