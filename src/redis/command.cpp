#include <fairlead/redis/command.hpp>

#include <algorithm>
#include <array>
#include <cstdint>

namespace fairlead::redis {
namespace {

// Of these the replies do not follow the commands one by one.
constexpr std::array<std::string_view, 13> breaking{
    "SUBSCRIBE",    "UNSUBSCRIBE", "PSUBSCRIBE", "PUNSUBSCRIBE", "SSUBSCRIBE",
    "SUNSUBSCRIBE", "MONITOR",     "SYNC",       "PSYNC",        "QUIT",
    "RESET",        "HELLO",       "SHUTDOWN",
};

// These change the connection for what follows.
constexpr std::array<std::string_view, 9> changing{
    "MULTI", "EXEC", "DISCARD", "WATCH", "UNWATCH", "SELECT", "AUTH", "ASKING", "READONLY",
};

// These hold up what follows.
constexpr std::array<std::string_view, 10> blocking{
    "BLPOP",    "BRPOP",    "BLMOVE", "BLMPOP", "BRPOPLPUSH",
    "BZPOPMIN", "BZPOPMAX", "BZMPOP", "WAIT",   "WAITAOF",
};

[[nodiscard]] bool same_word(std::string_view left, std::string_view upper) noexcept {
    if (left.size() != upper.size()) return false;
    return std::ranges::equal(left, upper, [](char a, char b) {
        return (a >= 'a' && a <= 'z' ? static_cast<char>(a - 'a' + 'A') : a) == b;
    });
}

template <std::size_t Size>
[[nodiscard]] bool is_one_of(const std::array<std::string_view, Size>& words,
                             std::string_view name) noexcept {
    return std::ranges::any_of(words, [&](std::string_view each) { return same_word(name, each); });
}

// The line before a word or a command, in one piece.
void append_head(auto& out, char type, std::size_t number) {
    std::array<char, 24> line;
    line[0] = type;
    char* end = std::to_chars(&line[1], line.data() + line.size() - 2, number).ptr;
    *end++ = '\r';
    *end++ = '\n';
    out.append(line.data(), static_cast<std::size_t>(end - line.data()));
}

// The word that begins at the head `at` of `body`, and where the next head begins.
struct word {
    std::string_view text;
    std::size_t next;
};
[[nodiscard]] word word_at(std::string_view body, std::size_t at) noexcept {
    const std::size_t line = body.find('\r', at);
    std::size_t size = 0;
    std::from_chars(body.data() + at + 1, body.data() + line, size);
    return {body.substr(line + 2, size), line + 2 + size + 2};
}

}  // namespace

command& command::add(const argument& word) {
    append_head(body_, '$', word.bytes().size());
    body_ += word.bytes();
    body_ += "\r\n";
    ++words_;
    return *this;
}

std::string_view command::name() const noexcept {
    return words_ == 0 ? std::string_view{} : word_at(body_, 0).text;
}

void command::write(std::string& out) const {
    append_head(out, '*', words_);
    out += body_;
}

bool command::breaks_replies() const noexcept {
    if (words_ == 0) return true;  // the server does not answer it
    const word first = word_at(body_, 0);
    if (is_one_of(breaking, first.text)) return true;
    return words_ > 1 && same_word(first.text, "CLIENT") &&
           same_word(word_at(body_, first.next).text, "REPLY");
}

bool command::changes_connection() const noexcept { return is_one_of(changing, name()); }

bool command::is_shareable() const noexcept {
    const std::string_view first = name();
    return !is_one_of(changing, first) && !is_one_of(blocking, first) && !breaks_replies();
}

}  // namespace fairlead::redis
