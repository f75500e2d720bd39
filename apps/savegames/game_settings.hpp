// What each game may have: `--games`.
//
// A file of lines "game setting=number ...", where "*" stands for all games and comes first; empty lines and lines that
// begin with # are skipped:
//
//     *      weight=100 max_requests=500
//     chess  weight=300 max_concurrency=2
//
// What a game's line does not say is as for all.
#pragma once

#include <cstddef>
#include <expected>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace savegames {

struct game_limits {
    unsigned weight = 100;         // its share of the workers against other games: 1 to 10,000
    unsigned max_concurrency = 0;  // how many of its steps may run at once; 0: any number
    std::size_t max_requests = 0;  // how many of its requests may be under way; 0: any number

    friend bool operator==(const game_limits&, const game_limits&) = default;
};

class game_settings {
public:
    // No exceptions.
    game_settings() = default;

    // Reads `path`. Blocks for I/O. The error is a sentence for a person, with the number of the wrong line.
    [[nodiscard]] static std::expected<game_settings, std::string> load(const std::string& path);

    // The same from a text. `name` stands for the file in messages.
    [[nodiscard]] static std::expected<game_settings, std::string> parse(std::string_view text,
                                                                         std::string_view name);

    [[nodiscard]] const game_limits& of(std::string_view game) const noexcept;

    // Games with a line of their own.
    [[nodiscard]] std::size_t size() const noexcept { return exceptions_.size(); }

private:
    game_limits for_all_;
    std::map<std::string, game_limits, std::less<>> exceptions_;
};

}  // namespace savegames
