// Traces of the ready queue, for BlockQueueTrace: thread 1 pushes, threads 2 and 3 claim, up to two
// items.
#include "history.hpp"
#include "recordings.hpp"

#include <fairlead/detail/lockfree/block_queue.hpp>

#include <array>
#include <span>

namespace fairlead::traces {
namespace {

constexpr unsigned items = 2 * some;
using item = unsigned;
using queue = lockfree::block_queue<item, 2>;

// Queues an item twice.
struct double_queueing : queue {
    std::size_t push(std::span<item* const> added) {
        if (*added[0] == 2) return queue::push(added) + queue::push(added.first(1));
        return queue::push(added);
    }
};

// Forgets the first item of a block.
struct lost_between_blocks : queue {
    std::size_t push(std::span<item* const> added) {
        return queue::push(*added[0] % 2 == 1 && *added[0] != 1 ? added.subspan(1) : added);
    }
};

template <class Queue>
std::string claim(typename Queue::consumer& from) {
    std::array<item*, 2> claimed{};
    const std::size_t count = from.claim(claimed);
    const outside own;
    std::string shown = "<<";
    for (std::size_t i = 0; i != count; ++i)
        shown += (i == 0 ? "" : ",") + std::to_string(*claimed[i]);
    return shown + ">>";
}

template <class Queue>
void record(const wanted& traces, const std::string& variant, unsigned count) {
    record_traces(traces.folder, "BlockQueue", variant, count, [](history& calls) {
        Queue ready;
        queue::consumer first{ready};
        queue::consumer second{ready};
        std::array<item, items + 1> all;
        const auto produce = [&] {
            for (unsigned pushed = 0; pushed != items;) {
                std::array<item*, 2> batch{};
                const unsigned size = std::min(1 + choose(2), items - pushed);
                for (unsigned i = 0; i != size; ++i) {
                    all[pushed + i] = pushed + i + 1;
                    batch[i] = &all[pushed + i];
                }
                pushed += size;
                calls.note_done(1, "push", pushed, [&] {
                    static_cast<void>(ready.push({batch.data(), size}));
                });
            }
        };
        const auto take = [&](unsigned thread, queue::consumer& from) {
            return calls.note(thread, "claim", 0, [&] { return claim<Queue>(from); });
        };
        const auto consume = [&](unsigned thread, queue::consumer& from) {
            for (unsigned i = 0; i != some; ++i) take(thread, from);
        };
        in_threads(
            produce, [&] { consume(2, first); }, [&] { consume(3, second); });
        while (take(2, first) != "<<>>") {
        }
    });
}

}  // namespace

void record_block_queue(const wanted& traces) {
    record<queue>(traces, "code", traces.count);
    record<double_queueing>(traces, "double-queueing", traces.planted_count);
    record<lost_between_blocks>(traces, "lost-between-blocks", traces.planted_count);
}

}  // namespace fairlead::traces
