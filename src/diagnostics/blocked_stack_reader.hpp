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

#include "sched/block/stack_reader.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace fairlead::diagnostics {

class blocked_stack_reader final : public sched::stack_reader {
public:
    void copy(int thread_id, sched::stack_copy& to) const noexcept override;
    [[nodiscard]] std::size_t unwind(const sched::stack_copy& from,
                                     std::span<void*> frames) const noexcept override;
    // See `name_code`.
    void name(std::uintptr_t address, std::span<char> text) const noexcept override;
};

}  // namespace fairlead::diagnostics
