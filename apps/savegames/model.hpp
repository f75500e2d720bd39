// The nouns of the save-game service: identifiers, a stored save, errors.
//
// Everything here is a plain value: no threads, no I/O. Ids are parsed once, at the edge; code
// behind the edge takes `game_id` and `player_id` and need not check them again.
#pragma once

#include <fairlead/base/time.hpp>

#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace savegames {

using clock = fairlead::clock;  // may be virtual: nothing here takes the time from elsewhere
using time_point = fairlead::time_point;

// Why an operation failed. The first block is the client's doing, the last the service's.
enum class error : std::uint8_t {
    bad_request,   // an id, a JSON text or a patch is wrong
    not_found,     // no such save
    too_large,     // over a size limit
    locked,        // another request holds the profile
    conflict,      // the stored version is not the expected one
    lease_lost,    // the lease expired, or another owner has it
    overloaded,    // a queue is full: try later
    over_share,    // the rest is for other games: try later
    store_failed,  // the store cannot do it: disk, network, shutdown
    corrupt,       // stored bytes do not match their checksum
    deadline,      // the request's time is over
};

// A short, stable word for logs and for the "error" field of answers ("not_found").
[[nodiscard]] std::string_view to_string(error code) noexcept;

// The HTTP status for `code`: 400, 404, 413, 409, 503, 429, 500 or 504.
[[nodiscard]] int http_status(error code) noexcept;

// An error with words for a person.
struct failure {
    error code;
    std::string message;
};

// The longest identifier, in bytes.
inline constexpr std::size_t id_size_max = 64;

// nullopt-like check of the id grammar: an empty string when `text` is
// [A-Za-z0-9._-]{1,64} and neither "." nor "..", else what is wrong with it.
[[nodiscard]] std::string id_problem(std::string_view text);

// An identifier that is known to be well-formed. `Tag` keeps games and players apart.
template <class Tag>
class basic_id {
public:
    // Allocates when the id is longer than the small-string buffer.
    [[nodiscard]] static std::expected<basic_id, std::string> parse(std::string_view text) {
        if (std::string problem = id_problem(text); !problem.empty()) {
            return std::unexpected(std::move(problem));
        }
        return basic_id{std::string{text}};
    }

    [[nodiscard]] const std::string& text() const noexcept { return text_; }

    friend bool operator==(const basic_id&, const basic_id&) = default;
    friend auto operator<=>(const basic_id&, const basic_id&) = default;

private:
    explicit basic_id(std::string text) noexcept : text_{std::move(text)} {}

    std::string text_;
};

using game_id = basic_id<struct game_tag>;

// Of requests that name no game.
inline constexpr std::string_view default_game = "default";

using player_id = basic_id<struct player_tag>;

// What is locked and what is stored: one player's save in one game.
struct profile_key {
    game_id game;
    player_id player;

    friend bool operator==(const profile_key&, const profile_key&) = default;
    friend auto operator<=>(const profile_key&, const profile_key&) = default;
};

struct profile_key_hash {
    [[nodiscard]] std::size_t operator()(const profile_key& key) const noexcept {
        const std::size_t game = std::hash<std::string>{}(key.game.text());
        return std::hash<std::string>{}(key.player.text()) ^ (game * 0x9e3779b97f4a7c15U);
    }
};

// Who holds a lease. Drawn at random for each request, so that a late unlock of a dead request
// cannot free the lock of a live one.
enum class owner_token : std::uint64_t {};

// A fresh token. Any thread; no locks; throws if the system has no randomness at first use.
[[nodiscard]] owner_token new_owner_token();

// A save as it is stored: a zstd frame and what is needed to check it.
struct save {
    std::uint64_t version = 0;   // 1 for the first write of a profile, then +1 with each write
    std::uint64_t checksum = 0;  // XXH3 64 of the JSON text
    std::uint64_t size = 0;      // bytes of the JSON text
    std::string data;            // zstd, compressed

    friend bool operator==(const save&, const save&) = default;
};

}  // namespace savegames
