// From a request's method and target to what is to be done.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "savegames/job.hpp"

namespace savegames {

// Kinds of requests, for the statistics. The first four are jobs.
enum class request_kind : std::uint8_t { get, put, update, erase, healthz, readyz, stats, other };
inline constexpr std::size_t request_kinds = 8;

[[nodiscard]] std::string_view to_string(request_kind kind) noexcept;

// Whether it is about a save, and so of a game.
[[nodiscard]] constexpr bool is_job(request_kind kind) noexcept {
    return kind < request_kind::healthz;
}

struct route {
    request_kind kind = request_kind::other;
    std::string game{};    // decoded, not checked; the default game for a path without one
    std::string player{};  // decoded, not checked: the job does that
};

// Where `method` and `target` lead. Else the answer: 400 for a target that cannot be decoded, 404
// for an unknown path, 405 with Allow for a method that the path does not have.
[[nodiscard]] std::expected<route, response> find_route(std::string_view method,
                                                        std::string_view target);

// `text` with its %XX decoded; nothing if there is a % without two hexadecimal digits.
[[nodiscard]] std::optional<std::string> percent_decode(std::string_view text);

}  // namespace savegames
