// Which calls a thread is in: from one frame of its stack to that of the caller, by the rules of frame_table.hpp.
//
// Nobody knows the registers of the thread but the stack pointer and where it is: others are known once a frame has saved
// them. Where the rules need one that is not, as for a function with a frame pointer that calls the system, its frame is
// looked for on the stack: it begins with {frame pointer of the caller, return address}, and what returns there is a call
// of that function. What cannot be seen, as in calls by pointers, is believed if the frame pointer leads further up the stack.
//
// It sees nothing but a copy of the stack, tables and code, so that it ends whatever is there. Any thread; no locks, no allocation.
#pragma once

#include "os/frame_table.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace fairlead::os {

struct thread_position {
    std::uintptr_t instruction = 0;
    std::uintptr_t stack = 0;  // the stack pointer
    bool after_call = true;    // of the system: the instruction is the one after it
};

// Fills `frames`, innermost first: where the thread is, and where its calls return to. `stack` is what was at the stack pointer. How many there
// are; 0 where the processor or the C library is not known here.
[[nodiscard]] std::size_t unwind(const thread_position& from, std::span<const std::byte> stack,
                                 memory_reader read, std::span<void*> frames) noexcept;

}  // namespace fairlead::os
