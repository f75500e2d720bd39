// The table of bearer tokens: which token opens which game.
//
// The file has lines "game token". Empty lines, and lines that begin with #, are skipped. A table
// does not change; `allows` may be called from any thread.
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
    // Reads `path`. Blocks for I/O. The error is a sentence for a person: it has the number of the
    // wrong line, but not its token. A file without tokens is an error, too: it would let no client
    // in.
    [[nodiscard]] static std::expected<token_table, std::string> load(const std::string& path);

    // Parses a text. `name` stands for the file in messages.
    [[nodiscard]] static std::expected<token_table, std::string> parse(std::string_view text,
                                                                       std::string_view name);

    // Whether `token` is the token of `game`. The time depends on the length of `token`, but not on
    // the tokens of the table, nor on whether the game is known.
    [[nodiscard]] bool allows(std::string_view game, std::string_view token) const noexcept;

    // Sentences about risks: other users may read the file, or a token is short.
    [[nodiscard]] const std::vector<std::string>& warnings() const noexcept { return warnings_; }

    [[nodiscard]] std::size_t size() const noexcept { return tokens_.size(); }

private:
    std::map<std::string, std::string, std::less<>> tokens_;
    std::vector<std::string> warnings_;
};

// The token in an Authorization header's value, "Bearer TOKEN". The case of the scheme is free.
[[nodiscard]] std::optional<std::string_view> bearer_token(std::string_view authorization);

// Compares without stopping at the first difference. The time depends only on presented.size().
[[nodiscard]] bool equal_in_constant_time(std::string_view secret,
                                          std::string_view presented) noexcept;

}  // namespace savegames
