// Q1, block: one producer pushes `count` items, 128 at a time as a round of the scheduler does, and
// `workers` consumers claim up to `claim` at once. A consumer that finds nothing yields.
//
// A queue offers push(span of node*) to one thread, and a `consumer` of its own to each other
// thread, whose claim(span of node*) returns how many it took.
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

inline constexpr std::size_t claim_max = 128;

template <class Queue>
class block_run {
public:
    block_run(const options& asked, std::vector<node>& nodes, std::uint64_t count)
        : asked_{asked}, nodes_{nodes}, count_{count} {}

    measurement run() {
        starting_line consuming{asked_.workers, [this](std::size_t) { consume(); }};
        std::vector<node*> pointers(count_);
        for (std::uint64_t i = 0; i != count_; ++i) pointers[i] = &nodes_[i];
        static_cast<void>(Queue::contended_here());  // forget what came before
        const stopwatch watch;
        consuming.go();
        for (std::span<node* const> rest{pointers}; !rest.empty();) {
            const std::size_t batch = std::min(rest.size(), claim_max);
            queue_.push(rest.first(batch));
            rest = rest.subspan(batch);
        }
        consuming.join();
        measurement found = watch.per_item(count_);
        if (Queue::counts) {
            found.contended = contended_ + Queue::contended_here() + queue_.contended();
        }
        return found;
    }

    [[nodiscard]] const once_check& seen() const noexcept { return seen_; }

private:
    void consume() {
        typename Queue::consumer own{queue_};
        std::array<node*, claim_max> out{};
        const std::span<node*> room{out.data(), std::min<std::size_t>(asked_.claim, claim_max)};
        once_check seen;
        std::uint64_t published = 0;
        while (taken_.load(std::memory_order_relaxed) < count_) {
            const std::size_t claimed = own.claim(room);
            for (std::size_t i = 0; i != claimed; ++i) seen.see(*out[i]);
            if (claimed != 0) continue;
            // Tells the other threads only when there is nothing to do: a shared counter that
            // changes with each item would be the bottleneck.
            taken_.fetch_add(seen.count - published, std::memory_order_relaxed);
            published = seen.count;
            std::this_thread::yield();
        }
        std::lock_guard lock{mutex_};
        seen_.add(seen);
        contended_ += Queue::contended_here();
    }

    const options& asked_;
    std::vector<node>& nodes_;
    std::uint64_t count_;
    Queue queue_;
    alignas(128) std::atomic<std::uint64_t> taken_{0};
    std::mutex mutex_;
    once_check seen_;              // guarded by mutex_
    std::uint64_t contended_ = 0;  // guarded by mutex_
};

template <class Queue>
measurement block_bench(const options& asked) {
    std::vector<node> nodes(asked.count);
    for (std::uint64_t i = 0; i != asked.count; ++i) nodes[i].index = i;
    block_run<Queue>{asked, nodes, asked.count / 10}.run();
    block_run<Queue> measured{asked, nodes, asked.count};
    measurement found = measured.run();
    found.failure = measured.seen().failure(nodes);
    return found;
}

}  // namespace bench::q1
