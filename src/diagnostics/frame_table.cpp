#include "diagnostics/frame_table.hpp"

#include "diagnostics/table_cursor.hpp"

#include <dlfcn.h>

#include <optional>
#include <string_view>

#if defined(__GLIBC__)
#if __GLIBC_PREREQ(2, 35)
#define FAIRLEAD_HAS_FIND_OBJECT
#endif
#endif

namespace fairlead::diagnostics {
namespace {

using how = frame_rule::how;

// The index of an object's table, if it has the form that all linkers write.
struct index_header {
    std::uint32_t form;
    std::int32_t table;
    std::uint32_t count;
};
constexpr std::uint32_t known_form = 0x3b031b01;  // version 1; 32-bit offsets, sorted

struct index_row {
    std::int32_t function;  // from the header on
    std::int32_t entry;
};

template <class Value>
[[nodiscard]] bool read_value(memory_reader read, std::uintptr_t from, Value& to) noexcept {
    return read(from, std::as_writable_bytes(std::span{&to, 1}));
}

// The target of a pointer in the table. 0: it cannot be read.
[[nodiscard]] std::size_t size_of(std::uint8_t encoding) noexcept {
    switch (encoding & 0x0f) {
        case 0x02:
        case 0x0a:
            return 2;
        case 0x03:
        case 0x0b:
            return 4;
        case 0x0f:
            return 0;
        default:
            return 8;
    }
}

// The index of the object that has this code in it; 0: none. Asks the loader without a lock,
// because the blocked step may hold the locks of the loader.
[[nodiscard]] std::uintptr_t find_index([[maybe_unused]] std::uintptr_t instruction) noexcept {
#if defined(FAIRLEAD_HAS_FIND_OBJECT)
    dl_find_object object;
    if (::_dl_find_object(reinterpret_cast<void*>(instruction), &object) == 0) {
        return reinterpret_cast<std::uintptr_t>(object.dlfo_eh_frame);
    }
#endif
    return 0;
}

// Instructions of the table, named as in DWARF. The first three have an operand in their lower
// bits.
enum : std::uint8_t {
    dw_cfa_advance_loc = 0x40,
    dw_cfa_offset = 0x80,
    dw_cfa_restore = 0xc0,
    dw_cfa_nop = 0x00,
    dw_cfa_advance_loc1 = 0x02,
    dw_cfa_advance_loc2 = 0x03,
    dw_cfa_advance_loc4 = 0x04,
    dw_cfa_offset_extended = 0x05,
    dw_cfa_restore_extended = 0x06,
    dw_cfa_undefined = 0x07,
    dw_cfa_same_value = 0x08,
    dw_cfa_in_register = 0x09,
    dw_cfa_remember_state = 0x0a,
    dw_cfa_restore_state = 0x0b,
    dw_cfa_def_cfa = 0x0c,
    dw_cfa_def_cfa_register = 0x0d,
    dw_cfa_def_cfa_offset = 0x0e,
    dw_cfa_def_cfa_expression = 0x0f,
    dw_cfa_expression = 0x10,
    dw_cfa_offset_extended_sf = 0x11,
    dw_cfa_def_cfa_sf = 0x12,
    dw_cfa_def_cfa_offset_sf = 0x13,
    dw_cfa_val_offset = 0x14,
    dw_cfa_val_offset_sf = 0x15,
    dw_cfa_val_expression = 0x16,
    dw_cfa_gnu_window_save = 0x2d,
    dw_cfa_gnu_args_size = 0x2e,
};

// The instructions of a table: each changes a rule, or says from where on the next rules hold.
class rule_changes {
public:
    rule_changes(frame_rules& rules, const frame_rules& first, std::int64_t unit) noexcept
        : rules_{rules}, first_{first}, unit_{unit} {}

