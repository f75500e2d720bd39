#include "diagnostics/unwinder.hpp"

#include "diagnostics/table_cursor.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <utility>

namespace fairlead::diagnostics {
namespace {

using how = frame_rule::how;
using word = std::optional<std::uintptr_t>;

// --- calls in machine code -----------------------------------------------------------------------

// The target of the call that returns to an address.
enum class returns_from : std::uint8_t {
    nothing,
    another,    // a call of another function
    something,  // a call by a pointer, with an unknown target
    it,         // a call of the function
};

#if defined(__x86_64__)

// Follows a jump through the table of another object; any other target stays the same.
std::uintptr_t behind_jump(std::uintptr_t target, memory_reader read) noexcept {
    std::array<std::uint8_t, 11> code{};
    if (!read(target, std::as_writable_bytes(std::span{code}))) return target;
    std::size_t at = 0;
    if (code[0] == 0xf3 && code[1] == 0x0f && code[2] == 0x1e && code[3] == 0xfa)
        at = 4;                                                   // endbr64
    if (code[at] == 0xf2) ++at;                                   // bnd
    if (code[at] != 0xff || code[at + 1] != 0x25) return target;  // jmp *offset(%rip)
    std::int32_t offset = 0;
    std::memcpy(&offset, &code[at + 2], sizeof(offset));
    const std::uintptr_t entry =
        target + at + 6 + static_cast<std::uintptr_t>(std::int64_t{offset});
    std::uintptr_t behind = 0;
    return read(entry, std::as_writable_bytes(std::span{&behind, 1})) ? behind : target;
}

returns_from look_at_call(std::uintptr_t address, std::uintptr_t function,
                          memory_reader read) noexcept {
    std::array<std::uint8_t, 7> before{};
    if (!read(address - before.size(), std::as_writable_bytes(std::span{before}))) {
        return returns_from::nothing;
    }
    if (before[2] == 0xe8) {  // call offset
        std::int32_t offset = 0;
        std::memcpy(&offset, &before[3], sizeof(offset));
        const std::uintptr_t target = address + static_cast<std::uintptr_t>(std::int64_t{offset});
        if (target == function || behind_jump(target, read) == function) return returns_from::it;
        return returns_from::another;
    }
    for (const std::size_t size : {2, 3, 4, 6, 7}) {  // call *register, call *memory
        const std::size_t at = before.size() - size;
        if (before[at] == 0xff && (before[at + 1] & 0x38) == 0x10) return returns_from::something;
    }
    return returns_from::nothing;
}

// The size that a function takes for its variables after it has saved registers: sub $size,%rsp,
// between these addresses.
std::uintptr_t size_of_variables(std::uintptr_t function, std::uintptr_t instruction,
                                 memory_reader read) noexcept {
    std::array<std::uint8_t, 64> code{};
    const auto size = std::min<std::uintptr_t>(code.size(), instruction - function);
    if (!read(function, std::as_writable_bytes(std::span{code}.first(size)))) return 0;
    for (std::size_t at = 0; at + 7 <= size; ++at) {
        if (code[at] != 0x48 || code[at + 2] != 0xec) continue;
        std::int32_t large = 0;
        std::memcpy(&large, &code[at + 3], sizeof(large));
        if (code[at + 1] == 0x81) return static_cast<std::uintptr_t>(large);
        if (code[at + 1] == 0x83) return code[at + 3];
    }
    return 0;
}

#else

std::uintptr_t size_of_variables(std::uintptr_t, std::uintptr_t, memory_reader) noexcept {
    return 0;
}

// bl, which may call through a table, and blr.
returns_from look_at_call(std::uintptr_t address, std::uintptr_t, memory_reader read) noexcept {
    std::uint32_t before = 0;
    const bool is_known = read(address - 4, std::as_writable_bytes(std::span{&before, 1}));
    const bool calls = (before >> 26) == 0x25 || (before & 0xfefff000) == 0xd63f0000;
    return is_known && calls ? returns_from::something : returns_from::nothing;
}

#endif

// Cuts off the signature of an address, on ARM; all user addresses of both processors are below it.
std::uintptr_t plain(std::uintptr_t address) noexcept {
    return address & ((std::uintptr_t{1} << 48) - 1);
}

// --- frames --------------------------------------------------------------------------------------

class walk {
public:
    walk(const thread_position& from, std::span<const std::byte> stack, memory_reader read) noexcept
        : instruction_{from.instruction},
          after_call_{from.after_call},
          begin_{from.stack},
          stack_{stack},
          read_{read},
          entry_{read} {
        known_[registers::stack] = from.stack;
    }

