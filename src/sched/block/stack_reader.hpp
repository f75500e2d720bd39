// Where the stack of a step that blocks comes from.
//
// The core cannot read stacks. The library fairlead::diagnostics can, and
// `diagnostics::enable_stacks` makes its reader the one of the process. Without a reader a report
// has no stack.
//
// The monitor asks for the reader at each report, so the monitors that run already have it from
// their next report on.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace fairlead::sched {

struct thread_position {
    std::uintptr_t instruction = 0;
    std::uintptr_t stack = 0;  // the stack pointer
    bool after_call = true;    // `instruction` is the one behind a system call
};

// The stack of a thread that waits in the kernel. The monitor keeps the copy, and only the reader
// knows what is in it.
struct stack_copy {
    // So much of the stack is copied: the frames of a step are near its top.
    static constexpr std::size_t size_max = 64 * 1024;

    thread_position at{};
    std::size_t size = 0;  // 0: there is no copy
    std::array<std::byte, size_max> bytes;
};

// Any thread; no locks and no allocation but those of `name`.
class stack_reader {
public:
    // Copies the stack of the thread of this process with that number. The copy is empty if the
    // thread runs, if there is no such thread, or if the system does not tell. Takes some ten
    // microseconds.
    virtual void copy(int thread_id, stack_copy& to) const noexcept = 0;

    // Fills `frames`, innermost first: where the thread is, and where its calls return to. Returns
    // the number of frames; 0 if the copy is empty. Takes some hundred microseconds.
    [[nodiscard]] virtual std::size_t unwind(const stack_copy& from,
                                             std::span<void*> frames) const noexcept = 0;

    // Writes the name of an address in code, ended by a 0.
    virtual void name(std::uintptr_t address, std::span<char> text) const noexcept = 0;

protected:
    ~stack_reader() = default;
};

// The reader of the process; null: there is none. Any thread.
[[nodiscard]] const stack_reader* current_stack_reader() noexcept;

// From now on this is the reader of the process. It lives as long as the process. Null takes the
// reader away, for tests. Any thread.
void use_stack_reader(const stack_reader* reader) noexcept;

}  // namespace fairlead::sched
