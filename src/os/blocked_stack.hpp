// The stack of a thread that waits in the kernel: which calls of the program the thread is in.
//
// The monitor copies the stack, and does not disturb the thread: a signal would end its call.
//
//     1. The kernel tells the instruction and the stack pointer of the thread.
//     2. The monitor copies the stack.
//     3. The kernel tells the instruction and the stack pointer again.
//
// If both answers are equal, the copy is the stack of the waiting thread. The thread may have gone
// on and come back to the same call meanwhile; then the copy may be a mixture of both stacks.
// unwinder.hpp reads the copy afterwards.
#pragma once

#include "os/unwinder.hpp"

#include <array>
#include <cstddef>
#include <span>

namespace fairlead::os {

class blocked_stack {
public:
    // Copies the stack of the thread of this process with that number. The copy is empty if the
    // thread runs, if there is no such thread, or if the system does not tell. Takes some ten
    // microseconds; no allocation, no locks.
    void copy(int thread_id) noexcept;

    // See `unwind`. Takes some hundred microseconds.
    [[nodiscard]] std::size_t unwind(std::span<void*> frames) const noexcept;

private:
    static constexpr std::size_t page = 4096;  // or a part of one

    // So much of the stack is copied: the frames of a step are near its top.
    std::array<std::byte, 16 * page> bytes_;
    std::size_t size_ = 0;
    thread_position at_{};
};

}  // namespace fairlead::os
