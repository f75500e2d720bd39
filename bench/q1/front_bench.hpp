// Q1, front: `producers` threads push `count` nodes each, one thread takes them, busy polling.
//
// A queue offers push(node&) to any thread and take(visit) to one; take calls visit(node&) for what
// is there and returns how many. `contended()` may tell what it counted.
#pragma once

#include "q1/node.hpp"
#include "support/options.hpp"
#include "support/result.hpp"
#include "support/threads.hpp"

#include <fairlead/detail/os/cpu.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace bench::q1 {

template <class Queue>
measurement front_run(const options& asked, std::uint64_t count,
                      std::vector<std::vector<node>>& nodes) {
    Queue queue;
    std::atomic<std::uint64_t> contended{0};
    order_check check{asked.producers};
    starting_line pushing{asked.producers, [&](std::size_t producer) {
                              for (std::uint64_t i = 0; i != count; ++i) {
                                  queue.push(nodes[producer][i]);
                              }
                              contended += queue.contended_here();
                          }};
    const std::uint64_t total = asked.producers * count;
    static_cast<void>(queue.contended_here());  // forget what came before
    const stopwatch watch;
    pushing.go();
    for (std::uint64_t taken = 0; taken < total;) {
        const std::size_t now = queue.take([&](node& item) { check.see(item); });
        if (now == 0) fairlead::os::relax();
        taken += now;
    }
    measurement found = watch.per_item(total);
    pushing.join();
    contended += queue.contended_here();
    if (queue.take([](node&) {}) != 0) found.failure = "more items came out than went in";
    if (found.failure.empty()) found.failure = check.failure();
    if constexpr (Queue::counts) found.contended = contended + queue.contended();
    return found;
}

template <class Queue>
measurement front_bench(const options& asked) {
    std::vector<std::vector<node>> nodes;
    for (std::uint32_t producer = 0; producer != asked.producers; ++producer) {
        nodes.emplace_back(asked.count);
        for (std::uint64_t i = 0; i != asked.count; ++i) {
            nodes.back()[i].producer = producer;
            nodes.back()[i].index = i;
        }
    }
    front_run<Queue>(asked, asked.count / 10, nodes);
    return front_run<Queue>(asked, asked.count, nodes);
}

/// What a queue that counts nothing inherits.
struct counts_nothing {
    static constexpr bool counts = false;
    [[nodiscard]] static std::uint64_t contended_here() noexcept { return 0; }
    [[nodiscard]] static std::uint64_t contended() noexcept { return 0; }
};

}  // namespace bench::q1
