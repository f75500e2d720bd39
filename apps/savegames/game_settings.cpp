#include "savegames/game_settings.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include "savegames/model.hpp"
#include "savegames/words.hpp"

namespace savegames {
namespace {

struct known_setting {
    std::string_view name;
    std::uint64_t min;
    std::uint64_t max;
};

constexpr std::array known_settings{known_setting{"weight", 1, 10'000},
                                    known_setting{"max_concurrency", 0, 1'000},
                                    known_setting{"max_requests", 0, 1'000'000}};

void assign(game_limits& limits, std::size_t setting, std::uint64_t value) {
    switch (setting) {
        case 0:
            limits.weight = static_cast<unsigned>(value);
            break;
        case 1:
            limits.max_concurrency = static_cast<unsigned>(value);
            break;
        default:
            limits.max_requests = value;
            break;
    }
}

// Assigns the settings of the rest of a line. Returns what is wrong with it; empty: nothing.
std::string take_settings(std::string_view line, game_limits& limits) {
    std::array<bool, known_settings.size()> given{};
    std::string_view word = take_word(line);
    if (word.empty()) {
        return "a line must be \"game setting=number ...\", but this line has no setting";
    }
    for (; !word.empty(); word = take_word(line)) {
        const std::string_view name = word.substr(0, word.find('='));
        const auto found = std::ranges::find(known_settings, name, &known_setting::name);
        if (found == known_settings.end()) {
            return fmt::format(
                "\"{}\" is not a setting: use weight, max_concurrency or max_requests", name);
        }
        const auto which = static_cast<std::size_t>(found - known_settings.begin());
        if (std::exchange(given[which], true)) {
            return fmt::format("{} is given twice: give it once", name);
        }
        const std::string_view text = word.substr(std::min(name.size() + 1, word.size()));
        std::uint64_t value = 0;
        const char* const end = text.data() + text.size();
        const auto [stop, code] = std::from_chars(text.data(), end, value);
        if (code != std::errc{} || stop != end || value < found->min || value > found->max) {
            return fmt::format("{} must be a whole number from {} to {}, not \"{}\"", name,
                               found->min, found->max, text);
        }
        assign(limits, which, value);
    }
    return {};
}

}  // namespace

std::expected<game_settings, std::string> game_settings::load(const std::string& path) {
    auto text = read_text(path);
    if (!text) return std::unexpected(std::move(text.error()));
    return parse(*text, path);
}

std::expected<game_settings, std::string> game_settings::parse(std::string_view text,
                                                               std::string_view name) {
    game_settings result;
    bool has_default = false;
    for (std::size_t number = 1; !text.empty(); ++number) {
        std::string_view line = take_line(text);
        const auto wrong = [&](std::string_view why) {
            return std::unexpected(fmt::format("{}: line {}: {}", name, number, why));
        };
        const std::string_view game = take_word(line);
        if (game.empty() || game.starts_with('#')) continue;
        const bool for_all = game == "*";
        if (for_all) {
            if (std::exchange(has_default, true))
                return wrong("there is a line for all games, *, already: join the two");
            if (result.size() != 0) return wrong("the line for all games, *, must come first");
        } else if (std::string problem = id_problem(game); !problem.empty()) {
            return wrong("game: " + problem);
        }
        game_limits limits = result.for_all_;
        if (std::string problem = take_settings(line, limits); !problem.empty()) {
            return wrong(problem);
        }
        if (for_all) {
            result.for_all_ = limits;
        } else if (!result.exceptions_.emplace(game, limits).second) {
            return wrong(fmt::format("the game \"{}\" has a line already: join the two", game));
        }
    }
    return result;
}

const game_limits& game_settings::of(std::string_view game) const noexcept {
    const auto found = exceptions_.find(game);
    return found != exceptions_.end() ? found->second : for_all_;
}

}  // namespace savegames
