#include "savegames/redis_url.hpp"

#include <algorithm>
#include <charconv>

namespace savegames {
namespace {

template <class T>
bool take_whole(std::string_view text, T& number) {
    const char* const end = text.data() + text.size();
    const auto [stop, code] = std::from_chars(text.data(), end, number);
    return code == std::errc{} && stop == end;
}

// Replaces %XX. False: a wrong escape.
bool unescape(std::string_view text, std::string& to) {
    for (std::size_t at = 0; at < text.size(); ++at) {
        if (text[at] != '%') {
            to += text[at];
            continue;
        }
        unsigned char byte = 0;
        if (text.size() - at < 3) return false;
        const char* const digits = text.data() + at + 1;
        const auto [stop, code] = std::from_chars(digits, digits + 2, byte, 16);
        if (code != std::errc{} || stop != digits + 2) return false;
        to += static_cast<char>(byte);
        at += 2;
    }
    return true;
}

// Takes "USER:PASSWORD@" off the front. False: it is malformed.
bool take_login(std::string_view& rest, redis_place& to) {
    const std::size_t at = rest.find('@');
    if (at == rest.npos) return true;
    const std::string_view login = rest.substr(0, at);
    rest.remove_prefix(at + 1);
    const std::size_t colon = login.find(':');
    return colon != login.npos && unescape(login.substr(0, colon), to.user) &&
           unescape(login.substr(colon + 1), to.password);
}

// Takes "HOST[:PORT]", of which an IPv6 address is in brackets.
bool take_host(std::string_view text, redis_place& to) {
    const bool in_brackets = text.starts_with('[');
    const std::size_t end = in_brackets ? text.find(']') : std::min(text.find(':'), text.size());
    if (end == text.npos) return false;
    to.host = text.substr(in_brackets ? 1 : 0, end - (in_brackets ? 1 : 0));
    text.remove_prefix(end + (in_brackets ? 1 : 0));
    if (text.empty()) return !to.host.empty();
    return !to.host.empty() && text.starts_with(':') && take_whole(text.substr(1), to.port) &&
           to.port != 0;
}

}  // namespace

std::expected<redis_place, std::string> parse_redis_url(std::string_view text) {
    constexpr std::string_view tcp = "redis://";
    constexpr std::string_view local = "unix://";
    const std::unexpected<std::string> wrong{
        "write redis://[[USER]:PASSWORD@]HOST[:PORT][/DATABASE] or "
        "unix://[[USER]:PASSWORD@]PATH, where %40 stands for an @ in a password"};
    redis_place made;
    if (text.starts_with(local)) {
        text.remove_prefix(local.size());
        if (!take_login(text, made) || !text.starts_with('/')) return wrong;
        made.path = text;
        return made;
    }
    if (!text.starts_with(tcp)) return wrong;
    text.remove_prefix(tcp.size());
    if (!take_login(text, made)) return wrong;
    const std::size_t slash = text.find('/');
    if (slash != text.npos && slash + 1 != text.size() &&
        !take_whole(text.substr(slash + 1), made.database)) {
        return wrong;
    }
    if (!take_host(text.substr(0, slash), made)) return wrong;
    return made;
}

}  // namespace savegames
