// The front queue, with every order of steps and every reading of memory.
#include "model/explore.hpp"

#include <fairlead/detail/lockfree/front_queue.hpp>
#include <fairlead/detail/sync/signal.hpp>

#include <gtest/gtest.h>

#include <optional>

namespace fairlead::lockfree::front_queue_tests {
namespace {

using model::plain;
using model::require;
using model::thread;

struct node {
    explicit node(int number) : payload{number} {}
    plain<int> payload;
    node* next = nullptr;
};
using queue = front_queue<node, &node::next>;

// The nodes that the consumer has seen, as numbers of two digits: producer and position.
class ledger {
public:
    // Takes all nodes and frees them at once. Returns their number.
    std::size_t take(queue& from) {
        std::size_t taken = 0;
        queue::chain all = from.take_all();
        const std::size_t claimed = all.size();
        while (node* const each = all.pop_front()) {
            const int number = each->payload;
            const auto producer = static_cast<std::size_t>(number / 10);
            require(number % 10 == next_[producer]++, "the order of a producer");
            delete each;
            ++taken;
        }
        require(taken == claimed, "the size of a batch");
        if (taken != 0) ++batches_;
        total_ += taken;
        return taken;
    }
    void check(std::size_t total, int pushes_that_found_it_empty) const {
        require(total_ == total, "each node is taken once");
        require(batches_ == pushes_that_found_it_empty, "one push of each batch found it empty");
    }

private:
    std::size_t total_ = 0;
    int batches_ = 0;
    int next_[3] = {};
};

void producers_and_a_consumer(int producers, int pushes, int takes) {
    queue front;
    ledger seen;
    plain<int> found_empty[3];
    {
        const auto produce = [&](int producer) {
            for (int i = 0; i != pushes; ++i) {
                const bool was_empty = front.push(*new node{10 * producer + i});
                found_empty[producer] = found_empty[producer] + (was_empty ? 1 : 0);
            }
        };
        thread first{[&] { produce(0); }};
        std::optional<thread> second;
        if (producers == 2) second.emplace([&] { produce(1); });
        for (int i = 0; i != takes; ++i) seen.take(front);
    }
    seen.take(front);
    require(front.empty(), "it is empty at the end");
    seen.check(static_cast<std::size_t>(producers * pushes), found_empty[0] + found_empty[1]);
}

TEST(ModelFrontQueue, OneProducerAndTheConsumer) {
    model::expect_passes([] { producers_and_a_consumer(1, 3, 3); });
}

TEST(ModelFrontQueue, TwoProducersAndTheConsumer) {
    model::expect_passes([] { producers_and_a_consumer(2, 1, 2); });
    model::expect_passes({.preemptions = 2}, [] { producers_and_a_consumer(2, 2, 3); });
}

TEST(ModelFrontQueue, ManyPushesByPriorities) {
    model::expect_passes({.how = model::search::pct, .executions_max = 100'000, .depth = 4},
                         [] { producers_and_a_consumer(2, 4, 5); });
}

TEST(ModelFrontQueue, ABatchIsPushedInOneStep) {
    model::expect_passes([] {
        queue front;
        ledger seen;
        bool found_empty[2] = {};
        {
            thread batch{[&] {
                auto* const oldest = new node{0};
                auto* const newest = new node{1};
                newest->next = oldest;
                found_empty[0] = front.push_reversed(*newest, *oldest);
            }};
            thread single{[&] { found_empty[1] = front.push(*new node{10}); }};
            seen.take(front);
        }
        seen.take(front);
        seen.check(3, found_empty[0] + found_empty[1]);
    });
}

// A producer wakes the consumer only if it found the queue empty. A stop wakes the consumer, too.
// Then another thread takes the remaining nodes, as a destructor does, while the producers go on.
void sleeping_consumer(int producers) {
    queue front;
    sync::signal work;
    sync::atomic<bool> stopping{false};
    ledger seen;
    plain<int> found_empty[2];
    {
        const auto produce = [&](int producer) {
            const bool was_empty = front.push(*new node{10 * producer});
            found_empty[producer] = was_empty ? 1 : 0;
            if (was_empty) work.send();
        };
        thread first{[&] { produce(0); }};
        std::optional<thread> second;
        if (producers == 2) second.emplace([&] { produce(1); });
        {
            thread consumer{[&] {
                while (!stopping.load(sync::acquire)) {
                    if (seen.take(front) == 0) work.receive();
                }
            }};
            stopping.store(true, sync::release);
            work.send();
        }
        seen.take(front);
    }
    seen.take(front);
    seen.check(static_cast<std::size_t>(producers), found_empty[0] + found_empty[1]);
}

TEST(ModelFrontQueue, AStopIsSeenByASleepingConsumer) {
    model::expect_passes([] { sleeping_consumer(1); });
    model::expect_passes({.preemptions = 2}, [] { sleeping_consumer(2); });
}

// There is no stop: the consumer must get both nodes, or it sleeps for ever.
TEST(ModelFrontQueue, APushThatFindsItNotEmptyNeedsNoWakeUp) {
    const auto scenario = [](int producers) {
        return [=] {
            queue front;
            sync::signal work;
            ledger seen;
            const auto produce = [&](int producer) {
                for (int i = 0; i != 3 - producers; ++i) {
                    if (front.push(*new node{10 * producer + i})) work.send();
                }
            };
            thread first{[&] { produce(0); }};
            std::optional<thread> second;
            if (producers == 2) second.emplace([&] { produce(1); });
            for (std::size_t taken = 0; taken != 2;) {
                const std::size_t more = seen.take(front);
                taken += more;
                if (more == 0) work.receive();
            }
        };
    };
    model::expect_passes(scenario(1));
    model::expect_passes({.preemptions = 3}, scenario(2));
}

}  // namespace
}  // namespace fairlead::lockfree::front_queue_tests
