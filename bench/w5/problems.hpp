// W5, fork and join: one task for each node of a tree, down to the leaves, and no cut-off.
//
//     fib        fib(count) by its definition: two children, and an addition
//     skynet     `count` leaves under nodes with ten children each; ten times, one after the other
//     nqueens    the ways to put `count` queens on a board: a child for each column that is free
//     matmul     the product of two matrices of `count` by `count`: four children twice, down to
//                blocks of 32
//
// `value` is the time of the whole problem. Each result is checked. A smaller problem runs once
// before the measurement.
#pragma once

#include "support/options.hpp"
#include "support/result.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace bench::w5 {

// --- fib and skynet -----------------------------------------------------------------------------

inline std::uint64_t fib_by_addition(std::uint64_t n) noexcept {
    std::uint64_t last = 0;
    std::uint64_t next = 1;
    for (; n != 0; --n) last = std::exchange(next, last + next);
    return last;
}

inline constexpr std::uint64_t skynet_children = 10;
inline constexpr std::uint64_t skynet_rounds = 10;

// --- nqueens -------------------------------------------------------------------------------------

inline constexpr std::size_t queens_max = 16;

/// The queens of the first rows.
struct board {
    std::array<std::int8_t, queens_max> columns{};
    std::uint8_t rows = 0;

    [[nodiscard]] bool is_free(std::uint64_t column) const noexcept {
        for (int row = 0; row != rows; ++row) {
            const int apart = static_cast<int>(column) - columns[static_cast<std::size_t>(row)];
            if (apart == 0 || apart == rows - row || apart == row - rows) return false;
        }
        return true;
    }

    [[nodiscard]] board with(std::uint64_t column) const noexcept {
        board next = *this;
        next.columns[next.rows++] = static_cast<std::int8_t>(column);
        return next;
    }
};

/// The boards that follow one: a queen more.
class next_boards {
public:
    next_boards(const board& from, std::uint64_t size) noexcept {
        for (std::uint64_t column = 0; column != size; ++column) {
            if (from.is_free(column)) boards_[count_++] = from.with(column);
        }
    }
    [[nodiscard]] std::size_t count() const noexcept { return count_; }
    [[nodiscard]] const board& operator[](std::size_t index) const noexcept {
        return boards_[index];
    }

private:
    std::array<board, queens_max> boards_;
    std::size_t count_ = 0;
};

struct queens_count {
    std::uint64_t nodes = 1;
    std::uint64_t solutions = 0;
};

/// The same tree, walked with bit masks of the columns and diagonals that are taken.
inline queens_count count_queens(std::uint64_t left, unsigned columns = 0, unsigned rising = 0,
                                 unsigned falling = 0, std::uint64_t size = 0) {
    if (size == 0) size = left;
    if (left == 0) return {.nodes = 1, .solutions = 1};
    queens_count sum;
    unsigned open = ~(columns | rising | falling) & ((1u << size) - 1);
    for (; open != 0; open &= open - 1) {
        const unsigned queen = open & -open;
        const queens_count below = count_queens(left - 1, columns | queen, (rising | queen) << 1,
                                                (falling | queen) >> 1, size);
        sum.nodes += below.nodes;
        sum.solutions += below.solutions;
    }
    return sum;
}

// --- matmul --------------------------------------------------------------------------------------

inline constexpr std::size_t block_size = 32;

/// sum += left * right, of squares inside larger matrices whose rows are `stride` apart.
struct product {
    const std::int32_t* left;
    const std::int32_t* right;
    std::int32_t* sum;
    std::size_t size;
    std::size_t stride;

    /// A quarter of `sum`, by one of the two pairs of quarters that it needs.
    [[nodiscard]] product quarter(std::size_t index, std::size_t pair) const noexcept {
        const std::size_t half = size / 2;
        const std::size_t row = index / 2;
        const std::size_t column = index % 2;
        return {.left = left + (row * stride + pair) * half,
                .right = right + (pair * stride + column) * half,
                .sum = sum + (row * stride + column) * half,
                .size = half,
                .stride = stride};
    }
};

/// The leaf. Not inlined: every runtime runs the same code.
[[gnu::noinline]] inline void multiply_block(const product& of) noexcept {
    for (std::size_t row = 0; row != block_size; ++row) {
        std::int32_t* const sum = of.sum + row * of.stride;
        for (std::size_t inner = 0; inner != block_size; ++inner) {
            const std::int32_t factor = of.left[row * of.stride + inner];
            const std::int32_t* const right = of.right + inner * of.stride;
            for (std::size_t column = 0; column != block_size; ++column) {
                sum[column] += factor * right[column];
            }
        }
    }
}

class matrices {
public:
    explicit matrices(std::size_t size)
        : size_{size}, left_(size * size), right_(size * size), sum_(size * size) {
        for (std::size_t i = 0; i != left_.size(); ++i) {
            left_[i] = static_cast<std::int32_t>(i % 7) - 3;
            right_[i] = static_cast<std::int32_t>(i % 11) - 5;
        }
    }

