#include "postgres/statement_kind.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace fairlead::postgres::detail {
namespace {

[[nodiscard]] bool is_space(char one) noexcept {
    return one == ' ' || (one >= '\t' && one <= '\r') || one == ';' || one == '(';
}
[[nodiscard]] bool is_letter(char one) noexcept {
    return (one >= 'a' && one <= 'z') || (one >= 'A' && one <= 'Z') || one == '_';
}

// Spaces and comments; those with stars may be nested.
void skip_to_word(std::string_view& text) noexcept {
    for (;;) {
        while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
        if (text.starts_with("--")) {
            text.remove_prefix(std::min(text.find('\n'), text.size()));
        } else if (text.starts_with("/*")) {
            std::size_t depth = 0;
            do {
                const bool opens = text.starts_with("/*");
                const bool closes = text.starts_with("*/");
                if (opens) ++depth;
                if (closes) --depth;
                text.remove_prefix(opens || closes ? 2 : 1);
            } while (depth != 0 && !text.empty());
        } else {
            return;
        }
    }
}

// The next word; its longest is cut off.
[[nodiscard]] std::string_view take_word(std::string_view& text) noexcept {
    skip_to_word(text);
    const auto* const end = std::ranges::find_if_not(text, is_letter);
    const auto size = static_cast<std::size_t>(end - text.begin());
    const std::string_view word = text.substr(0, size);
    text.remove_prefix(size);
    return word;
}

[[nodiscard]] bool is(std::string_view word, std::string_view lower) noexcept {
    return std::ranges::equal(word, lower, {}, [](char one) {
        return one >= 'A' && one <= 'Z' ? static_cast<char>(one - 'A' + 'a') : one;
    });
}

}  // namespace

statement_kind kind_of(std::string_view sql) noexcept {
    const std::string_view first = take_word(sql);
    const auto any_of = [&](const auto& words) {
        return std::ranges::any_of(words, [&](std::string_view each) { return is(first, each); });
    };
    constexpr std::array<std::string_view, 5> transactions{"begin", "start", "commit", "end",
                                                           "abort"};
    constexpr std::array<std::string_view, 6> sessions{"listen",  "unlisten", "reset",
                                                       "discard", "load",     "deallocate"};
    constexpr std::array<std::string_view, 3> savepoints{"savepoint", "release", "lock"};
    if (is(first, "copy")) return statement_kind::copy;
    if (any_of(transactions)) return statement_kind::transaction;
    if (any_of(savepoints)) return statement_kind::savepoint;
    if (is(first, "rollback")) {
        std::string_view next = take_word(sql);
        if (is(next, "work") || is(next, "transaction")) next = take_word(sql);
        return is(next, "to") ? statement_kind::savepoint : statement_kind::transaction;
    }
    if (is(first, "set")) {
        const std::string_view next = take_word(sql);
        const bool is_local =
            is(next, "local") || is(next, "transaction") || is(next, "constraints");
        return is_local ? statement_kind::savepoint : statement_kind::session;
    }
    if (is(first, "prepare")) {
        const std::string_view next = take_word(sql);
        return is(next, "transaction") ? statement_kind::transaction : statement_kind::session;
    }
    if (is(first, "declare")) {
        // A cursor ends with the transaction, unless it is "with hold".
        for (std::string_view word = take_word(sql); !sql.empty(); word = take_word(sql)) {
            if (is(word, "hold")) return statement_kind::session;
            if (word.empty()) sql.remove_prefix(1);
        }
        return statement_kind::savepoint;
    }
    return any_of(sessions) ? statement_kind::session : statement_kind::plain;
}

}  // namespace fairlead::postgres::detail
