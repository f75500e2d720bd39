// The posts of a worker's steps with policy::stealing: its owner and thieves, while the array is
// full, chunks leave it, and chunks go back.
#include "sched/entry/local_deque.hpp"

#include "model/explore.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <optional>

namespace fairlead::sched::local_deque_tests {
namespace {

using model::plain;
using model::require;
using model::thread;

struct post {
    post* next = nullptr;
    plain<int> state{0};  // 1: posted, 2: taken
};

// A chunk has half as many posts as the array.
template <std::size_t Capacity>
using deque = local_deque<post, &post::next, Capacity>;

template <std::size_t Count>
class posts {
public:
    template <class Deque>
    void push(Deque& to, std::size_t index) {
        all_[index].state = 1;
        // While a thief is at the chunks there may be no room. Then the poster keeps the post.
        if (!to.push(all_[index])) take(&all_[index]);
    }
    void take(post* taken) {
        if (taken == nullptr) return;
        require(taken->state == 1, "it is taken once");
        taken->state = 2;
        ++taken_[static_cast<std::size_t>(taken - all_.data())];
    }
    void take(base::chain<post, &post::next> taken) {
        while (post* const each = taken.pop_front()) take(each);
    }
    void check() const {
        for (const int each : taken_) require(each == 1, "each is taken");
    }

private:
    std::array<post, Count> all_;
    std::array<int, Count> taken_{};
};

template <class Deque>
post* newest_of(Deque& posts) {
    post* const newest = posts.pop();
    return newest != nullptr ? newest : posts.take_back();
}

// Each thief steals so often, at most so many posts at once.
struct robbery {
    int thieves;
    int thefts;
    std::size_t count_max;
};

template <std::size_t Capacity, std::size_t Count>
void owner_and_thieves(robbery how) {
    deque<Capacity> shared;
    posts<Count> all;
    {
        const auto rob = [&] {
            for (int i = 0; i != how.thefts; ++i) all.take(shared.steal(how.count_max));
        };
        thread first{rob};
        std::optional<thread> second;
        if (how.thieves == 2) second.emplace(rob);
        for (std::size_t i = 0; i != Count; ++i) all.push(shared, i);
        while (post* const each = newest_of(shared)) all.take(each);
    }
    require(shared.empty(), "what is not stolen is taken back");
    all.check();
}

TEST(ModelLocalDeque, OwnerAndAThief) {
    model::expect_passes({.preemptions = 3, .stale_reads = 1}, [] {
        owner_and_thieves<2, 4>({.thieves = 1, .thefts = 2, .count_max = 1});
    });
}

TEST(ModelLocalDeque, OwnerAndTwoThieves) {
    model::expect_passes({.preemptions = 2, .stale_reads = 1}, [] {
        owner_and_thieves<2, 4>({.thieves = 2, .thefts = 1, .count_max = 1});
    });
}

// The thief takes a whole chunk, a part of it, or from what comes back to the array.
TEST(ModelLocalDeque, ChunksAreTakenWholeOrInParts) {
    for (const std::size_t count_max : {1U, 2U}) {
        model::expect_passes({.preemptions = 2, .stale_reads = 1}, [=] {
            owner_and_thieves<4, 7>({.thieves = 1, .thefts = 2, .count_max = count_max});
        });
    }
}

// While `moves` moves posts, another worker goes to sleep, and may miss what is there. Then it is
// seen asleep.
template <class Moves>
void sleeps_while(deque<4>& shared, Moves moves) {
    sync::atomic<bool> asleep{false};
    bool sleeps = false;
    bool is_woken = false;
    {
        thread other{[&] {
            asleep.exchange(true, sync::seq_cst);
            sleeps = shared.empty();
        }};
        moves();
        is_woken = asleep.load(sync::seq_cst);
    }
    require(!sleeps || is_woken, "it sees the oldest, or is seen");
    require(!shared.empty(), "the oldest is there");
}

TEST(ModelLocalDeque, WhoSleepsWhilePostsMoveToAChunkIsWoken) {
    model::expect_passes({.preemptions = 2, .stale_reads = 1}, [] {
        deque<4> shared;
        posts<5> all;
        for (std::size_t i = 0; i != 4; ++i) all.push(shared, i);
        {
            // So that the chunk is all that is left.
            thread thief{[&] {
                for (int i = 0; i != 3; ++i) all.take(shared.steal(1));
            }};
            sleeps_while(shared, [&] { all.push(shared, 4); });
        }
        while (post* const each = newest_of(shared)) all.take(each);
        all.check();
    });
}

TEST(ModelLocalDeque, WhoSleepsWhileAChunkComesBackIsWoken) {
    model::expect_passes({.preemptions = 3, .stale_reads = 1}, [] {
        deque<4> shared;
        posts<5> all;
        for (std::size_t i = 0; i != 5; ++i) all.push(shared, i);
        for (int i = 0; i != 3; ++i) all.take(shared.pop());
        require(shared.pop() == nullptr, "the array is empty");
        sleeps_while(shared, [&] { all.take(shared.take_back()); });
        all.take(shared.pop());
        all.check();
    });
}

}  // namespace
}  // namespace fairlead::sched::local_deque_tests
