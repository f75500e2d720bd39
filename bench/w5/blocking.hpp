// The problems of W5 for runtimes whose join blocks: the parent works, or waits on its stack.
//
// `Forks` runs callables at the same time and returns when all have ended: both(first, second), and
// for_each(count, body), which calls body(index). run(body) brings the first one to the workers.
#pragma once

#include "w5/problems.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>

namespace bench::w5 {

template <class Forks>
class blocking_solver {
public:
    static constexpr const char* name = Forks::name;

    explicit blocking_solver(std::uint64_t workers) : forks_{workers} {}

    std::uint64_t fib(std::uint64_t n) {
        std::uint64_t found = 0;
        forks_.run([&] { found = fib_node(n); });
        return found;
    }

    std::uint64_t skynet(std::uint64_t leaves) {
        std::uint64_t found = 0;
        forks_.run([&] { found = skynet_node(0, leaves); });
        return found;
    }

    std::uint64_t nqueens(std::uint64_t size) {
        std::uint64_t found = 0;
        forks_.run([&] { found = queens_node(board{}, size); });
        return found;
    }

    void matmul(product whole) {
        forks_.run([&] { matmul_node(whole); });
    }

private:
    // Not inlined: each node is a call at least.
    [[gnu::noinline]] static std::uint64_t fib_node(std::uint64_t n) {
        if (n < 2) return n;
        std::uint64_t first = 0;
        std::uint64_t second = 0;
        Forks::both([&] { first = fib_node(n - 1); }, [&] { second = fib_node(n - 2); });
        return first + second;
    }

    static std::uint64_t skynet_node(std::uint64_t begin, std::uint64_t leaves) {
        if (leaves == 1) return begin;
        std::array<std::uint64_t, skynet_children> found;
        const std::uint64_t below = leaves / skynet_children;
        Forks::for_each(skynet_children, [&](std::size_t index) {
            found[index] = skynet_node(begin + index * below, below);
        });
        return std::accumulate(found.begin(), found.end(), std::uint64_t{0});
    }

    static std::uint64_t queens_node(const board& from, std::uint64_t size) {
        if (from.rows == size) return 1;
        const next_boards next{from, size};
        std::array<std::uint64_t, queens_max> found{};
        Forks::for_each(next.count(),
                        [&](std::size_t index) { found[index] = queens_node(next[index], size); });
        return std::accumulate(found.begin(), found.end(), std::uint64_t{0});
    }

    static void matmul_node(const product& of) {
        if (of.size == block_size) return multiply_block(of);
        for (std::size_t pair = 0; pair != 2; ++pair) {
            Forks::for_each(4, [&](std::size_t index) { matmul_node(of.quarter(index, pair)); });
        }
    }

    Forks forks_;
};

}  // namespace bench::w5
