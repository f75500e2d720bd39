// The recycler: blocks go from thread to thread by the batch. No two threads use the same block.
#include "model/explore.hpp"

#include <fairlead/detail/sync/recycler.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <span>

namespace fairlead::sync::recycler_tests {
namespace {

using model::require;

constexpr std::size_t size = 1000;  // so that a batch has few blocks
constexpr std::size_t batch = 8;

// Takes `count` blocks and writes into each. The writes must not race with the previous user.
template <std::size_t count>
std::array<int*, count> take(recycler::cache& from) {
    std::array<int*, count> blocks;
    for (int*& each : blocks) {
        each = static_cast<int*>(from.allocate(size));
        *each = 0;
    }
    for (int* const each : blocks) require(++*each == 1, "each is another block");
    return blocks;
}

void give(recycler::cache& to, std::span<int* const> blocks) {
    for (int* const each : blocks) to.free(each, size);
}

TEST(ModelRecycler, ABatchIsFreedByOneThreadAndUsedByAnother) {
    model::expect_passes([] {
        recycler depot;
        const auto frees = [&] {
            recycler::cache own{depot};
            give(own, take<2 * batch + 1>(own));  // a batch too many: it goes to the depot
        };
        const auto uses = [&] {
            recycler::cache own{depot};
            give(own, take<1>(own));
        };
        model::in_threads(frees, uses);
    });
}

TEST(ModelRecycler, ABlockIsFreedByAThreadThatHasNotAllocatedIt) {
    model::expect_passes([] {
        recycler depot;
        recycler::cache own{depot};
        const auto blocks = take<batch + 1>(own);
        const auto frees = [&] {
            recycler::cache others{depot};
            give(others, blocks);
        };
        const auto uses = [&] {
            recycler::cache others{depot};
            give(others, take<1>(others));
        };
        model::in_threads(frees, uses);
    });
}

}  // namespace
}  // namespace fairlead::sync::recycler_tests
