#include "savegames/tokens.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "savegames/words.hpp"

namespace savegames {
namespace {

constexpr std::size_t token_size_max = 512;
constexpr std::size_t token_size_advised = 16;

bool printable(std::string_view token) {
    return std::ranges::all_of(token, [](char c) { return c > ' ' && c < '\x7f'; });
}

}  // namespace

std::expected<token_table, std::string> token_table::load(const std::string& path) {
    auto text = read_text(path);
    if (!text) return std::unexpected(std::move(text.error()));
    auto table = parse(*text, path);
    struct stat status {};
    if (table && ::stat(path.c_str(), &status) == 0 && (status.st_mode & 077) != 0) {
        table->warnings_.push_back(
            fmt::format("{}: other users may read or write this file: run chmod 600 on it", path));
    }
    return table;
}

std::expected<token_table, std::string> token_table::parse(std::string_view text,
                                                           std::string_view name) {
    token_table table;
    for (std::size_t number = 1; !text.empty(); ++number) {
        std::string_view line = take_line(text);
        const auto wrong = [&](std::string_view why) {
            return std::unexpected(fmt::format("{}: line {}: {}", name, number, why));
        };
        const std::string_view game = take_word(line);
        if (game.empty() || game.starts_with('#')) continue;
        const std::string_view token = take_word(line);
        if (std::string problem = id_problem(game); !problem.empty()) {
            return wrong("game: " + problem);
        }
        if (token.empty()) {
            return wrong("a line must be \"game token\", but this line has no token");
        }
        if (!take_word(line).empty()) {
            return wrong("a line must be \"game token\", but this line has more words");
        }
        if (token.size() > token_size_max || !printable(token)) {
            return wrong(fmt::format(
                "a token must have at most {} bytes of printable ASCII, this one has {} bytes",
                token_size_max, token.size()));
        }
        if (!table.tokens_.emplace(game, token).second) {
            return wrong(fmt::format("the game \"{}\" has a token already: keep one line", game));
        }
        if (token.size() < token_size_advised) {
            table.warnings_.push_back(
                fmt::format("{}: line {}: the token has {} bytes: use {} or more", name, number,
                            token.size(), token_size_advised));
        }
    }
    if (table.tokens_.empty()) {
        return std::unexpected(
            fmt::format("{}: the file has no tokens: add lines \"game token\"", name));
    }
    return table;
}

bool token_table::allows(std::string_view game, std::string_view token) const noexcept {
    // For an unknown game the token is compared to a text that no client can send.
    static constexpr std::string_view no_token{"\0", 1};
    const auto found = tokens_.find(game);
    const bool known = found != tokens_.end();
    const bool equal =
        equal_in_constant_time(known ? std::string_view{found->second} : no_token, token);
    return known && equal;
}

std::optional<std::string_view> bearer_token(std::string_view authorization) {
    const std::string_view scheme = take_word(authorization);
    constexpr std::string_view bearer = "bearer";
    const auto same = [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a + 32 : a) == b; };
    if (!std::ranges::equal(scheme, bearer, same)) return std::nullopt;
    const std::string_view token = take_word(authorization);
    if (token.empty() || !take_word(authorization).empty()) return std::nullopt;
    return token;
}

bool equal_in_constant_time(std::string_view secret, std::string_view presented) noexcept {
    if (secret.empty()) return presented.empty();
    // volatile, so that the compiler cannot stop at the first difference.
    volatile unsigned char difference = secret.size() != presented.size() ? 1 : 0;
    std::size_t at = 0;
    for (const char c : presented) {
        difference = static_cast<unsigned char>(difference | (c ^ secret[at]));
        at = at + 1 == secret.size() ? 0 : at + 1;
    }
    return difference == 0;
}

}  // namespace savegames
