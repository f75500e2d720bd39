// Finds what a request asks for, by its method and target.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "savegames/job.hpp"

namespace savegames {

// Kinds of requests, as the statistics count them. The first four are jobs.
enum class request_kind : std::uint8_t { get, put, update, erase, healthz, readyz, stats, other };
inline constexpr std::size_t request_kinds = 8;

[[nodiscard]] std::string_view to_string(request_kind kind) noexcept;

// Whether a request of this kind is about a save, and so belongs to a game.
[[nodiscard]] constexpr bool is_job(request_kind kind) noexcept {
    return kind < request_kind::healthz;
}

// Requires is_job(kind).
[[nodiscard]] job_kind job_of(request_kind kind) noexcept;

struct route {
    request_kind kind = request_kind::other;
    std::string game{};    // decoded, not checked; the default game if the path names none
    std::string player{};  // decoded, not checked: the job checks it
};

// The route of `method` and `target`, or the answer to a wrong request: 400 if the target cannot be
// decoded, 404 if the path is unknown, 405 with Allow if the path does not have the method.
[[nodiscard]] std::expected<route, response> find_route(std::string_view method,
                                                        std::string_view target);

// `text` with every %XX decoded. Nothing if two hexadecimal digits do not follow a %.
[[nodiscard]] std::optional<std::string> percent_decode(std::string_view text);

}  // namespace savegames
