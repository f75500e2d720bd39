// The library's queues behind the interfaces of the benchmarks.
#pragma once

#include "q1/front_bench.hpp"
#include "q1/node.hpp"

#include <fairlead/detail/lockfree/block_queue.hpp>
#include <fairlead/detail/lockfree/front_queue.hpp>
#include <fairlead/detail/lockfree/run_queue.hpp>

#include <cstddef>
#include <new>
#include <span>

namespace bench::q1 {

/// `Counts` is what tells about contention: counts_nothing, or counts_exchanges.
template <class Counts>
class fairlead_front : public Counts {
public:
    void push(node& item) noexcept { queue_.push(item); }

    template <class Visit>
    std::size_t take(Visit visit) noexcept {
        auto chain = queue_.take_all();
        const std::size_t taken = chain.size();
        while (node* const item = chain.pop_front()) visit(*item);
        return taken;
    }

private:
    fairlead::lockfree::front_queue<node, &node::next> queue_;
};

template <class Counts>
class fairlead_block : public Counts {
    using queue = fairlead::lockfree::block_queue<node>;

public:
    class consumer : public queue::consumer {
    public:
        explicit consumer(fairlead_block& from) : queue::consumer{from.queue_} {}
    };

    void push(std::span<node* const> items) {
        if (queue_.push(items) != items.size()) throw std::bad_alloc{};
    }

private:
    queue queue_;
};

template <class Counts>
class fairlead_run : public fairlead::lockfree::run_queue<node>, public Counts {};

}  // namespace bench::q1
