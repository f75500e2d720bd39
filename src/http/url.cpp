#include <fairlead/http/url.hpp>

#include <fairlead/http/fields.hpp>

#include "http/grammar.hpp"

#include <algorithm>

namespace fairlead::http {
namespace {

std::string lower(std::string_view text) {
    std::string small{text};
    std::ranges::transform(small, small.begin(), [](char each) {
        return each >= 'A' && each <= 'Z' ? static_cast<char>(each + ('a' - 'A')) : each;
    });
    return small;
}

std::uint16_t usual_port(std::string_view scheme) noexcept { return scheme == "https" ? 443 : 80; }

// Requires that `authority` is host[:port].
origin origin_of(std::string_view scheme, std::string_view authority) {
    const bool bracketed = authority.starts_with('[');
    const std::size_t host_end = bracketed ? authority.find(']') : authority.find(':');
    const std::size_t host_begin = bracketed ? 1 : 0;
    origin made{.scheme = lower(scheme),
                .host = lower(authority.substr(host_begin, host_end - host_begin)),
                .port = 0};
    std::string_view port;
    const std::size_t colon = bracketed ? host_end + 1 : host_end;
    if (colon < authority.size()) port = authority.substr(colon + 1);
    unsigned value = 0;
    for (const char each : port) value = value * 10 + static_cast<unsigned>(each - '0');
    made.port = port.empty() ? usual_port(made.scheme) : static_cast<std::uint16_t>(value);
    return made;
}

}  // namespace

std::string origin::authority() const {
    const bool v6 = host.find(':') != host.npos;
    std::string text = v6 ? '[' + host + ']' : host;
    if (port != usual_port(scheme)) text += ':' + std::to_string(port);
    return text;
}

std::expected<url, errc> url::parse(std::string_view text) {
    text = text.substr(0, text.find('#'));
    if (!grammar::all(text, grammar::target_char)) return std::unexpected{errc::bad_target};
    const std::string_view scheme = text.substr(0, text.find(':'));
    if (!same_name(scheme, "http") && !same_name(scheme, "https")) {
        return std::unexpected{errc::bad_target};
    }
    const auto [authority, rest] = grammar::split_absolute(text);
    if (!grammar::is_host(authority)) return std::unexpected{errc::bad_target};
    url made{.origin = origin_of(scheme, authority), .target = {}};
    if (!rest.starts_with('/')) made.target = "/";
    made.target.append(rest);
    return made;
}

}  // namespace fairlead::http
