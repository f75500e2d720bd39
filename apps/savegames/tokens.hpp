// Which bearer token opens which game.
//
// A file of lines "game token"; empty lines and lines that begin with # are skipped. Loaded once;
// `allows` is const and may be called from any thread.
#pragma once

#include <expected>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "savegames/model.hpp"

namespace savegames {

class token_table {
public:
    // Reads `path`. Blocks for I/O. The error is a sentence for a person, with the number of the
    // wrong line and without its token. A file without tokens is an error too: nobody could enter.
    [[nodiscard]] static std::expected<token_table, std::string> load(const std::string& path);

    // The same from a text. `name` stands for the file in messages.
    [[nodiscard]] static std::expected<token_table, std::string> parse(std::string_view text,
                                                                       std::string_view name);

    // Whether `token` is the one of `game`. The time it takes depends on the length of `token`, not
    // on the table's tokens, nor on whether the game is known.
    [[nodiscard]] bool allows(std::string_view game, std::string_view token) const noexcept;

    // Things that a careful person would change: others may read the file, a token is short.
    [[nodiscard]] const std::vector<std::string>& warnings() const noexcept { return warnings_; }

    [[nodiscard]] std::size_t size() const noexcept { return tokens_.size(); }

private:
    std::map<std::string, std::string, std::less<>> tokens_;
    std::vector<std::string> warnings_;
};

// The token of an Authorization header's value, "Bearer TOKEN". The scheme's case does not matter.
[[nodiscard]] std::optional<std::string_view> bearer_token(std::string_view authorization);

// Compares without stopping at the first difference: the time depends on presented.size() only.
[[nodiscard]] bool equal_in_constant_time(std::string_view secret,
                                          std::string_view presented) noexcept;

}  // namespace savegames