    // From how many units of code later on the next rules hold. None: the instruction is unknown.
    [[nodiscard]] std::optional<std::uint64_t> make_one(table_cursor& code) noexcept {
        const auto byte = code.take<std::uint8_t>();
        const unsigned low = byte & 0x3f;
        switch (byte & 0xc0) {
            case dw_cfa_advance_loc:
                return low;
            case dw_cfa_offset:
                return set(low, how::at_offset, scaled(code.take_unsigned()));
            case dw_cfa_restore:
                return restore(low);
            default:
                break;
        }
        switch (byte) {
            case dw_cfa_nop:
                return 0;
            case dw_cfa_advance_loc1:
                return code.take<std::uint8_t>();
            case dw_cfa_advance_loc2:
                return code.take<std::uint16_t>();
            case dw_cfa_advance_loc4:
                return code.take<std::uint32_t>();
            case dw_cfa_remember_state:
                return keep();
            case dw_cfa_restore_state:
                return take_kept();
            case dw_cfa_def_cfa_register:
                return set_base(code.take_unsigned(), rules_.frame.value);
            case dw_cfa_def_cfa_offset:
                return set_base(rules_.base, as_signed(code.take_unsigned()));
            case dw_cfa_def_cfa_expression:
                return set_frame({how::is_result, 0, code.take_block()});
            case dw_cfa_def_cfa_offset_sf:
                return set_base(rules_.base, scaled(code.take_signed()));
            case dw_cfa_gnu_window_save:
                return 0;  // whether the return address is signed; the signature is cut off
            case dw_cfa_gnu_args_size:
                code.take_unsigned();
                return 0;  // the size of arguments
            default:
                return of_register(byte, code.take_unsigned(), code);
        }
    }

private:
    [[nodiscard]] std::optional<std::uint64_t> of_register(std::uint8_t instruction,
                                                           std::uint64_t number,
                                                           table_cursor& code) noexcept {
        switch (instruction) {
            case dw_cfa_offset_extended:
                return set(number, how::at_offset, scaled(code.take_unsigned()));
            case dw_cfa_restore_extended:
                return restore(number);
            case dw_cfa_undefined:
                return set(number, how::lost, 0);
            case dw_cfa_same_value:
                return set(number, how::kept, 0);
            case dw_cfa_in_register:
                return set(number, how::in_register, as_signed(code.take_unsigned()));
            case dw_cfa_def_cfa:
                return set_base(number, as_signed(code.take_unsigned()));
            case dw_cfa_expression:
                return set(number, how::at_result, 0, code.take_block());
            case dw_cfa_offset_extended_sf:
                return set(number, how::at_offset, scaled(code.take_signed()));
            case dw_cfa_def_cfa_sf:
                return set_base(number, scaled(code.take_signed()));
            case dw_cfa_val_offset:
                return set(number, how::is_offset, scaled(code.take_unsigned()));
            case dw_cfa_val_offset_sf:
                return set(number, how::is_offset, scaled(code.take_signed()));
            case dw_cfa_val_expression:
                return set(number, how::is_result, 0, code.take_block());
            default:
                return std::nullopt;
        }
    }

    static std::int64_t as_signed(std::uint64_t value) noexcept {
        return static_cast<std::int64_t>(value);
    }
    template <class Number>
    [[nodiscard]] std::int64_t scaled(Number value) const noexcept {
        return as_signed(static_cast<std::uint64_t>(value) * static_cast<std::uint64_t>(unit_));
    }

    // Registers that are not followed, such as those of vectors, have no rule.
    std::uint64_t set(std::uint64_t number, how manner, std::int64_t value,
                      std::span<const std::byte> expression = {}) noexcept {
        if (number < registers::count) rules_.of[number] = {manner, value, expression};
        return 0;
    }
    std::uint64_t restore(std::uint64_t number) noexcept {
        if (number < registers::count) rules_.of[number] = first_.of[number];
        return 0;
    }
    std::uint64_t set_frame(const frame_rule& rule) noexcept {
        rules_.frame = rule;
        return 0;
    }
    std::uint64_t set_base(std::uint64_t number, std::int64_t value) noexcept {
        rules_.base = number < registers::count ? static_cast<unsigned>(number) : registers::count;
        return set_frame({how::is_offset, value, {}});
    }
    [[nodiscard]] std::optional<std::uint64_t> keep() noexcept {
        if (depth_ == kept_.size()) return std::nullopt;
        kept_[depth_++] = rules_;
        return 0;
    }
    [[nodiscard]] std::optional<std::uint64_t> take_kept() noexcept {
        if (depth_ == 0) return std::nullopt;
        rules_ = kept_[--depth_];
        return 0;
    }

