#include "savegames/words.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>

namespace savegames {

std::expected<std::string, std::string> read_text(const std::string& path) {
    std::ifstream file{path, std::ios::binary};
    if (!file) return std::unexpected("cannot open the file " + path);
    std::ostringstream text;
    text << file.rdbuf();
    if (file.bad() || text.bad()) return std::unexpected("cannot read the file " + path);
    return std::move(text).str();
}

std::string_view take_line(std::string_view& text) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    return line;
}

std::string_view take_word(std::string_view& line) {
    constexpr std::string_view blanks = " \t\r";
    line.remove_prefix(std::min(line.find_first_not_of(blanks), line.size()));
    const std::string_view word = line.substr(0, line.find_first_of(blanks));
    line.remove_prefix(word.size());
    return word;
}

}  // namespace savegames
