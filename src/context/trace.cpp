#include <fairlead/context/trace.hpp>

#include <algorithm>
#include <cstddef>
#include <span>

namespace fairlead {
namespace {

constexpr std::string_view digits = "0123456789abcdef";

// Lower case alone, as the standard says. False: it is no number of this length.
bool read_hex(std::string_view text, std::span<std::uint8_t> to) noexcept {
    if (text.size() != 2 * to.size()) return false;
    for (std::size_t i = 0; i != to.size(); ++i) {
        const std::size_t high = digits.find(text[2 * i]);
        const std::size_t low = digits.find(text[2 * i + 1]);
        if (high == std::string_view::npos || low == std::string_view::npos) return false;
        to[i] = static_cast<std::uint8_t>(high << 4 | low);
    }
    return true;
}

void write_hex(std::string& to, std::span<const std::uint8_t> bytes) {
    for (const std::uint8_t byte : bytes) {
        to += digits[byte >> 4];
        to += digits[byte & 15];
    }
}

bool is_zero(std::span<const std::uint8_t> id) noexcept {
    return std::ranges::all_of(id, [](std::uint8_t byte) { return byte == 0; });
}

void write_number(std::span<std::uint8_t, 8> to, std::uint64_t number) noexcept {
    for (std::size_t i = 0; i != 8; ++i) to[i] = static_cast<std::uint8_t>(number >> (56 - 8 * i));
}

// vv-tttttttttttttttttttttttttttttttt-ssssssssssssssss-ff
constexpr std::size_t trace_at = 3;
constexpr std::size_t span_at = 36;
constexpr std::size_t flags_at = 53;
constexpr std::size_t size_of_text = 55;

}  // namespace

std::optional<trace> trace::parse(std::string_view text) noexcept {
    if (text.size() < size_of_text) return std::nullopt;
    if (text[trace_at - 1] != '-' || text[span_at - 1] != '-' || text[flags_at - 1] != '-') {
        return std::nullopt;
    }
    std::array<std::uint8_t, 1> version{};
    std::array<std::uint8_t, 1> flags{};
    trace read;
    if (!read_hex(text.substr(0, 2), version) ||
        !read_hex(text.substr(trace_at, 32), read.trace_id) ||
        !read_hex(text.substr(span_at, 16), read.span_id) ||
        !read_hex(text.substr(flags_at, 2), flags)) {
        return std::nullopt;
    }
    if (version[0] == 0xff || is_zero(read.trace_id) || is_zero(read.span_id)) return std::nullopt;
    // Only a later version may have more, after another dash.
    if (text.size() > size_of_text && (version[0] == 0 || text[size_of_text] != '-')) {
        return std::nullopt;
    }
    read.flags = version[0] == 0 ? flags[0] : static_cast<std::uint8_t>(flags[0] & 1);
    return read;
}

std::string trace::to_string() const {
    std::string text;
    text.reserve(size_of_text);
    text += "00-";
    write_hex(text, trace_id);
    text += '-';
    write_hex(text, span_id);
    text += '-';
    write_hex(text, std::span{&flags, 1});
    return text;
}

std::string trace::trace_id_text() const {
    std::string text;
    text.reserve(2 * trace_id.size());
    write_hex(text, trace_id);
    return text;
}

trace_source::trace_source() : numbers_{sync::seed_of_system()} {}

trace trace_source::start() noexcept {
    trace made;
    write_number(std::span{made.trace_id}.first<8>(), numbers_.draw());
    write_number(std::span{made.trace_id}.last<8>(), numbers_.draw());
    write_number(made.span_id, numbers_.draw());
    return made;
}

trace trace_source::child_of(const trace& caller) noexcept {
    trace made = caller;
    write_number(made.span_id, numbers_.draw());
    return made;
}

}  // namespace fairlead
