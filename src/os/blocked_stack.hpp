// The stack of a thread that waits in the kernel: where in the program that is.
//
// The monitor asks, and the thread knows nothing of it: a signal would end its call. The kernel says where it is and where its stack is; the
// stack is copied, and the kernel asked again. What it says is the same, so the copy is what the thread sees while it waits; unless it
// went on and came back to the same call meanwhile, when it may be a mixture of both. The copy is read by unwinder.hpp at leisure.
#pragma once

#include "os/unwinder.hpp"

#include <array>
#include <cstddef>
#include <span>

namespace fairlead::os {

class blocked_stack {
public:
    // Copies the stack of the thread of this process with that number. Without it there are no frames: the thread runs, there is none,
    // or the system does not tell. Some ten microseconds; no allocation, no locks.
    void copy(int thread_id) noexcept;

    // See `unwind`. Some hundred microseconds.
    [[nodiscard]] std::size_t unwind(std::span<void*> frames) const noexcept;

private:
    static constexpr std::size_t page = 4096;  // or a part of one

    // Reads no more of the stack: what calls a step is not far from it.
    std::array<std::byte, 16 * page> bytes_;
    std::size_t size_ = 0;
    thread_position at_{};
};

}  // namespace fairlead::os