    [[nodiscard]] std::uintptr_t instruction() const noexcept { return instruction_; }

    // Goes to the caller. False: there is none, or it is unknown.
    [[nodiscard]] bool go_up() noexcept {
        // A call may be the last instruction of a function.
        if (!entry_.find(after_call_ ? instruction_ - 1 : instruction_)) return false;
        const frame_rules& rules = entry_.rules();
        if (rules.of[registers::return_address].manner == how::lost) return false;  // the first
        const word frame = value_of(rules.frame, in(rules.base), std::nullopt);
        if (!frame) return look_for_record();
        registers_known next{};
        for (unsigned i = 0; i != next.size(); ++i)
            next[i] = value_of(rules.of[i], frame, known_[i]);
        if (rules.of[registers::stack].manner == how::kept) next[registers::stack] = frame;
        if (!next[registers::return_address]) return look_for_record();
        known_ = next;
        return go_to(*std::exchange(known_[registers::return_address], std::nullopt));
    }

private:
    using registers_known = std::array<word, registers::count>;

    // Of expressions, as DWARF names them.
    enum : std::uint8_t {
        dw_op_deref = 0x06,
        dw_op_plus_uconst = 0x23,
        dw_op_breg0 = 0x70,
        dw_op_breg31 = 0x8f,
    };

    // Below it nothing is mapped.
    static constexpr std::uintptr_t begin_of_code = 4096;
    static constexpr std::uintptr_t largest_frame = 1 << 20;

    [[nodiscard]] bool go_to(std::uintptr_t address) noexcept {
        instruction_ = plain(address);
        after_call_ = !entry_.is_of_signal();
        return instruction_ != 0;
    }

    // Of the copied stack.
    [[nodiscard]] word at(std::uintptr_t address) const noexcept {
        const std::uintptr_t offset = address - begin_;
        std::uintptr_t value = 0;
        if (offset > stack_.size() || stack_.size() - offset < sizeof(value)) return std::nullopt;
        std::memcpy(&value, &stack_[offset], sizeof(value));
        return value;
    }

    [[nodiscard]] word in(std::int64_t number) const noexcept {
        const auto index = static_cast<std::uint64_t>(number);
        return index < known_.size() ? known_[index] : std::nullopt;
    }

    // From `base` on. `old` is what the register has now.
    [[nodiscard]] word value_of(const frame_rule& rule, word base, word old) const noexcept {
        const auto offset = static_cast<std::uintptr_t>(rule.value);
        switch (rule.manner) {
            case how::kept:
                return old;
            case how::lost:
                return std::nullopt;
            case how::in_register:
                return in(rule.value);
            case how::is_offset:
                return base ? word{*base + offset} : std::nullopt;
            case how::at_offset:
                return base ? at(*base + offset) : std::nullopt;
            case how::is_result:
                return result_of(rule.expression);
            case how::at_result:
                break;
        }
        const word address = result_of(rule.expression);
        return address ? at(*address) : std::nullopt;
    }

