// The limits of each game: the file of `--games`.
//
// The file has lines "game setting=number ...". The line of "*" is for all games, and must come
// first. Empty lines, and lines that begin with #, are skipped:
//
//     *      weight=100 max_requests=500
//     chess  weight=300 max_concurrency=2
//
// A game has the settings of "*" for what its own line does not say.
#pragma once

#include <cstddef>
#include <expected>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace savegames {

struct game_limits {
    unsigned weight = 100;         // the share of the workers among the games: 1 to 10,000
    unsigned max_concurrency = 0;  // how many steps of the game may run at once; 0: no limit
    std::size_t max_requests = 0;  // how many requests may be under way; 0: no limit

    friend bool operator==(const game_limits&, const game_limits&) = default;
};

class game_settings {
public:
    // All games have the default limits.
    game_settings() = default;

    // Reads `path`. Blocks for I/O. The error is a sentence for a person, with the number of the
    // wrong line.
    [[nodiscard]] static std::expected<game_settings, std::string> load(const std::string& path);

    // Parses a text. `name` stands for the file in messages.
    [[nodiscard]] static std::expected<game_settings, std::string> parse(std::string_view text,
                                                                         std::string_view name);

    [[nodiscard]] const game_limits& of(std::string_view game) const noexcept;

    // How many games have a line of their own.
    [[nodiscard]] std::size_t size() const noexcept { return exceptions_.size(); }

private:
    game_limits for_all_;
    std::map<std::string, game_limits, std::less<>> exceptions_;
};

}  // namespace savegames
