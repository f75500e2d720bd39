// The forks of a worker: its owner and thieves, with every order of steps and every reading of
// memory.
#include "model/explore.hpp"

#include <fairlead/detail/lockfree/fork_deque.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <optional>
#include <vector>

namespace fairlead::lockfree::fork_deque_tests {
namespace {

using model::plain;
using model::require;
using model::thread;

// The items that are forked. The owner writes an item before the push; its taker writes it again.
class items {
public:
    static constexpr std::size_t count = 4;

    plain<int>& fill(std::size_t index) {
        payload_[index] = 1;
        return payload_[index];
    }
    void use(plain<int>* item) {
        if (item == nullptr) return;
        const auto index = static_cast<std::size_t>(item - payload_.data());
        require(index < count, "it is an item");
        require(*item == 1, "it is taken once");
        *item = 2;
        used_[index] = true;
    }
    plain<int>& operator[](std::size_t index) { return payload_[index]; }
    void check(std::size_t filled) const {
        for (std::size_t i = 0; i != filled; ++i) require(used_[i], "each is taken");
    }

private:
    std::array<plain<int>, count> payload_;
    std::array<bool, count> used_{};
};

// Pushes a fork. Returns false if there is no room: the owner then runs the fork itself.
template <std::size_t Capacity>
bool push_and_open(fork_deque<plain<int>, Capacity>& forks, items& all, std::size_t index) {
    plain<int>& item = all.fill(index);
    const bool offered = forks.push(item);
    if (!offered) all.use(&item);
    static_cast<void>(forks.open());
    return offered;
}

template <std::size_t Capacity>
void steal_some(fork_deque<plain<int>, Capacity>& forks, items& all, int thefts) {
    for (int i = 0; i != thefts; ++i) all.use(forks.steal());
}

// The owner pushes the forks one by one and joins the newest first. A thief has taken each fork
// that the owner does not find.
template <std::size_t Capacity>
void owner_and_thieves(std::size_t count, std::size_t open_min, int thieves, int thefts) {
    fork_deque<plain<int>, Capacity> forks{open_min};
    items all;
    {
        const auto rob = [&] { steal_some(forks, all, thefts); };
        thread first{rob};
        std::optional<thread> second;
        if (thieves == 2) second.emplace(rob);
        std::vector<plain<int>*> offered;
        for (std::size_t i = 0; i != count; ++i) {
            if (push_and_open(forks, all, i)) offered.push_back(&all[i]);
        }
        for (; !offered.empty(); offered.pop_back()) {
            plain<int>* const newest = forks.pop();
            require(newest == nullptr || newest == offered.back(), "they are taken back in order");
            all.use(newest);
            static_cast<void>(forks.open());
        }
    }
    require(forks.empty(), "what is not stolen is taken back");
    all.check(count);
}

TEST(ModelForkDeque, OwnerAndAThief) {
    for (const std::size_t open_min : {1U, 2U}) {
        model::expect_passes([=] { owner_and_thieves<4>(2, open_min, 1, 2); });
    }
}

TEST(ModelForkDeque, TheLastOneIsTakenBackOrStolen) {
    model::expect_passes([] { owner_and_thieves<2>(1, 1, 1, 2); });
    model::expect_passes({.preemptions = 3}, [] { owner_and_thieves<2>(1, 1, 2, 1); });
}

TEST(ModelForkDeque, OwnerAndTwoThieves) {
    for (const std::size_t open_min : {1U, 2U, 3U}) {
        model::expect_passes({.preemptions = 2, .stale_reads = 1},
                             [=] { owner_and_thieves<4>(3, open_min, 2, 1); });
    }
}

TEST(ModelForkDeque, ASlotIsWrittenAgainAfterATheft) {
    model::expect_passes({.preemptions = 3, .stale_reads = 1},
                         [] { owner_and_thieves<2>(3, 2, 1, 2); });
}

TEST(ModelForkDeque, WhatWasHiddenIsOpenedAtOnce) {
    model::expect_passes({.preemptions = 3, .stale_reads = 1}, [] {
        fork_deque<plain<int>, 4> forks{0};
        items all;
        {
            thread thief{[&] { steal_some(forks, all, 2); }};
            for (std::size_t i = 0; i != 3; ++i) require(forks.push(all.fill(i)), "there is room");
            require(forks.open_all(), "all were hidden");
            while (plain<int>* const item = forks.pop()) all.use(item);
        }
        all.check(3);
    });
}

// The posts of steps with policy::stealing: the owner opens each item to thieves at once, and
// sometimes takes the oldest item, as thieves do.
TEST(ModelForkDeque, EachIsOpenedAtOnceAndTheOwnerTakesBothEnds) {
    const auto scenario = [](bool oldest_first) {
        fork_deque<plain<int>, 2> posts{0};
        items all;
        {
            thread thief{[&] { steal_some(posts, all, 1); }};
            for (std::size_t i = 0; i != 3; ++i) {
                while (!posts.push(all.fill(i))) all.use(posts.steal());
                require(posts.open_all(), "it was hidden");
                if (i == 1) all.use(oldest_first ? posts.steal() : posts.pop());
            }
            if (oldest_first) all.use(posts.steal());
            while (plain<int>* const item = posts.pop()) all.use(item);
        }
        require(posts.empty(), "what is not stolen is taken back");
        all.check(3);
    };
    for (const bool oldest_first : {true, false}) {
        model::expect_passes({.preemptions = 3, .stale_reads = 1}, [=] { scenario(oldest_first); });
    }
}

// One more thread stops the deque. The owner and the thief end when they see the stop. After that
// the stopping thread takes the remaining forks, hidden or not.
TEST(ModelForkDeque, AStopTakesWhatIsLeft) {
    const auto scenario = [](std::size_t count, std::size_t open_min) {
        fork_deque<plain<int>, 2> forks{open_min};
        items all;
        sync::atomic<bool> stopping{false};
        std::size_t filled = 0;
        {
            thread thief{[&] {
                for (int i = 0; i != 2 && !stopping.load(sync::acquire); ++i) {
                    steal_some(forks, all, 1);
                }
            }};
            thread stop{[&] { stopping.store(true, sync::release); }};
            for (; filled != count && !stopping.load(sync::acquire); ++filled) {
                static_cast<void>(push_and_open(forks, all, filled));
            }
        }
        while (plain<int>* const item = forks.pop()) all.use(item);
        all.check(filled);
    };
    model::expect_passes({.preemptions = 2, .stale_reads = 1}, [=] { scenario(2, 1); });
    model::expect_passes({.how = model::search::pct, .executions_max = 20'000, .depth = 4},
                         [=] { scenario(4, 2); });
}

TEST(ModelForkDeque, ManyThievesByPriorities) {
    for (const std::size_t open_min : {1U, 2U}) {
        model::expect_passes({.how = model::search::pct, .executions_max = 50'000, .depth = 4},
                             [=] { owner_and_thieves<2>(4, open_min, 2, 3); });
    }
}

}  // namespace
}  // namespace fairlead::lockfree::fork_deque_tests
