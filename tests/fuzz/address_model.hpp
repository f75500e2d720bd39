// Addresses as RFC 4291 and RFC 6943 write them, parsed without the system's functions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace fairlead::fuzz {

using v4_bits = std::array<std::uint8_t, 4>;
using v6_bits = std::array<std::uint8_t, 16>;

/// The text between separators: "a::b" by ':' is "a", "", "b".
inline std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    for (;;) {
        const std::size_t end = text.find(separator);
        parts.push_back(text.substr(0, end));
        if (end == text.npos) return parts;
        text.remove_prefix(end + 1);
    }
}

/// A number without sign, of `digits_max` digits at most.
inline std::optional<unsigned> parse_digits(std::string_view text, unsigned base,
                                            std::size_t digits_max) {
    constexpr std::string_view digits = "0123456789abcdef";
    if (text.empty() || text.size() > digits_max) return std::nullopt;
    unsigned value = 0;
    for (const char each : text) {
        const char lower = each >= 'A' && each <= 'F' ? static_cast<char>(each + 32) : each;
        const std::size_t digit = digits.find(lower);
        if (digit >= base) return std::nullopt;
        value = value * base + static_cast<unsigned>(digit);
    }
    return value;
}

/// Four decimal numbers without leading zeros.
inline std::optional<v4_bits> parse_v4(std::string_view text) {
    const auto parts = split(text, '.');
    v4_bits bits{};
    if (parts.size() != bits.size()) return std::nullopt;
    for (std::size_t i = 0; i != bits.size(); ++i) {
        const auto value = parse_digits(parts[i], 10, 3);
        if (!value || *value > 255 || (parts[i].size() > 1 && parts[i][0] == '0')) {
            return std::nullopt;
        }
        bits[i] = static_cast<std::uint8_t>(*value);
    }
    return bits;
}

/// The bytes of groups of four digits between colons; the last may be an IPv4 address if `is_end`.
inline std::optional<std::vector<std::uint8_t>> parse_groups(std::string_view text, bool is_end) {
    std::vector<std::uint8_t> bits;
    if (text.empty()) return bits;
    const auto parts = split(text, ':');
    for (std::size_t i = 0; i != parts.size(); ++i) {
        const bool is_last = is_end && i + 1 == parts.size();
        if (const auto v4 = parse_v4(parts[i]); v4 && is_last) {
            bits.insert(bits.end(), v4->begin(), v4->end());
        } else if (const auto group = parse_digits(parts[i], 16, 4)) {
            bits.push_back(static_cast<std::uint8_t>(*group >> 8));
            bits.push_back(static_cast<std::uint8_t>(*group));
        } else {
            return std::nullopt;
        }
    }
    return bits;
}

/// Eight groups, or fewer around one "::", which stands for at least one.
inline std::optional<v6_bits> parse_v6(std::string_view text) {
    const std::size_t gap = text.find("::");
    const bool has_gap = gap != text.npos;
    const auto before = parse_groups(text.substr(0, gap), !has_gap);
    const auto behind = parse_groups(has_gap ? text.substr(gap + 2) : "", true);
    if (!before || !behind) return std::nullopt;
    v6_bits bits{};
    const std::size_t size = before->size() + behind->size();
    if (has_gap ? size > bits.size() - 2 : size != bits.size()) return std::nullopt;
    for (std::size_t i = 0; i != before->size(); ++i) bits[i] = (*before)[i];
    for (std::size_t i = 0; i != behind->size(); ++i) {
        bits[bits.size() - behind->size() + i] = (*behind)[i];
    }
    return bits;
}

}  // namespace fairlead::fuzz
