// Starts threads that begin together, and joins them; waits for what another thread does.
#pragma once

#include <barrier>
#include <concepts>
#include <cstddef>
#include <thread>
#include <vector>

namespace fairlead::test {

/// Runs `body(index)` on `count` threads, which begin at once; returns when all have ended.
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

/// Returns once `condition()` holds. The watchdog of the test ends it if that never happens.
template <std::predicate Condition>
void await(Condition condition) {
    while (!condition()) std::this_thread::yield();
}

}  // namespace fairlead::test
