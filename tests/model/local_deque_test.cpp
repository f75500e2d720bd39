// The posts of a worker's steps with policy::stealing: its owner and thieves, while the array is
// full, chunks leave it, and chunks go back.
#include "sched/entry/local_deque.hpp"

#include "model/explore.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <optional>

namespace fairlead::sched {
namespace {

using model::plain;
using model::require;
using model::thread;

struct post {
    post* next = nullptr;
    plain<int> state{0};  // 1: posted, 2: taken
};

// An array of two: a chunk has one post.
using deque = local_deque<post, &post::next, 2>;

template <std::size_t Count>
class posts {
public:
    template <class Deque>
    void push(Deque& to, std::size_t index) {
        all_[index].state = 1;
        require(to.push(all_[index]), "there is memory");
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

void owner_and_thieves(int thieves, int thefts) {
    deque shared;
    posts<4> all;
    {
        const auto rob = [&] {
            for (int i = 0; i != thefts; ++i) all.take(shared.steal(1));
        };
        thread first{rob};
        std::optional<thread> second;
        if (thieves == 2) second.emplace(rob);
        for (std::size_t i = 0; i != 4; ++i) all.push(shared, i);
        while (post* const each = newest_of(shared)) all.take(each);
    }
    require(shared.empty(), "what is not stolen is taken back");
    all.check();
}

TEST(ModelLocalDeque, OwnerAndAThief) {
    model::expect_passes({.preemptions = 3, .stale_reads = 1}, [] { owner_and_thieves(1, 2); });
}

TEST(ModelLocalDeque, OwnerAndTwoThieves) {
    model::expect_passes({.preemptions = 2, .stale_reads = 1}, [] { owner_and_thieves(2, 1); });
}

// While posts move to a chunk and back another worker may miss them; then it is seen asleep.
TEST(ModelLocalDeque, WhoSleepsWhilePostsMoveIsWoken) {
    model::expect_passes({.preemptions = 3, .stale_reads = 1}, [] {
        local_deque<post, &post::next, 4> shared;
        posts<5> all;
        sync::atomic<bool> asleep{false};
        bool sleeps = false;
        bool is_woken = false;
        const auto wake = [&] { is_woken |= asleep.load(sync::seq_cst); };
        for (std::size_t i = 0; i != 4; ++i) all.push(shared, i);
        {
            thread other{[&] {
                asleep.exchange(true, sync::seq_cst);
                sleeps = shared.empty();
            }};
            all.push(shared, 4);  // the oldest two leave the array
            wake();
            for (int i = 0; i != 3; ++i) all.take(shared.pop());
            require(shared.pop() == nullptr, "the array is empty");
            all.take(shared.take_back());  // they come back, and the oldest one stays
            wake();
        }
        require(!sleeps || is_woken, "it sees the oldest, or is seen");
        require(!shared.empty(), "the oldest is there");
        all.take(shared.pop());
        all.check();
    });
}

}  // namespace
}  // namespace fairlead::sched
