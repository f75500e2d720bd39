// How many pairs of a promise and a future there are.
#pragma once

#include <fairlead/detail/base/language.hpp>

#include <cstddef>

namespace fairlead::futures {

/// Counts itself. The count is spread over lines of the cache, so that threads do not share one.
class live_count {
public:
    live_count() noexcept;
    live_count(const live_count&) = delete;
    live_count& operator=(const live_count&) = delete;
    ~live_count();

    [[nodiscard]] static std::size_t total() noexcept;
};

}  // namespace fairlead::futures
