// Which calls a thread is in: the unwinder goes from each frame of the stack to the frame of the
// caller, by the rules of frame_table.hpp.
//
// At first the unwinder knows two registers of the thread: the stack pointer and the instruction.
// It knows a further register once a frame has saved it. The rules may need an unknown register, as
// for a function with a frame pointer that calls the system. Then the unwinder looks for the frame
// on the stack: a frame begins with {frame pointer of the caller, return address}, and the return
// address is behind a call of that function. The target of a call by a pointer is unknown; such a
// frame is believed if its frame pointer leads further up the stack.
//
// The unwinder reads a copy of the stack, tables and code only, so that it always ends. Any thread;
// no locks, no allocation.
#pragma once

#include "diagnostics/frame_table.hpp"
#include "sched/block/stack_reader.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace fairlead::diagnostics {

using sched::thread_position;

// Fills `frames`, innermost first: where the thread is, and where its calls return to. Returns the
// number of frames; 0 if the processor or the C library is unknown here. `stack` is a copy of the
// memory from the stack pointer on.
[[nodiscard]] std::size_t unwind(const thread_position& from, std::span<const std::byte> stack,
                                 memory_reader read, std::span<void*> frames) noexcept;

}  // namespace fairlead::diagnostics
