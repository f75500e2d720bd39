// Helpers for text files that people write: lines of words.
#pragma once

#include <expected>
#include <string>
#include <string_view>

namespace savegames {

// The whole file. Blocks for I/O. The error is a sentence for a person.
[[nodiscard]] std::expected<std::string, std::string> read_text(const std::string& path);

// Takes the next line off the front of `text`.
[[nodiscard]] std::string_view take_line(std::string_view& text);

// Takes the next word off the front of `line`. Empty: the line has no more words.
[[nodiscard]] std::string_view take_word(std::string_view& line);

}  // namespace savegames