    // The expressions that compilers write for realigned frames and for signals: a register,
    // offsets,
    // and the memory there.
    [[nodiscard]] word result_of(std::span<const std::byte> expression) const noexcept {
        table_cursor code{expression};
        word value;
        while (!code.done()) {
            const auto byte = code.take<std::uint8_t>();
            if (byte >= dw_op_breg0 && byte <= dw_op_breg31) {
                value = in(byte - dw_op_breg0);
                const auto offset = static_cast<std::uintptr_t>(code.take_signed());
                if (value) *value += offset;
            } else if (byte == dw_op_plus_uconst) {
                const std::uint64_t offset = code.take_unsigned();
                if (value) *value += offset;
            } else if (byte == dw_op_deref) {
                if (value) value = at(*value);
            } else {
                return std::nullopt;
            }
        }
        return code.good() ? value : std::nullopt;
    }

    // The frame or the return address is unknown: looks for the two words that a function with a
    // frame
    // pointer saves first.
    [[nodiscard]] bool look_for_record() noexcept {
        const word pointer = known_[registers::frame];
        const word lowest = known_[registers::stack];
        if constexpr (registers::record_ends_frame) {
            const frame_rules& rules = entry_.rules();
            const bool has_record = rules.base == registers::frame &&
                                    rules.frame.manner == how::is_offset &&
                                    rules.frame.value == 2 * sizeof(std::uintptr_t);
            if (!has_record || pointer) return false;
        } else if (pointer) {
            return take_record(*pointer, returns_from::something);
        }
        if (!lowest) return false;
        // Certain matches first: words of earlier calls are on the stack, too.
        const std::uintptr_t expected = *lowest + size_of_frame();
        return take_record(expected, returns_from::it) || take_first(*lowest, returns_from::it) ||
               take_record(expected, returns_from::another) ||
               take_first(*lowest, returns_from::something);
    }

    [[nodiscard]] bool take_first(std::uintptr_t lowest, returns_from least) noexcept {
        constexpr std::uintptr_t alignment = 16;
        auto each = (lowest + alignment - 1) / alignment * alignment;
        while (at(each) && !take_record(each, least)) each += alignment;
        return at(each).has_value();
    }

    // From the stack pointer to the record, as the beginning of the function has it.
    [[nodiscard]] std::uintptr_t size_of_frame() const noexcept {
        std::uintptr_t size = size_of_variables(entry_.function(), instruction_, read_);
        for (unsigned i = 0; i != registers::count; ++i) {
            const bool is_in_record = i == registers::frame || i == registers::return_address;
            const bool is_saved = entry_.rules().of[i].manner == how::at_offset;
            if (is_saved && !is_in_record) size += sizeof(std::uintptr_t);
        }
        return size;
    }

    [[nodiscard]] bool take_record(std::uintptr_t record, returns_from least) noexcept {
        const word pointer = at(record);
        const word address = at(record + sizeof(std::uintptr_t));
        if (!pointer || !address || *address < begin_of_code || at(*address)) return false;
        const returns_from found = look_at_call(plain(*address), entry_.function(), read_);
        const bool leads_up = *pointer > record && *pointer - record < largest_frame;
        const bool is_likely = leads_up || found == returns_from::it ||
                               (found == returns_from::something && least != found);
        if (found < least || !is_likely) return false;
        known_ = {};
        known_[registers::frame] = pointer;
        if constexpr (registers::record_ends_frame) {
            known_[registers::stack] = record + 2 * sizeof(std::uintptr_t);
        }
        return go_to(*address);
    }

    std::uintptr_t instruction_;
    bool after_call_;
    const std::uintptr_t begin_;  // of the stack
    const std::span<const std::byte> stack_;
    const memory_reader read_;
    registers_known known_{};
    frame_entry entry_;
};

}  // namespace

std::size_t unwind(const thread_position& from, std::span<const std::byte> stack,
                   memory_reader read, std::span<void*> frames) noexcept {
    if (!registers::are_known || frames.empty()) return 0;
    walk at{from, stack, read};
    std::size_t count = 0;
    do {
        frames[count++] = reinterpret_cast<void*>(at.instruction());
    } while (count != frames.size() && at.go_up());
    return count;
}

}  // namespace fairlead::diagnostics
