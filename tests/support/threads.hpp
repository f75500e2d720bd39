// Starts threads that begin together, and joins them; waits for a condition that another thread
// makes true.
#pragma once

#include <barrier>
#include <concepts>
#include <cstddef>
#include <thread>
#include <vector>

namespace fairlead::test {

/// Runs `body(index)` on `count` threads, which begin at the same time. Returns when all have
/// ended.
template <std::invocable<std::size_t> Body>
void run_together(std::size_t count, Body body) {
    std::barrier start{static_cast<std::ptrdiff_t>(count)};
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i != count; ++i) {
        threads.emplace_back([&, i] {
            start.arrive_and_wait();
            body(i);
        });
    }
}

/// Returns when `condition()` holds. If that never happens the watchdog of the test ends the
/// program.
template <std::predicate Condition>
void await(Condition condition) {
    while (!condition()) std::this_thread::yield();
}

}  // namespace fairlead::test
