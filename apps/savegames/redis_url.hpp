// The address of a Redis: what `--profiles` takes.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

namespace savegames {

// Where a Redis is, and how to log in.
struct redis_place {
    std::string host;  // a name, or an address without brackets; empty: `path` is a Unix socket
    std::uint16_t port = 6379;
    std::string path;
    std::string user;
    std::string password;
    std::uint32_t database = 0;
};

// Parses "redis://[[USER]:PASSWORD@]HOST[:PORT][/DATABASE]" or "unix://[[USER]:PASSWORD@]PATH". In
// user and password %40 stands for "@", and so on. The error is a sentence for a person, without
// the text, which may have a password.
[[nodiscard]] std::expected<redis_place, std::string> parse_redis_url(std::string_view text);

}  // namespace savegames
