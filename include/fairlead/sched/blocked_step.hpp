// What `scheduler_options::on_blocked` is told.
#pragma once

#include <fairlead/detail/base/language.hpp>

#include <cstdio>
#include <span>

namespace fairlead {

/// A step that blocks and did not say so.
struct blocked_step {
    /// The name of its task.
    const char* name;

    /// The kernel's number of the thread that it blocks.
    int thread_id;

    /// Whether it still has its slot, so that nothing else runs there. Otherwise another thread has
    /// it.
    bool keeps_slot;

    /// The calls that the step was in when it was found, innermost first: where the thread waits,
    /// and where each call returns to, as `backtrace` of the C library has it. Empty before
    /// `diagnostics::enable_stacks`, if the system does not tell, or if the thread went on
    /// meanwhile. The list ends before a frame that cannot be understood. docs/manual/blocking.md
    /// has the limits.
    std::span<void* const> stack;

    /// Prints all of it, one line for each call, as the default of `on_blocked` does. The addresses
    /// are those of the calls, for addr2line. Before `diagnostics::enable_stacks` one line says
    /// that this function is missing. Takes the locks of the loader and of `to`.
    void print(std::FILE* to) const noexcept;
};

}  // namespace fairlead
