// The ready queue, with blocks of two items: a producer, consumers, and the reuse of blocks.
#include "model/explore.hpp"

#include <fairlead/detail/lockfree/block_queue.hpp>

#include <gtest/gtest.h>

#include <array>
#include <optional>

namespace fairlead::lockfree::block_queue_tests {
namespace {

using model::plain;
using model::require;
using model::thread;

using queue = block_queue<plain<int>, 2>;

class items {
public:
    static constexpr std::size_t count = 6;

    // Pushes the items [first, first + size) at once.
    void push(queue& to, std::size_t first, std::size_t size) {
        std::array<plain<int>*, count> batch{};
        for (std::size_t i = 0; i != size; ++i) {
            payload_[first + i] = 1;
            batch[i] = &payload_[first + i];
        }
        require(to.push({batch.data(), size}) == size, "there is memory");
    }
    // Claims up to `at_most` items, which come in order for each consumer. Returns their number.
    std::size_t claim(queue::consumer& from, plain<int>*& last, std::size_t at_most) {
        std::array<plain<int>*, count> taken{};
        const std::size_t size = from.claim({taken.data(), at_most});
        for (std::size_t i = 0; i != size; ++i) {
            require(last == nullptr || last < taken[i], "in order");
            last = taken[i];
            require(*last == 1, "it is taken once");
            *last = 2;
        }
        return size;
    }
    void check(std::size_t filled) const {
        for (std::size_t i = 0; i != filled; ++i) require(payload_[i] == 2, "each is taken");
    }

private:
    std::array<plain<int>, count> payload_;
};

void producer_and_consumers(std::size_t count, int consumers, int claims, std::size_t at_most) {
    queue ready;
    items all;
    {
        const auto consume = [&] {
            queue::consumer mine{ready};
            plain<int>* last = nullptr;
            for (int i = 0; i != claims; ++i) all.claim(mine, last, at_most);
        };
        thread first{consume};
        std::optional<thread> second;
        if (consumers == 2) second.emplace(consume);
        for (std::size_t i = 0; i != count; ++i) all.push(ready, i, 1);
    }
    queue::consumer rest{ready};
    plain<int>* last = nullptr;
    while (all.claim(rest, last, 2) != 0) {
    }
    all.check(count);
}

TEST(ModelBlockQueue, ProducerAndAConsumer) {
    model::expect_passes({.stale_reads = 1}, [] { producer_and_consumers(3, 1, 2, 2); });
}

TEST(ModelBlockQueue, ProducerAndTwoConsumers) {
    model::expect_passes({.preemptions = 2, .stale_reads = 1},
                         [] { producer_and_consumers(3, 2, 2, 1); });
}

// A third kind of thread stops the queue. The producer and the consumers end when they see the
// stop. The stopping thread takes the remaining items, as core::take_queued does, while the other
// threads may still work. No item is lost or taken twice.
void producer_consumers_and_a_stop(std::size_t count, int consumers, int claims) {
    queue ready;
    items all;
    sync::atomic<bool> stopping{false};
    std::size_t pushed = 0;
    {
        const auto consume = [&] {
            queue::consumer mine{ready};
            plain<int>* last = nullptr;
            for (int i = 0; i != claims && !stopping.load(sync::acquire); ++i) {
                all.claim(mine, last, 1);
            }
        };
        thread first{consume};
        std::optional<thread> second;
        if (consumers == 2) second.emplace(consume);
        thread stop{[&] {
            stopping.store(true, sync::release);
            queue::consumer rest{ready};
            plain<int>* last = nullptr;
            while (all.claim(rest, last, 2) != 0) {
            }
        }};
        for (; pushed != count && !stopping.load(sync::acquire); ++pushed) {
            all.push(ready, pushed, 1);
        }
    }
    queue::consumer rest{ready};
    plain<int>* last = nullptr;
    while (all.claim(rest, last, 2) != 0) {
    }
    all.check(pushed);
}

TEST(ModelBlockQueue, AStopTakesWhatIsLeft) {
    model::expect_passes({.preemptions = 2, .stale_reads = 1},
                         [] { producer_consumers_and_a_stop(3, 1, 2); });
    model::expect_passes({.how = model::search::pct, .executions_max = 20'000, .depth = 4},
                         [] { producer_consumers_and_a_stop(6, 2, 3); });
}

TEST(ModelBlockQueue, BlocksAreUsedAgain) {
    model::expect_passes({.preemptions = 2, .stale_reads = 1},
                         [] { producer_and_consumers(6, 2, 3, 2); });
    model::expect_passes({.how = model::search::pct, .executions_max = 100'000, .depth = 4},
                         [] { producer_and_consumers(6, 2, 4, 2); });
}

TEST(ModelBlockQueue, ABatchOverSeveralBlocks) {
    model::expect_passes({.preemptions = 3, .stale_reads = 1}, [] {
        queue ready;
        items all;
        plain<int>* last = nullptr;
        {
            thread producer{[&] { all.push(ready, 0, 5); }};
            queue::consumer mine{ready};
            all.claim(mine, last, 3);
            all.claim(mine, last, 3);
        }
        queue::consumer rest{ready};
        while (all.claim(rest, last, 6) != 0) {
        }
        all.check(5);
    });
}

}  // namespace
}  // namespace fairlead::lockfree::block_queue_tests
