// A part of a task that runs in another context.
#pragma once

#include <fairlead/detail/coro/context_node.hpp>
#include <fairlead/detail/coro/root.hpp>

#include <utility>

namespace fairlead::coro {

/// Lies in a frame of `self`. Frames of one task end in the reverse order of their beginnings, so
/// each finds the context that it has set.
class entered {
public:
    entered(root& self, held_context inner) noexcept
        : self_{self}, outer_{self.change_context(std::move(inner))} {}
    /// `made`: a new node.
    entered(root& self, const context_node& made) noexcept
        : entered{self, held_context::adopt(made)} {}
    entered(const entered&) = delete;
    entered& operator=(const entered&) = delete;
    ~entered() { static_cast<void>(self_.change_context(std::move(outer_))); }

private:
    root& self_;
    held_context outer_;
};

}  // namespace fairlead::coro
