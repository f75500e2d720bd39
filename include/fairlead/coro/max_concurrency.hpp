// How many children of a combinator run at once.
#pragma once

#include <fairlead/detail/base/assert.hpp>

#include <cstddef>
#include <limits>

namespace fairlead {

/// `co_await when_all(std::move(downloads), fl::max_concurrency{8})`: the first 8 begin, and each
/// end starts the next one, in order. Without it all begin at once.
struct max_concurrency {
    /// No bound.
    constexpr max_concurrency() noexcept = default;
    /// At least one.
    constexpr explicit max_concurrency(std::size_t at_once) noexcept : count{at_once} {
        FAIRLEAD_ASSERT(at_once != 0, "a bound of no task: none could ever run");
    }

    /// How many.
    std::size_t count = std::numeric_limits<std::size_t>::max();
};

}  // namespace fairlead
