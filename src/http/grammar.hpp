// The character classes and small rules of RFC 9110, 9112 and 3986.
#pragma once

#include <fairlead/http/errc.hpp>

#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace fairlead::http::grammar {

enum class_of : std::uint8_t {
    token_char = 1,   // RFC 9110, 5.6.2
    value_char = 2,   // of a field's value: tab, space, visible, and bytes above 127
    target_char = 4,  // of a request target: visible ASCII, but '#'
    host_char = 8,    // of a registered name: RFC 3986, 3.2.2, without the percent sign
};

inline constexpr std::array<std::uint8_t, 256> classes = [] {
    std::array<std::uint8_t, 256> table{};
    constexpr std::string_view alphanumeric =
        "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    for (unsigned each = 0; each != 256; ++each) {
        const bool visible = each > 0x20 && each < 0x7f;
        if (visible || each == ' ' || each == '\t' || each > 0x7f) table[each] |= value_char;
        if (visible && each != '#') table[each] |= target_char;
    }
    const auto add = [&table](std::string_view chars, std::uint8_t to) {
        for (const char each : chars) table[static_cast<unsigned char>(each)] |= to;
    };
    add(alphanumeric, token_char | host_char);
    add("!#$%&'*+-.^_`|~", token_char);
    add("-._~!$&'()*+,;=", host_char);
    return table;
}();

[[nodiscard]] constexpr bool is(unsigned char byte, class_of what) noexcept {
    return (classes[byte] & what) != 0;
}
[[nodiscard]] constexpr bool is(char byte, class_of what) noexcept {
    return is(static_cast<unsigned char>(byte), what);
}

[[nodiscard]] constexpr bool all(std::string_view text, class_of what) noexcept {
    for (const char each : text) {
        if (!is(each, what)) return false;
    }
    return true;
}

// Whether all are of the class `value_char`: eight at a time, as values are long.
[[nodiscard]] inline bool is_value_text(std::string_view text) noexcept {
    constexpr std::uint64_t each = 0x0101010101010101;
    while (text.size() >= sizeof(std::uint64_t)) {
        std::uint64_t eight = 0;
        std::memcpy(&eight, text.data(), sizeof(eight));
        // The highest bit of a byte that is below 32 or is 127. A tab is below, too, and a carry
        // may mark the byte behind a marked one: then the table decides.
        const std::uint64_t below = (eight - each * 0x20) & ~eight;
        const std::uint64_t other = eight ^ each * 0x7f;
        const std::uint64_t marked = (below | ((other - each) & ~other)) & each * 0x80;
        if (marked != 0 && !all(text.substr(0, sizeof(eight)), value_char)) return false;
        text.remove_prefix(sizeof(eight));
    }
    return all(text, value_char);
}

[[nodiscard]] constexpr bool is_token(std::string_view text) noexcept {
    return !text.empty() && all(text, token_char);
}

[[nodiscard]] constexpr bool is_digit(char byte) noexcept { return byte >= '0' && byte <= '9'; }
[[nodiscard]] constexpr bool is_alpha(char byte) noexcept {
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
}
[[nodiscard]] constexpr bool is_blank(char byte) noexcept { return byte == ' ' || byte == '\t'; }

// The value of a hexadecimal digit; 16: it is none.
[[nodiscard]] constexpr unsigned hex_value(char byte) noexcept {
    if (is_digit(byte)) return static_cast<unsigned>(byte - '0');
    if (byte >= 'a' && byte <= 'f') return static_cast<unsigned>(byte - 'a') + 10;
    if (byte >= 'A' && byte <= 'F') return static_cast<unsigned>(byte - 'A') + 10;
    return 16;
}

[[nodiscard]] constexpr std::string_view trimmed(std::string_view text) noexcept {
    while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
    while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
    return text;
}

// host[:port], RFC 9110, 7.2. An empty host is refused: no http URI has one.
[[nodiscard]] bool is_host(std::string_view text) noexcept;

// The parts of an absolute target. Empty authority: it is none.
struct absolute_target {
    std::string_view authority;
    std::string_view rest;  // path and query
};
[[nodiscard]] absolute_target split_absolute(std::string_view target) noexcept;

[[nodiscard]] bool is_target(std::string_view method, std::string_view target) noexcept;

}  // namespace fairlead::http::grammar