    frame_rules& rules_;
    const frame_rules& first_;
    const std::int64_t unit_;  // of offsets
    std::array<frame_rules, 4> kept_;
    std::size_t depth_ = 0;
};

}  // namespace

// Where the entry of the function is; 0: there is none.
std::uintptr_t frame_entry::look_up(std::uintptr_t instruction) noexcept {
    const std::uintptr_t index = find_index(instruction);
    index_header header{};
    if (index == 0 || !read_value(read_, index, header) || header.form != known_form) return 0;
    const auto offset = static_cast<std::int64_t>(instruction - index);
    index_row found{};
    std::uint32_t low = 0;
    for (std::uint32_t high = header.count; low != high;) {
        const std::uint32_t middle = low + (high - low) / 2;
        index_row row{};
        if (!read_value(read_, index + sizeof(header) + middle * sizeof(row), row)) return 0;
        if (row.function <= offset) {
            found = row;
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    function_ = index + static_cast<std::uintptr_t>(std::int64_t{found.function});
    return low != 0 ? index + static_cast<std::uintptr_t>(std::int64_t{found.entry}) : 0;
}

std::span<const std::byte> frame_entry::read_entry(std::uintptr_t at,
                                                   entry_bytes& to) const noexcept {
    std::uint32_t size = 0;
    if (!read_value(read_, at, size) || size > to.size()) return {};
    const std::span<std::byte> bytes = std::span{to}.first(size);
    return read_(at + sizeof(size), bytes) ? bytes : std::span<std::byte>{};
}

bool frame_entry::find(std::uintptr_t instruction) noexcept {
    const std::uintptr_t at = look_up(instruction);
    if (at == 0) return false;
    table_cursor own{read_entry(at, own_)};
    const auto back = own.take<std::uint32_t>();
    table_cursor common{read_entry(at + sizeof(back) - back, common_)};
    const bool is_common = own.good() && common.take<std::uint32_t>() == 0 && common.good();
    if (!is_common) return false;

    const auto version = common.take<std::uint8_t>();
    const auto* const letters = reinterpret_cast<const char*>(common.rest().data());
    std::string_view kinds{letters, common.rest().size()};
    kinds = kinds.substr(0, kinds.find('\0'));
    common.take_bytes(kinds.size() + 1);
    code_unit_ = common.take_unsigned();
    data_unit_ = common.take_signed();
    const std::uint64_t column =
        version == 1 ? common.take<std::uint8_t>() : common.take_unsigned();
    if (column != registers::return_address) return false;

    std::uint8_t encoding = 0;
    of_signal_ = false;
    const bool has_size = kinds.starts_with('z');
    if (!has_size && !kinds.empty()) return false;
    table_cursor more{has_size ? common.take_block() : std::span<const std::byte>{}};
    for (const char kind : kinds) {
        if (kind == 'R') encoding = more.take<std::uint8_t>();
        if (kind == 'L') more.take<std::uint8_t>();
        if (kind == 'P') more.take_bytes(size_of(more.take<std::uint8_t>()));
        if (kind == 'S') of_signal_ = true;
    }
    const std::size_t pointer = size_of(encoding);
    own.take_bytes(pointer);  // where the function begins
    const std::uint64_t size = pointer == 8 ? own.take<std::uint64_t>() : own.take<std::uint32_t>();
    if (has_size) own.take_block();
    const std::uint64_t offset = instruction - function_;
    if (!own.good() || !common.good() || !more.good() || offset >= size) return false;

    rules_ = {};
    if (!apply(common.rest(), 0)) return false;
    first_ = rules_;
    return apply(own.rest(), offset);
}

// Changes the rules as the program says, up to the instruction at that offset.
bool frame_entry::apply(std::span<const std::byte> program, std::uint64_t until) noexcept {
    table_cursor code{program};
    rule_changes changes{rules_, first_, data_unit_};
    for (std::uint64_t offset = 0; !code.done();) {
        const auto step = changes.make_one(code);
        if (!step || !code.good()) return false;
        offset += *step * code_unit_;
        if (offset > until) break;
    }
    return true;
}

}  // namespace fairlead::diagnostics
