// A command of Redis: its name and arguments, as bytes.
//
//     redis::command set{"SET", key, value, "PX", 500};
//     set.add("NX");
#pragma once

#include <fairlead/detail/base/language.hpp>
#include <fairlead/detail/sync/recycler.hpp>

#include <charconv>
#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>

namespace fairlead::redis {

/// An argument: bytes, or a number, which is sent as text. A view, for the time of one call.
class argument {
public:
    /// Bytes, which may be anything.
    argument(std::string_view bytes) noexcept : bytes_{bytes} {}
    /// The same.
    argument(const std::string& bytes) noexcept : bytes_{bytes} {}
    /// The same, up to a zero.
    argument(const char* text) noexcept : bytes_{text} {}
    /// An integer.
    template <std::integral T>
        requires(!std::same_as<T, bool> && !std::same_as<T, char>)
    argument(T number) noexcept
        : size_{static_cast<std::size_t>(
              std::to_chars(digits_, digits_ + sizeof(digits_), number).ptr - digits_)} {}

    /// Its bytes, valid while the argument is.
    [[nodiscard]] std::string_view bytes() const noexcept {
        return size_ == 0 ? bytes_ : std::string_view{digits_, size_};
    }

private:
    std::string_view bytes_;
    char digits_[24] = {};
    std::size_t size_ = 0;  // of the digits; 0: it is `bytes_`
};

/// A command, as it is sent. One allocation for short ones.
class command {
public:
    /// No word: `add` gives it a name.
    command() = default;
    /// Name and arguments. Throws `std::bad_alloc`. A pack and no list: GCC 12 refuses a list in
    /// the expression of a `co_await`.
    template <std::convertible_to<argument>... Words>
        requires(sizeof...(Words) != 0)
    command(const Words&... words) {
        body_.reserve((size_of(words) + ...));
        (add(words), ...);
    }
    /// Adds an argument. Throws `std::bad_alloc`.
    command& add(const argument& word);

    /// The name: the first word.
    [[nodiscard]] std::string_view name() const noexcept;
    /// How many words it has, with its name.
    [[nodiscard]] std::size_t words() const noexcept { return words_; }
    /// How many bytes it has when it is sent, but for its head of at most 23.
    [[nodiscard]] std::size_t size() const noexcept { return body_.size(); }
    /// Appends the bytes to `out`, as they are sent. Throws `std::bad_alloc`.
    void write(std::string& out) const;

    /// Whether a connection can execute it for several users: it changes nothing of the connection,
    /// does not wait, and has one reply. Not so SUBSCRIBE, MULTI, WATCH, SELECT, BLPOP and the
    /// like. That an XREAD has BLOCK is not seen.
    [[nodiscard]] bool is_shareable() const noexcept;
    /// Whether later commands of the connection mean something else after it: MULTI, WATCH, SELECT,
    /// AUTH and the like.
    [[nodiscard]] bool changes_connection() const noexcept;
    /// Whether it does not have exactly one reply on any connection: SUBSCRIBE, MONITOR, SYNC, and
    /// the like. No connection takes it: see `subscription`.
    [[nodiscard]] bool breaks_replies() const noexcept;

private:
    // With room for the head and the ends of lines.
    [[nodiscard]] static std::size_t size_of(const argument& word) noexcept {
        return word.bytes().size() + 16;
    }

    // A command lives as long as its request: its memory comes from the recycler.
    std::basic_string<char, std::char_traits<char>, sync::recycling_allocator<char>>
        body_;  // its words as bulk strings
    std::size_t words_ = 0;
};

}  // namespace fairlead::redis