    [[nodiscard]] product whole() noexcept {
        return {.left = left_.data(),
                .right = right_.data(),
                .sum = sum_.data(),
                .size = size_,
                .stride = size_};
    }

    /// Whether the sum is the product: by what both make of a vector, as Freivalds does.
    [[nodiscard]] bool are_multiplied() const {
        std::vector<std::int64_t> vector(size_);
        for (std::size_t i = 0; i != size_; ++i) vector[i] = static_cast<int>(i * i % 13) - 6;
        return times(sum_, vector) == times(left_, times(right_, vector));
    }

private:
    [[nodiscard]] std::vector<std::int64_t> times(const std::vector<std::int32_t>& matrix,
                                                  const std::vector<std::int64_t>& vector) const {
        std::vector<std::int64_t> found(size_);
        for (std::size_t row = 0; row != size_; ++row) {
            for (std::size_t i = 0; i != size_; ++i) {
                found[row] += matrix[row * size_ + i] * vector[i];
            }
        }
        return found;
    }

    std::size_t size_;
    std::vector<std::int32_t> left_;
    std::vector<std::int32_t> right_;
    std::vector<std::int32_t> sum_;
};

// --- the program ---------------------------------------------------------------------------------

/// What a solver is asked: a case, its size, how many tasks it makes, and what is right.
struct question {
    std::uint64_t size;
    std::uint64_t tasks;
    std::uint64_t right;
};

inline question make_question(const std::string& name, std::uint64_t size) {
    if (name == "fib") {
        return {size, 2 * fib_by_addition(size + 1) - 1, fib_by_addition(size)};
    }
    if (name == "skynet") {
        std::uint64_t nodes = 1;
        for (std::uint64_t row = 1; row < size;) nodes += row *= skynet_children;
        return {size, skynet_rounds * nodes, skynet_rounds * (size * (size - 1) / 2)};
    }
    if (name == "nqueens") {
        const queens_count found = count_queens(size);
        return {size, found.nodes, found.solutions};
    }
    std::uint64_t tasks = 1;
    for (std::uint64_t row = 1, side = size; side > block_size; side /= 2) tasks += row *= 8;
    return {size, tasks, 1};
}

inline bool is_power(std::uint64_t size, std::uint64_t base) noexcept {
    while (size > 1 && size % base == 0) size /= base;
    return size == 1;
}

inline void check_size(const std::string& name, std::uint64_t size) {
    if (name == "skynet" && !is_power(size, skynet_children)) {
        usage_error("skynet needs a power of 10");
    }
    if (name == "nqueens" && (size == 0 || size > queens_max)) {
        usage_error("nqueens needs 1 to 16 queens");
    }
    if (name == "matmul" && (size % block_size != 0 || !is_power(size / block_size, 2))) {
        usage_error("matmul needs 32, 64, 128, ...");
    }
}

/// What runs before the clock starts.
inline std::uint64_t smaller(const std::string& name, std::uint64_t size) {
    if (name == "skynet") return std::max<std::uint64_t>(size / 10, 1);
    if (name == "matmul") return std::max<std::uint64_t>(size / 4, block_size);
    return size < 8 ? size : size - 4;
}

/// Asks `solver`, and says how long it took, and whether it was right.
template <class Solver>
measurement ask(Solver& solver, const std::string& name, const question& asked) {
    matrices factors{name == "matmul" ? asked.size : 0};
    std::uint64_t answer = 0;
    const stopwatch watch;
    if (name == "fib") answer = solver.fib(asked.size);
    if (name == "skynet") {
        for (std::uint64_t i = 0; i != skynet_rounds; ++i) answer += solver.skynet(asked.size);
    }
    if (name == "nqueens") answer = solver.nqueens(asked.size);
    if (name == "matmul") solver.matmul(factors.whole());
    measurement found = watch.per_item(asked.tasks);
    found.value *= static_cast<double>(asked.tasks) * 1e-6;
    found.unit = "ms";
    if (name == "matmul") answer = factors.are_multiplied() ? 1 : 0;
    if (answer != asked.right) found.failure = "the result is wrong";
    return found;
}

template <class Solver>
std::optional<measurement> measure(const options& asked) {
    constexpr std::array names{"fib", "skynet", "nqueens", "matmul"};
    if (std::ranges::find(names, asked.name) == names.end()) return std::nullopt;
    check_size(asked.name, asked.count);
    Solver solver{asked.workers};
    measurement warm =
        ask(solver, asked.name, make_question(asked.name, smaller(asked.name, asked.count)));
    if (!warm.failure.empty()) return warm;
    return ask(solver, asked.name, make_question(asked.name, asked.count));
}

template <class Solver>
int main(int argc, char** argv) {
    return run_main(argc, argv, "W5", Solver::name, measure<Solver>);
}

}  // namespace bench::w5
