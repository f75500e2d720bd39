#include <fairlead/detail/http/head_scan.hpp>

#include "http/grammar.hpp"

#include <algorithm>
#include <cstring>

namespace fairlead::http::detail {
namespace {

using grammar::class_of;

// 19 digits always fit.
constexpr std::size_t length_digits_max = 19;

}  // namespace

head_scan::found head_scan::next(std::string_view received, const limits& limits) noexcept {
    while (failure_ == errc::none && fields_end_ == 0) {
        if (!take_line(received, limits)) return found::nothing;
        if (failure_ != errc::none) break;
        if (fields_begin_ == 0) return found::start_line;
        if (line_.size == 0) return found::end;
        failure_ = facts_.take(line_.in(received), line_.begin, limits);
    }
    return failure_ == errc::none ? found::complete : found::failure;
}

bool head_scan::take_line(std::string_view received, const limits& limits) noexcept {
    const std::size_t line_limit = taken_ + std::min(limits.line_max, limits.head_max);
    const std::size_t limit = std::min(line_limit, limits.head_max);
    const std::size_t end = std::min(received.size(), limit);
    const void* const feed =
        scanned_ < end ? std::memchr(received.data() + scanned_, '\n', end - scanned_) : nullptr;
    if (feed == nullptr) {
        scanned_ = std::max(scanned_, end);
        if (received.size() < limit) return false;
        const bool is_first = fields_begin_ == 0 && limits.line_max < limits.head_max;
        failure_ = is_first ? errc::line_too_long : errc::head_too_large;
        return true;
    }
    const auto at = static_cast<std::size_t>(static_cast<const char*>(feed) - received.data());
    if (at == taken_ || received[at - 1] != '\r') failure_ = errc::bad_line_end;
    line_ = {taken_, at - taken_ - (failure_ == errc::none ? 1 : 0)};
    taken_ = at + 1;
    scanned_ = taken_;
    return true;
}

errc field_facts::take(std::string_view line, std::size_t at, const limits& limits) noexcept {
    if (grammar::is_blank(line.front())) return errc::folded_line;
    if (count_ == limits.fields_max) return errc::too_many_fields;
    ++count_;
    std::size_t colon = 0;
    while (colon != line.size() && grammar::is(line[colon], class_of::token_char)) ++colon;
    if (colon == line.size() || colon == 0) return errc::bad_field_name;
    if (line[colon] != ':') {
        const std::size_t real = line.find_first_not_of(" \t", colon);
        const bool space = real != colon && real != line.npos && line[real] == ':';
        return space ? errc::space_before_colon : errc::bad_field_name;
    }
    const std::string_view name = line.substr(0, colon);
    const std::string_view raw = line.substr(colon + 1);
    if (!grammar::is_value_text(raw)) return errc::bad_field_value;
    const std::string_view value = grammar::trimmed(raw);
    switch (name.size()) {
        case 4:
            if (!same_name(name, "host")) break;
            ++hosts_;
            host_ = {at + static_cast<std::size_t>(value.data() - line.data()), value.size()};
            break;
        case 6:
            if (!same_name(name, "expect")) break;
            ++expectations_;
            continue_ = same_name(value, "100-continue");
            break;
        case 10:
            if (same_name(name, "connection")) return take_connection(value);
            break;
        case 14:
            if (same_name(name, "content-length")) take_length(value);
            break;
        case 17:
            if (same_name(name, "transfer-encoding")) take_coding(value);
            break;
        default:
            break;
    }
    return errc::none;
}

errc field_facts::take_connection(std::string_view value) noexcept {
    while (!value.empty()) {
        const std::size_t comma = std::min(value.find(','), value.size());
        const std::string_view option = grammar::trimmed(value.substr(0, comma));
        if (!grammar::all(option, class_of::token_char)) return errc::bad_field_value;
        close_ = close_ || same_name(option, "close");
        keep_alive_ = keep_alive_ || same_name(option, "keep-alive");
        value.remove_prefix(std::min(comma + 1, value.size()));
    }
    return errc::none;
}

void field_facts::take_length(std::string_view value) noexcept {
    ++lengths_;
    bad_length_ = bad_length_ || value.empty() || value.size() > length_digits_max;
    length_ = 0;
    for (const char each : value.substr(0, length_digits_max)) {
        bad_length_ = bad_length_ || !grammar::is_digit(each);
        length_ = length_ * 10 + static_cast<unsigned>(each - '0') % 10;
    }
}

void field_facts::take_coding(std::string_view value) noexcept {
    ++codings_;
    empty_coding_ = empty_coding_ || value.empty();
    chunked_ = same_name(value, "chunked");
}

errc field_facts::check(version version, framing& body) const noexcept {
    if (codings_ != 0 && lengths_ != 0) return errc::length_and_coding;
    if (lengths_ > 1) return errc::several_lengths;
    if (bad_length_) return errc::bad_length;
    if (codings_ > 1 || empty_coding_) return errc::bad_coding;
    if (codings_ == 1) {
        if (version == version::http_1_0) return errc::bad_coding;
        if (!chunked_) return errc::unknown_coding;
        body = {framing::kind::chunked, 0};
    } else if (lengths_ == 1) {
        body = {framing::kind::length, length_};
    }
    return errc::none;
}

}  // namespace fairlead::http::detail
