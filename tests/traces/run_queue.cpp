// Traces of the run queue, for RunQueueTrace: thread 1 owns it, threads 2 and 3 steal.
#include "history.hpp"
#include "recordings.hpp"

#include <fairlead/detail/lockfree/run_queue.hpp>

#include <array>
#include <span>

namespace fairlead::traces {
namespace {

constexpr std::size_t capacity = 4;
constexpr unsigned items = 2 * some;
using item = unsigned;
using queue = lockfree::run_queue<item, capacity>;

// Stolen tasks stay in the run queue, too.
struct theft_that_leaves_the_tasks : queue {
    std::size_t steal(std::span<item*> out) {
        const std::size_t count = queue::steal(out);
        if (count != 0) left_.store(out[0], sync::relaxed);
        return count;
    }
    item* pop() {
        item* const popped = queue::pop();
        if (popped != nullptr) return popped;
        return left_.exchange(nullptr, sync::relaxed);
    }

    sync::atomic<item*> left_{nullptr};
};

// The owner takes with a store, though a thief may have taken the task since.
struct pop_with_a_store {
    std::size_t room() const {
        return capacity - (tail_.load(sync::relaxed) - head_.load(sync::acquire));
    }
    void push(std::span<item* const> added) {
        const std::size_t tail = tail_.load(sync::relaxed);
        slots_[tail % capacity].store(added[0], sync::relaxed);
        tail_.store(tail + 1, sync::seq_cst);
    }
    item* pop() {
        const std::size_t head = head_.load(sync::relaxed);
        if (head == tail_.load(sync::relaxed)) return nullptr;
        item* const popped = slots_[head % capacity].load(sync::relaxed);
        head_.store(head + 1, sync::relaxed);
        return popped;
    }
    std::size_t steal(std::span<item*> out) {
        std::size_t head = head_.load(sync::acquire);
        const std::size_t tail = tail_.load(sync::acquire);
        if (tail <= head || tail - head > capacity) return 0;
        const std::size_t count = tail - head - (tail - head) / 2;
        for (std::size_t i = 0; i != count; ++i) {
            out[i] = slots_[(head + i) % capacity].load(sync::relaxed);
        }
        return head_.compare_exchange_strong(head, head + count, sync::release, sync::relaxed)
                   ? count
                   : 0;
    }

    sync::atomic<std::size_t> head_{0};
    sync::atomic<std::size_t> tail_{0};
    std::array<sync::atomic<item*>, capacity> slots_;
};

template <class Queue>
std::string steal(Queue& run) {
    std::array<item*, capacity> stolen{};
    const std::size_t count = run.steal(stolen);
    const outside own;
    std::string shown = "<<";
    for (std::size_t i = 0; i != count; ++i)
        shown += (i == 0 ? "" : ",") + std::to_string(*stolen[i]);
    return shown + ">>";
}

template <class Queue>
void record(const wanted& traces, const std::string& variant, unsigned count) {
    record_traces(traces.folder, "RunQueue", variant, count, [](history& calls) {
        Queue run;
        std::array<item, items> all;
        const auto pop = [&] {
            return calls.note(1, "pop", 0, [&] {
                const item* const popped = run.pop();
                return popped == nullptr ? 0 : *popped;
            });
        };
        const auto own = [&] {
            for (unsigned i = 0; i != items; ++i) {
                while (run.room() == 0 || choose(3) == 0) pop();
                all[i] = i + 1;
                item* const pushed = &all[i];
                calls.note_done(1, "push", i + 1, [&] { run.push({&pushed, 1}); });
            }
        };
        const auto rob = [&](unsigned thief) {
            for (unsigned i = 0; i != some; ++i) {
                calls.note(thief, "steal", 0, [&] { return steal(run); });
            }
        };
        in_threads(
            own, [&] { rob(2); }, [&] { rob(3); });
        while (pop() != 0) {
        }
    });
}

}  // namespace

void record_run_queue(const wanted& traces) {
    record<queue>(traces, "code", traces.count);
    record<theft_that_leaves_the_tasks>(traces, "theft-that-leaves-the-tasks",
                                        traces.planted_count);
    record<pop_with_a_store>(traces, "pop-with-a-store", traces.planted_count);
}

}  // namespace fairlead::traces
