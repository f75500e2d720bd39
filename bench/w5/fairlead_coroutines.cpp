// Fairlead with a coroutine for each node.
#include "w5/problems.hpp"

#include <fairlead/coro/fork_join.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/sched/scheduler.hpp>

#include <numeric>

namespace fl = fairlead;

namespace {

using bench::w5::board;
using bench::w5::product;
using fl::fork_join;

fl::task<std::uint64_t> fib_node(std::uint64_t n) {
    if (n < 2) co_return n;
    auto [first, second] = co_await fork_join(fib_node(n - 1), fib_node(n - 2));
    co_return first + second;
}

std::uint64_t sum_of(const std::vector<std::uint64_t>& found) {
    return std::accumulate(found.begin(), found.end(), std::uint64_t{0});
}

fl::task<std::uint64_t> skynet_node(std::uint64_t begin, std::uint64_t leaves) {
    if (leaves == 1) co_return begin;
    std::vector<fl::task<std::uint64_t>> children;
    children.reserve(bench::w5::skynet_children);
    const std::uint64_t below = leaves / bench::w5::skynet_children;
    for (std::uint64_t at = begin; at != begin + leaves; at += below) {
        children.push_back(skynet_node(at, below));
    }
    co_return sum_of(co_await fork_join(std::move(children)));
}

fl::task<std::uint64_t> queens_node(board from, std::uint64_t size) {
    if (from.rows == size) co_return 1;
    std::vector<fl::task<std::uint64_t>> children;
    children.reserve(size);
    for (std::uint64_t column = 0; column != size; ++column) {
        if (from.is_free(column)) children.push_back(queens_node(from.with(column), size));
    }
    co_return sum_of(co_await fork_join(std::move(children)));
}

fl::task<> matmul_node(product of) {
    if (of.size == bench::w5::block_size) {
        multiply_block(of);
        co_return;
    }
    for (std::size_t pair = 0; pair != 2; ++pair) {
        co_await fork_join(matmul_node(of.quarter(0, pair)), matmul_node(of.quarter(1, pair)),
                           matmul_node(of.quarter(2, pair)), matmul_node(of.quarter(3, pair)));
    }
}

class coroutine_solver {
public:
    static constexpr const char* name = "fairlead_coroutines";

    explicit coroutine_solver(std::uint64_t workers)
        : scheduler_{{.workers = static_cast<unsigned>(workers)}} {}

    std::uint64_t fib(std::uint64_t n) { return fl::block_on(scheduler_, fib_node(n)); }
    std::uint64_t skynet(std::uint64_t leaves) {
        return fl::block_on(scheduler_, skynet_node(0, leaves));
    }
    std::uint64_t nqueens(std::uint64_t size) {
        return fl::block_on(scheduler_, queens_node(board{}, size));
    }
    void matmul(product whole) { fl::block_on(scheduler_, matmul_node(whole)); }

private:
    fl::scheduler scheduler_;
};

}  // namespace

int main(int argc, char** argv) { return bench::w5::main<coroutine_solver>(argc, argv); }
