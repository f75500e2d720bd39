// An operation that must have ended before the frames of its task may go.
#pragma once

#include <fairlead/detail/coro/awaited_operation.hpp>
#include <fairlead/detail/coro/root.hpp>

#include <utility>

namespace fairlead::coro {

/// Lies in a frame of `holder` and keeps all frames of `holder` until the operation has ended.
class held_operation {
public:
    held_operation(root& holder, awaited_operation& operation) noexcept
        : holder_{holder}, operation_{operation}, outer_{std::exchange(holder.held_, this)} {}
    held_operation(const held_operation&) = delete;
    held_operation& operator=(const held_operation&) = delete;
    ~held_operation() { holder_.held_ = outer_; }

private:
    friend class root;

    root& holder_;
    awaited_operation& operation_;
    held_operation* const outer_;
};

}  // namespace fairlead::coro
