// Traces of the front queue, for FrontQueueTrace: threads 1 and 2 push, thread 3 takes.
#include "history.hpp"
#include "recordings.hpp"

#include <fairlead/lockfree/front_queue.hpp>

#include <array>

namespace fairlead::traces {
namespace {

struct node {
    unsigned producer = 0;
    unsigned number = 0;
    node* next = nullptr;
};
using queue = lockfree::front_queue<node, &node::next>;

std::string tla(const node& shown) {
    return "<<" + std::to_string(shown.producer) + ',' + std::to_string(shown.number) + ">>";
}

// Asks before the exchange whether the queue is empty, not of the exchange that succeeded.
struct empty_of_the_first_load : queue {
    bool push(node& pushed) {
        const bool was_empty = empty();
        static_cast<void>(queue::push(pushed));
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

// Takes the stack by a load and a store: what is pushed in between is lost.
struct taken_in_two_steps {
    bool push(node& pushed) {
        node* top = top_.load(sync::relaxed);
        do {
            pushed.next = top;
        } while (!top_.compare_exchange_weak(top, &pushed, sync::seq_cst, sync::relaxed));
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
        nodes += (nodes.size() == 2 ? "" : ",") + tla(*each);
    }
    return nodes + ">>";
}

template <class Queue>
void record(const wanted& traces, const std::string& variant, unsigned count) {
    record_traces(traces.folder, "FrontQueue", variant, count, [](history& calls) {
        Queue front;
        std::array<std::array<node, some>, 2> nodes;
        const auto produce = [&](unsigned producer) {
            for (unsigned i = 0; i != some; ++i) {
                node& each = nodes[producer - 1][i];
                each = {producer, i + 1};
                calls.note(producer, "push", i + 1, [&] { return front.push(each); });
            }
        };
        const auto take = [&] { calls.note(3, "take_all", 0, [&] { return take_all(front); }); };
        in_threads([&] { produce(1); }, [&] { produce(2); },
                   [&] {
                       for (unsigned i = 0; i != some; ++i) take();
                   });
        take();
    });
}

}  // namespace

void record_front_queue(const wanted& traces) {
    record<queue>(traces, "code", traces.count);
    record<empty_of_the_first_load>(traces, "empty-of-the-first-load", traces.planted_count);
    record<not_turned_over>(traces, "not-turned-over", traces.planted_count);
    record<taken_in_two_steps>(traces, "taken-in-two-steps", traces.planted_count);
}

}  // namespace fairlead::traces
