// The fields of a head: a view of the lines that a peer has sent, and a list that a program makes.
#pragma once

#include <fairlead/detail/base/language.hpp>
#include <fairlead/detail/sync/recycler.hpp>

#include <cstddef>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

namespace fairlead::http {

/// One field. The views point into the head. The value has no spaces around it.
struct field {
    std::string_view name;   ///< as it was written
    std::string_view value;  ///< without the spaces around it

    /// Compares both as they are written.
    friend bool operator==(const field&, const field&) = default;
};

/// Whether two names of fields, or two tokens, are the same: the case of ASCII letters counts not.
[[nodiscard]] bool same_name(std::string_view a, std::string_view b) noexcept;

/// Fields in the order in which they were sent. A view of the lines of a head, which must stay.
/// A search looks at each line; a head has few. Allocates nothing. Any thread.
class fields {
public:
    /// Goes through the fields.
    class iterator {
    public:
        using value_type = field;                            ///< what it gives
        using difference_type = std::ptrdiff_t;              ///< for the standard library
        using iterator_category = std::input_iterator_tag;   ///< it gives values
        using iterator_concept = std::forward_iterator_tag;  ///< and may go twice
        /// The end of nothing.
        iterator() = default;
        /// The field.
        [[nodiscard]] field operator*() const noexcept { return now_; }
        /// To the next.
        iterator& operator++() noexcept {
            next();
            return *this;
        }
        /// To the next; gives where it was.
        iterator operator++(int) noexcept {
            const iterator before = *this;
            next();
            return before;
        }
        /// Whether both are at the same field.
        friend bool operator==(const iterator& a, const iterator& b) noexcept {
            return a.now_.name.data() == b.now_.name.data();
        }

    private:
        friend class fields;
        explicit iterator(std::string_view lines) noexcept : rest_{lines} { next(); }
        void next() noexcept;

        std::string_view rest_;
        field now_;
    };

    /// No fields.
    fields() = default;
    /// @cond internal
    // `lines`: complete lines that were checked, each with its CRLF.
    explicit fields(std::string_view lines) noexcept : lines_{lines} {}
    /// @endcond

    /// The first field.
    [[nodiscard]] iterator begin() const noexcept { return iterator{lines_}; }
    /// Behind the last.
    [[nodiscard]] iterator end() const noexcept { return {}; }
    /// Whether there is none.
    [[nodiscard]] bool empty() const noexcept { return lines_.empty(); }

    /// The value of the first field of that name.
    [[nodiscard]] std::optional<std::string_view> find(std::string_view name) const noexcept;
    /// How many fields have that name.
    [[nodiscard]] std::size_t count(std::string_view name) const noexcept;
    /// The lines as they were sent, each with its CRLF.
    [[nodiscard]] std::string_view lines() const noexcept { return lines_; }

private:
    std::string_view lines_;
};

/// Fields that a program sends. They are kept as the lines that will be sent, in one string.
class field_list {
public:
    /// Whether `name` is a token.
    [[nodiscard]] static bool is_name(std::string_view name) noexcept;
    /// Whether `value` has no control character but the tab, and no space at its ends.
    [[nodiscard]] static bool is_value(std::string_view value) noexcept;

    /// Adds a field at the end. Throws `std::invalid_argument` if it would end the field
    /// early or begin another one: `name` is no token, or `value` has a control character. So text
    /// of a client in a field cannot add a field. Throws `std::bad_alloc`.
    field_list& add(std::string_view name, std::string_view value);
    /// Removes all fields of that name, and adds this one. Throws like `add`.
    field_list& set(std::string_view name, std::string_view value);
    /// Removes all fields of that name; how many there were.
    std::size_t remove(std::string_view name) noexcept;

    /// All of them. Valid until the list changes.
    [[nodiscard]] fields view() const noexcept { return fields{lines_}; }
    /// The value of the first field of that name. Valid until the list changes.
    [[nodiscard]] std::optional<std::string_view> find(std::string_view name) const noexcept {
        return view().find(name);
    }
    /// Whether there is none.
    [[nodiscard]] bool empty() const noexcept { return lines_.empty(); }
    /// Removes all; keeps the memory.
    void clear() noexcept { lines_.clear(); }
    /// @cond internal
    // Takes over lines that a parser has checked.
    static field_list of_checked(std::string_view lines) {
        field_list list;
        list.lines_ = lines;
        return list;
    }
    /// @endcond

private:
    // A list lives as long as a message: its memory comes from the recycler.
    std::basic_string<char, std::char_traits<char>, sync::recycling_allocator<char>> lines_;
};

}  // namespace fairlead::http
