#include "http/grammar.hpp"

namespace fairlead::http::grammar {
namespace {

bool is_port(std::string_view text) noexcept {
    if (text.size() > 5) return false;
    unsigned value = 0;
    for (const char each : text) {
        if (!is_digit(each)) return false;
        value = value * 10 + static_cast<unsigned>(each - '0');
    }
    return value <= 65535;
}

bool is_registered_name(std::string_view text) noexcept {
    for (std::size_t at = 0; at != text.size(); ++at) {
        if (is(text[at], host_char)) continue;
        const bool escape = text[at] == '%' && text.size() - at > 2 &&
                            hex_value(text[at + 1]) != 16 && hex_value(text[at + 2]) != 16;
        if (!escape) return false;
        at += 2;
    }
    return !text.empty();
}

// What stands in brackets: an IPv6 address. Its letters are checked, not the order of its groups.
bool is_bracketed(std::string_view text) noexcept {
    if (text.size() < 2 || text.size() > 45) return false;
    bool colon = false;
    for (const char each : text) {
        if (hex_value(each) == 16 && each != ':' && each != '.') return false;
        colon = colon || each == ':';
    }
    return colon;
}

}  // namespace

bool is_host(std::string_view text) noexcept {
    std::string_view host = text;
    std::string_view after;
    if (text.starts_with('[')) {
        const std::size_t end = text.find(']');
        if (end == text.npos || !is_bracketed(text.substr(1, end - 1))) return false;
        after = text.substr(end + 1);
    } else {
        const std::size_t colon = text.find(':');
        host = text.substr(0, colon);
        after = colon == text.npos ? std::string_view{} : text.substr(colon);
        if (!is_registered_name(host)) return false;
    }
    return after.empty() || (after.front() == ':' && is_port(after.substr(1)));
}

absolute_target split_absolute(std::string_view target) noexcept {
    const std::size_t colon = target.find(':');
    if (colon == target.npos || !is_alpha(target.front())) return {};
    for (const char each : target.substr(0, colon)) {
        if (!is_alpha(each) && !is_digit(each) && each != '+' && each != '-' && each != '.') {
            return {};
        }
    }
    std::string_view rest = target.substr(colon + 1);
    if (!rest.starts_with("//")) return {};
    rest.remove_prefix(2);
    const std::size_t end = rest.find_first_of("/?");
    const std::string_view authority = rest.substr(0, end);
    return {authority, end == rest.npos ? std::string_view{} : rest.substr(end)};
}

bool is_target(std::string_view method, std::string_view target) noexcept {
    if (target.empty() || !all(target, target_char)) return false;
    if (method == "CONNECT") {
        const std::size_t colon = target.rfind(':');
        return colon != target.npos && colon + 1 != target.size() && is_host(target);
    }
    if (target.front() == '/') return true;
    if (target == "*") return method == "OPTIONS";
    return is_host(split_absolute(target).authority);
}

}  // namespace fairlead::http::grammar
