// Traces of the front queue, for FrontQueueTrace: threads 1 to 3 push, of one of which nothing may
// come, thread 4 takes.
#include "history.hpp"
#include "recordings.hpp"

#include <fairlead/detail/lockfree/front_queue.hpp>

#include <algorithm>
#include <array>

namespace fairlead::traces {
namespace {

struct node {
    unsigned producer = 0;
    unsigned number = 0;
    node* next = nullptr;
};
constexpr unsigned producers = 3;
constexpr unsigned nodes_of_each = some;
constexpr unsigned batch_max = 3;
using queue = lockfree::front_queue<node, &node::next>;

std::string shown(unsigned first, unsigned second) {
    const outside own;
    return "<<" + std::to_string(first) + ',' + std::to_string(second) + ">>";
}

// Asks before the exchange whether the queue is empty, not of the exchange that succeeded.
struct empty_of_the_first_load : queue {
    bool push_reversed(node& newest, node& oldest) {
        const bool was_empty = empty();
        static_cast<void>(queue::push_reversed(newest, oldest));
        return was_empty;
    }
};

// Leaves the nodes in the order of the stack.
struct not_turned_over : queue {
    chain take_all() {
        chain taken = queue::take_all();
        return turn_over(taken.front());
    }
};

// Of a batch only the newest and the oldest are pushed.
struct batch_loses_its_middle : queue {
    bool push_reversed(node& newest, node& oldest) {
        if (&newest != &oldest) newest.next = &oldest;
        return queue::push_reversed(newest, oldest);
    }
};

// Takes the stack by a load and a store: what is pushed in between is lost.
struct taken_in_two_steps {
    bool push_reversed(node& newest, node& oldest) {
        node* top = top_.load(sync::relaxed);
        do {
            oldest.next = top;
        } while (!top_.compare_exchange_weak(top, &newest, sync::seq_cst, sync::relaxed));
        return top == nullptr;
    }
    queue::chain take_all() {
        node* const top = top_.load(sync::acquire);
        if (top != nullptr) top_.store(nullptr, sync::release);
        return queue::turn_over(top);
    }

    sync::atomic<node*> top_{nullptr};
};

template <class Queue>
std::string take_all(Queue& front) {
    std::string nodes = "<<";
    queue::chain taken = front.take_all();
    while (const node* const each = taken.pop_front()) {
        const outside own;
        nodes += (nodes.size() == 2 ? "" : ",") + shown(each->producer, each->number);
    }
    return nodes + ">>";
}

template <class Queue>
void record(const wanted& traces, const std::string& variant, unsigned count) {
    record_traces(traces.folder, "FrontQueue", variant, count, [](history& calls) {
        Queue front;
        std::array<std::array<node, nodes_of_each>, producers> nodes;
        const auto produce = [&](unsigned producer) {
            unsigned pushed = 0;
            // So that the trace has two producers more often than three.
            const unsigned wanted = producer == producers && choose(2) == 0 ? 0 : nodes_of_each;
            while (pushed != wanted) {
                const unsigned size = 1 + choose(std::min(batch_max, wanted - pushed));
                for (unsigned i = pushed; i != pushed + size; ++i) {
                    node* const below = i == pushed ? nullptr : &nodes[producer - 1][i - 1];
                    nodes[producer - 1][i] = {producer, i + 1, below};
                }
                node& oldest = nodes[producer - 1][pushed];
                node& newest = nodes[producer - 1][pushed + size - 1];
                const auto push = [&] { return front.push_reversed(newest, oldest); };
                calls.note(producer, "push", shown(oldest.number, newest.number), push);
                pushed += size;
            }
        };
        const auto take = [&] {
            calls.note(producers + 1, "take_all", 0, [&] { return take_all(front); });
        };
        in_threads([&] { produce(1); }, [&] { produce(2); }, [&] { produce(3); },
                   [&] {
                       for (unsigned i = nodes_of_each + choose(nodes_of_each); i != 0; --i) take();
                   });
        take();
    });
}

}  // namespace

void record_front_queue(const wanted& traces) {
    record<queue>(traces, "code", traces.count);
    record<empty_of_the_first_load>(traces, "empty-of-the-first-load", traces.planted_count);
    record<not_turned_over>(traces, "not-turned-over", traces.planted_count);
    record<batch_loses_its_middle>(traces, "batch-loses-its-middle", traces.planted_count);
    record<taken_in_two_steps>(traces, "taken-in-two-steps", traces.planted_count);
}

}  // namespace fairlead::traces
