#include "savegames/host.hpp"

#include <fairlead/io/address.hpp>

#include <algorithm>

namespace savegames {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

// unreserved / sub-delims
bool is_plain(char c) {
    constexpr std::string_view marks = "-._~!$&'()*+,;=";
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           marks.find(c) != marks.npos;
}

// *( unreserved / pct-encoded / sub-delims ). An IPv4 address fits this rule, too.
bool is_name(std::string_view text) {
    while (!text.empty()) {
        const bool escape = text.front() == '%';
        if (escape && (text.size() < 3 || !is_hex(text[1]) || !is_hex(text[2]))) return false;
        if (!escape && !is_plain(text.front())) return false;
        text.remove_prefix(escape ? 3 : 1);
    }
    return true;
}

// IPv6address / "v" 1*HEXDIG "." 1*( unreserved / sub-delims / ":" )
bool is_literal(std::string_view text) {
    if (text.starts_with('v') || text.starts_with('V')) {
        const std::size_t point = text.find('.');
        return point != text.npos && point > 1 && point + 1 != text.size() &&
               std::ranges::all_of(text.substr(1, point - 1), is_hex) &&
               std::ranges::all_of(text.substr(point + 1),
                                   [](char c) { return is_plain(c) || c == ':'; });
    }
    if (text.contains('%')) return false;  // another machine cannot use a zone
    const auto parsed = fairlead::io::address::parse(text, 0);
    return parsed && parsed->is_v6();
}

}  // namespace

std::optional<host_field> parse_host(std::string_view text) {
    host_field found;
    found.in_brackets = text.starts_with('[');
    const std::size_t end = text.find(found.in_brackets ? ']' : ':');
    if (found.in_brackets) {
        if (end == text.npos) return std::nullopt;
        found.host = text.substr(1, end - 1);
        text.remove_prefix(end + 1);
        if (!is_literal(found.host)) return std::nullopt;
    } else {
        found.host = text.substr(0, end);
        text.remove_prefix(found.host.size());
        if (!is_name(found.host)) return std::nullopt;
    }
    if (text.empty()) return found;
    if (!text.starts_with(':')) return std::nullopt;
    found.port = text.substr(1);
    if (!std::ranges::all_of(found.port, is_digit)) return std::nullopt;
    return found;
}

}  // namespace savegames
