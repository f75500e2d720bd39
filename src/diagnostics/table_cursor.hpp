// Reads a table of DWARF front to back. Past the end everything is 0, and it is no longer good.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace fairlead::diagnostics {

class table_cursor {
public:
    explicit table_cursor(std::span<const std::byte> bytes) noexcept : rest_{bytes} {}

    [[nodiscard]] bool good() const noexcept { return good_; }
    [[nodiscard]] bool done() const noexcept { return rest_.empty(); }
    [[nodiscard]] std::span<const std::byte> rest() const noexcept { return rest_; }

    std::span<const std::byte> take_bytes(std::uint64_t count) noexcept {
        if (count > rest_.size()) {
            good_ = false;
            rest_ = {};
            return {};
        }
        const auto taken = rest_.first(count);
        rest_ = rest_.subspan(count);
        return taken;
    }

    template <class Number>
    Number take() noexcept {
        Number value{};
        const auto bytes = take_bytes(sizeof(value));
        if (!bytes.empty()) std::memcpy(&value, bytes.data(), sizeof(value));
        return value;
    }

    // LEB128: seven bits a byte, the lowest first.
    std::uint64_t take_unsigned() noexcept { return take_leb(false); }
    std::int64_t take_signed() noexcept { return static_cast<std::int64_t>(take_leb(true)); }

    // Preceded by its size.
    std::span<const std::byte> take_block() noexcept { return take_bytes(take_unsigned()); }

private:
    std::uint64_t take_leb(bool is_signed) noexcept {
        std::uint64_t value = 0;
        unsigned shift = 0;
        std::uint8_t byte = 0;
        do {
            byte = take<std::uint8_t>();
            if (shift < 64) value |= (byte & std::uint64_t{0x7f}) << shift;
            shift += 7;
        } while ((byte & 0x80) != 0);
        if (is_signed && (byte & 0x40) != 0 && shift < 64) value |= ~std::uint64_t{0} << shift;
        return value;
    }

    std::span<const std::byte> rest_;
    bool good_ = true;
};

}  // namespace fairlead::diagnostics
