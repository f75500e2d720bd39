// The run queue of a slot: its owner and thieves, with every order of steps and every reading of
// memory.
#include "model/explore.hpp"

#include <fairlead/detail/lockfree/run_queue.hpp>

#include <gtest/gtest.h>

#include <array>
#include <optional>

namespace fairlead::lockfree::run_queue_tests {
namespace {

using model::plain;
using model::require;
using model::thread;

// The payloads of items. The owner writes a payload before the push; the taker writes it again.
class items {
public:
    static constexpr std::size_t count = 4;

    plain<int>* fill(std::size_t index) {
        payload_[index] = 1;
        return &payload_[index];
    }
    void use(plain<int>* item) {
        if (item == nullptr) return;
        const auto index = static_cast<std::size_t>(item - payload_.data());
        require(index < count, "it is an item");
        require(*item == 1, "it is taken once");
        *item = 2;
        used_[index] = true;
    }
    template <std::size_t Size>
    void use_all(const std::array<plain<int>*, Size>& taken, std::size_t size) {
        for (std::size_t i = 0; i != size; ++i) {
            if (i != 0) require(taken[i] > taken[i - 1], "in order");
            use(taken[i]);
        }
    }
    void check(std::size_t filled) const {
        for (std::size_t i = 0; i != filled; ++i) require(used_[i], "each is taken");
    }

private:
    std::array<plain<int>, count> payload_;
    std::array<bool, count> used_{};
};

template <std::size_t Capacity>
void steal_some(run_queue<plain<int>, Capacity>& from, items& all, std::size_t at_most) {
    std::array<plain<int>*, 4> taken{};
    all.use_all(taken, from.steal({taken.data(), at_most}));
}

// The owner adds items one by one while there is room, and then takes the remaining items.
template <std::size_t Capacity>
void owner_and_thieves(std::size_t count, int thieves, int thefts) {
    run_queue<plain<int>, Capacity> run;
    items all;
    {
        const auto rob = [&] {
            for (int i = 0; i != thefts; ++i) steal_some(run, all, 2);
        };
        thread first{rob};
        std::optional<thread> second;
        if (thieves == 2) second.emplace(rob);
        for (std::size_t i = 0; i != count; ++i) {
            while (run.room() == 0) all.use(run.pop());
            plain<int>* const item = all.fill(i);
            run.push({&item, 1});
        }
        all.use(run.pop());
    }
    while (!run.empty()) all.use(run.pop());
    all.check(count);
}

TEST(ModelRunQueue, OwnerAndAThief) {
    model::expect_passes([] { owner_and_thieves<4>(2, 1, 2); });
}

TEST(ModelRunQueue, ASlotIsWrittenAgainAfterATheft) {
    model::expect_passes({.stale_reads = 1}, [] { owner_and_thieves<2>(3, 1, 2); });
}

TEST(ModelRunQueue, OwnerAndTwoThieves) {
    model::expect_passes({.preemptions = 3, .stale_reads = 1},
                         [] { owner_and_thieves<2>(2, 2, 1); });
    model::expect_passes({.preemptions = 2, .stale_reads = 1},
                         [] { owner_and_thieves<2>(3, 2, 2); });
}

TEST(ModelRunQueue, ABatchIsStolenInHalves) {
    model::expect_passes([] {
        run_queue<plain<int>, 4> run;
        items all;
        {
            thread thief{[&] {
                steal_some(run, all, 4);
                steal_some(run, all, 4);
            }};
            const std::array<plain<int>*, 3> batch{all.fill(0), all.fill(1), all.fill(2)};
            run.push(batch);
            all.use(run.pop());
        }
        while (!run.empty()) all.use(run.pop());
        all.check(3);
    });
}

// One more thread stops the queue. The owner and the thief end when they see the stop. The stopping
// thread takes the remaining tasks, as core::take_queued does, while the other two may still work.
void owner_thief_and_a_stop(std::size_t count, int thefts) {
    run_queue<plain<int>, 2> run;
    items all;
    sync::atomic<bool> stopping{false};
    std::size_t filled = 0;
    {
        thread thief{[&] {
            for (int i = 0; i != thefts && !stopping.load(sync::acquire); ++i) {
                steal_some(run, all, 2);
            }
        }};
        thread stop{[&] {
            stopping.store(true, sync::release);
            while (!run.empty()) steal_some(run, all, 2);
        }};
        for (; filled != count && !stopping.load(sync::acquire); ++filled) {
            while (run.room() == 0) all.use(run.pop());
            plain<int>* const item = all.fill(filled);
            run.push({&item, 1});
        }
    }
    while (!run.empty()) all.use(run.pop());
    all.check(filled);
}

TEST(ModelRunQueue, AStopTakesWhatIsLeft) {
    model::expect_passes({.preemptions = 2, .stale_reads = 1},
                         [] { owner_thief_and_a_stop(3, 1); });
    model::expect_passes({.how = model::search::pct, .executions_max = 20'000, .depth = 4},
                         [] { owner_thief_and_a_stop(4, 3); });
}

TEST(ModelRunQueue, ManyThievesByPriorities) {
    model::expect_passes({.how = model::search::pct, .executions_max = 100'000, .depth = 4},
                         [] { owner_and_thieves<2>(4, 2, 3); });
}

}  // namespace
}  // namespace fairlead::lockfree::run_queue_tests
