// How to get from a frame of a stack to the frame of its caller. The compiler writes rules for each
// instruction of an object, for exceptions and debuggers (.eh_frame, described by the DWARF
// standard and the LSB).
//
// All memory is read through a function that copies it and may fail, so an object that is unloaded
// meanwhile is no worse than an object without rules. Any thread; no locks, no allocation.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace fairlead::diagnostics {

// Copies memory of this process. False: the memory is gone.
using memory_reader = bool (*)(std::uintptr_t from, std::span<std::byte> to) noexcept;

// The numbers that the tables give to registers.
namespace registers {
#if defined(__x86_64__) && defined(__LP64__)
inline constexpr unsigned frame = 6, stack = 7, return_address = 16, count = 17;
inline constexpr bool are_known = true;
inline constexpr bool record_ends_frame = true;  // {frame pointer, return address}
#elif defined(__aarch64__) && defined(__LP64__)
inline constexpr unsigned frame = 29, stack = 31, return_address = 30, count = 32;
inline constexpr bool are_known = true;
inline constexpr bool record_ends_frame = false;
#else
inline constexpr unsigned frame = 0, stack = 1, return_address = 2, count = 3;
inline constexpr bool are_known = false;
inline constexpr bool record_ends_frame = false;
#endif
}  // namespace registers

// Where a register of the caller is. The frame address is the stack pointer before the call.
struct frame_rule {
    enum class how : std::uint8_t {
        kept,         // where it was
        lost,         // nowhere; of the return address: there is no caller
        at_offset,    // in memory, at the frame address + value
        is_offset,    // it is the frame address + value
        in_register,  // in the register of that number
        at_result,    // in memory, where the expression says
        is_result,    // what the expression says
    };

    how manner = how::kept;
    std::int64_t value = 0;
    std::span<const std::byte> expression{};
};

struct frame_rules {
    unsigned base = registers::count;  // the frame address is this register + frame.value,
    frame_rule frame{};                // or what its expression says
    std::array<frame_rule, registers::count> of{};
};

// The entry of a function in the table.
class frame_entry {
public:
    explicit frame_entry(memory_reader read) noexcept : read_{read} {}
    frame_entry(const frame_entry&) = delete;
    frame_entry& operator=(const frame_entry&) = delete;

    // Finds the rules at an instruction. False: there are none, or their form is unknown here.
    [[nodiscard]] bool find(std::uintptr_t instruction) noexcept;

    // The rules that were found. Valid until the next find.
    [[nodiscard]] const frame_rules& rules() const noexcept { return rules_; }
    // Where the function begins.
    [[nodiscard]] std::uintptr_t function() const noexcept { return function_; }
    // The frame was not called: a signal has interrupted the function below it.
    [[nodiscard]] bool is_of_signal() const noexcept { return of_signal_; }

private:
    using entry_bytes =
        std::array<std::byte, 2048>;  // few are longer than 100, and of those are none

    [[nodiscard]] std::uintptr_t look_up(std::uintptr_t instruction) noexcept;
    [[nodiscard]] std::span<const std::byte> read_entry(std::uintptr_t at,
                                                        entry_bytes& to) const noexcept;
    [[nodiscard]] bool apply(std::span<const std::byte> program, std::uint64_t until) noexcept;

    memory_reader read_;
    entry_bytes own_;     // the rules refer to it
    entry_bytes common_;  // the rules refer to it
    std::uintptr_t function_ = 0;
    std::uint64_t code_unit_ = 1;
    std::int64_t data_unit_ = 1;
    bool of_signal_ = false;
    frame_rules rules_;
    frame_rules first_;  // the rules where the function begins
};

}  // namespace fairlead::diagnostics
