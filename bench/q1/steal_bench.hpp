// Q1, steal: the owner of a slot's run fills it, up to 64 at a time, and empties it, while
// `workers` thieves steal from it. With 0 thieves: what the run costs its owner alone.
//
// A queue offers push(span), room() and pop() to the owner and steal(span) to the thieves.
#pragma once

#include "q1/node.hpp"
#include "support/options.hpp"
#include "support/result.hpp"
#include "support/threads.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

namespace bench::q1 {

inline constexpr std::size_t fill_max = 64;

template <class Queue>
class steal_run {
public:
    steal_run(const options& asked, std::vector<node>& nodes, std::uint64_t count)
        : asked_{asked}, nodes_{nodes}, count_{count} {}

    measurement run() {
        starting_line stealing{asked_.workers, [this](std::size_t) { steal(); }};
        std::vector<node*> pointers(count_);
        for (std::uint64_t i = 0; i != count_; ++i) pointers[i] = &nodes_[i];
        static_cast<void>(Queue::contended_here());  // forget what came before
        const stopwatch watch;
        stealing.go();
        for (std::span<node* const> rest{pointers}; !rest.empty();) {
            const std::size_t batch = std::min({rest.size(), fill_max, queue_.room()});
            queue_.push(rest.first(batch));
            rest = rest.subspan(batch);
            while (node* const item = queue_.pop()) seen_by_owner_.see(*item);
        }
        done_.store(true, std::memory_order_relaxed);
        stealing.join();
        measurement found = watch.per_item(count_);
        seen_.add(seen_by_owner_);
        if (Queue::counts) {
            found.contended = contended_ + Queue::contended_here() + queue_.contended();
        }
        return found;
    }

    [[nodiscard]] const once_check& seen() const noexcept { return seen_; }

private:
    void steal() {
        std::array<node*, claim_of_a_thief> out{};
        once_check seen;
        while (!done_.load(std::memory_order_relaxed)) {
            const std::size_t stolen = queue_.steal(out);
            for (std::size_t i = 0; i != stolen; ++i) seen.see(*out[i]);
            if (stolen == 0) std::this_thread::yield();
        }
        std::lock_guard lock{mutex_};
        seen_.add(seen);
        contended_ += Queue::contended_here();
    }

    static constexpr std::size_t claim_of_a_thief = 128;

    const options& asked_;
    std::vector<node>& nodes_;
    std::uint64_t count_;
    Queue queue_;
    once_check seen_by_owner_;
    alignas(128) std::atomic<bool> done_{false};
    std::mutex mutex_;
    once_check seen_;              // guarded by mutex_
    std::uint64_t contended_ = 0;  // guarded by mutex_
};

template <class Queue>
measurement steal_bench(const options& asked) {
    std::vector<node> nodes(asked.count);
    for (std::uint64_t i = 0; i != asked.count; ++i) nodes[i].index = i;
    steal_run<Queue>{asked, nodes, asked.count / 10}.run();
    steal_run<Queue> measured{asked, nodes, asked.count};
    measurement found = measured.run();
    found.failure = measured.seen().failure(nodes);
    return found;
}

}  // namespace bench::q1
