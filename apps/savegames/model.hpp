// The nouns of the save-game service: identifiers, a stored save, errors.
//
// Plain values: no threads, no I/O. An id is parsed once, where it enters the service. The code
// behind that takes `game_id` and `player_id`, and need not check them again.
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

using clock = fairlead::clock;  // may be virtual: the service takes the time from nowhere else
using time_point = fairlead::time_point;

// Why an operation failed. The client caused the first errors, the service the last ones.
enum class error : std::uint8_t {
    bad_request,   // an id, a JSON text or a patch is wrong
    not_found,     // there is no such save
    too_large,     // a size exceeds its limit
    locked,        // another request holds the lock of the profile
    conflict,      // the stored version is not the expected version
    lease_lost,    // the lease expired, or another owner has it
    overloaded,    // a queue or a budget is full: try later
    over_share,    // the game has used its share; the rest is kept for other games: try later
    store_failed,  // the store cannot do it: disk, network, shutdown
    corrupt,       // stored bytes do not match their checksum
    deadline,      // the time of the request is over
};

// A short, stable word for logs and for the "error" field of answers, such as "not_found".
[[nodiscard]] std::string_view to_string(error code) noexcept;

// The HTTP status for `code`: 400, 404, 413, 409, 503, 429, 500 or 504.
[[nodiscard]] int http_status(error code) noexcept;

// An error, and a sentence for a person.
struct failure {
    error code;
    std::string message;
};

// The longest identifier, in bytes.
inline constexpr std::size_t id_size_max = 64;

// Checks an id. Empty if `text` is [A-Za-z0-9._-]{1,64} and neither "." nor ".."; else a sentence
// that says what is wrong.
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

// The game of requests that name no game.
inline constexpr std::string_view default_game = "default";

using player_id = basic_id<struct player_tag>;

// The key of a lock and of a save: one player in one game.
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

// Identifies the owner of a lease. Each request draws a random token, so that the late unlock of a
// dead request cannot free the lock of a live one.
enum class owner_token : std::uint64_t {};

// A fresh token. Any thread; no locks. Throws if the system has no randomness at the first use.
[[nodiscard]] owner_token new_owner_token();

// A save as it is stored: a zstd frame, and the values that check it.
struct save {
    std::uint64_t version = 0;   // 1 for the first write of a profile, +1 for each later write
    std::uint64_t checksum = 0;  // XXH3, 64 bits, of the JSON text
    std::uint64_t size = 0;      // bytes of the JSON text
    std::string data;            // the text, compressed by zstd

    friend bool operator==(const save&, const save&) = default;
};

}  // namespace savegames
