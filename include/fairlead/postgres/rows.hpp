// What a statement gives: rows of typed values.
//
//     const auto found = co_await db.query({"select id, name from users"}, deadline);
//     for (const postgres::row each : *found) {
//         const auto user = each.as<std::int64_t, std::string>();
//         if (user) greet(std::get<0>(*user), std::get<1>(*user));
//     }
#pragma once

#include <fairlead/postgres/error.hpp>
#include <fairlead/postgres/statement.hpp>

#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace fairlead::postgres {

class field;

/// @cond internal
namespace detail {

[[nodiscard]] bool decode(const field& from, bool& into) noexcept;
[[nodiscard]] bool decode(const field& from, std::string& into);
[[nodiscard]] bool decode(const field& from, std::string_view& into) noexcept;
[[nodiscard]] bool decode(const field& from, std::vector<std::byte>& into);
[[nodiscard]] bool decode(const field& from, timestamp& into) noexcept;
template <class T>
    requires(std::integral<T> || std::floating_point<T>) && (!std::same_as<T, bool>) &&
            (!std::same_as<T, char>)
[[nodiscard]] bool decode(const field& from, T& into) noexcept;
template <class T>
[[nodiscard]] bool decode(const field& from, std::optional<T>& into);

[[nodiscard]] error wrong_type_of(const field& from);
[[nodiscard]] error wrong_columns(std::size_t expected, std::size_t found);
[[nodiscard]] error wrong_rows(std::size_t found);

template <class... Ts>
struct tuple_or_one {
    using type = std::tuple<Ts...>;
};
template <class T>
struct tuple_or_one<T> {
    using type = T;
};

}  // namespace detail
/// @endcond

/// A value of a row. Valid while the `rows` are.
class field {
public:
    /// @cond internal
    field(void* of, int row, int column) noexcept : of_{of}, row_{row}, column_{column} {}
    /// @endcond

    /// Whether it is NULL.
    [[nodiscard]] bool is_null() const noexcept;
    /// Its text as the server sends it; empty if it is NULL.
    [[nodiscard]] std::string_view text() const noexcept;
    /// The name of its column.
    [[nodiscard]] std::string_view name() const noexcept;
    /// The number of its type in the server, such as 20 for `bigint`.
    [[nodiscard]] std::uint32_t type() const noexcept;

    /// The value as a `T`: a boolean, a number, `std::string` (the text of any type),
    /// `std::string_view` (the same, valid while the rows are), `std::vector<std::byte>` (of
    /// `bytea`), `timestamp` (of `timestamptz`, or of `timestamp`, which is taken for UTC), or an
    /// `std::optional` of one of them, which is empty for NULL. `wrong_type`: it is none, or NULL.
    template <class T>
    [[nodiscard]] result<T> as() const {
        T made{};
        if (!detail::decode(*this, made)) return std::unexpected{detail::wrong_type_of(*this)};
        return made;
    }

private:
    void* of_;
    int row_;
    int column_;
};

/// A row. Valid while the `rows` are.
class row {
public:
    /// @cond internal
    row(void* of, int number) noexcept : of_{of}, number_{number} {}
    /// @endcond

    /// How many values it has.
    [[nodiscard]] std::size_t size() const noexcept;
    /// The value of a column, which exists.
    [[nodiscard]] field operator[](std::size_t column) const noexcept {
        return {of_, number_, static_cast<int>(column)};
    }
    /// The value of a column by its name. Linear in the number of columns. `wrong_type`: there is
    /// no such column.
    [[nodiscard]] result<field> at(const std::string& name) const;

    /// All values, with one type for each column: a tuple, or the value itself if there is one.
    /// `wrong_type`: as for a field, or the number of columns is another.
    template <class... Ts>
        requires(sizeof...(Ts) != 0)
    [[nodiscard]] result<typename detail::tuple_or_one<Ts...>::type> as() const {
        if (size() != sizeof...(Ts)) {
            return std::unexpected{detail::wrong_columns(sizeof...(Ts), size())};
        }
        std::tuple<Ts...> made{};
        std::optional<error> failure;
        [&]<std::size_t... I>(std::index_sequence<I...>) {
            (void)(decode_at<I>(made, failure) && ...);
        }(std::index_sequence_for<Ts...>{});
        if (failure) return std::unexpected{std::move(*failure)};
        if constexpr (sizeof...(Ts) == 1) {
            return std::get<0>(std::move(made));
        } else {
            return made;
        }
    }

private:
    template <std::size_t I, class... Ts>
    bool decode_at(std::tuple<Ts...>& into, std::optional<error>& failure) const {
        const field of = (*this)[I];
        if (detail::decode(of, std::get<I>(into))) return true;
        failure = detail::wrong_type_of(of);
        return false;
    }

    void* of_;
    int number_;
};

/// The rows that a statement gives, or how many it has changed. Copies share them; any thread.
class rows {
public:
    /// None.
    rows() = default;
    /// @cond internal
    explicit rows(std::shared_ptr<void> of) noexcept : of_{std::move(of)} {}
    /// @endcond

    /// How many there are.
    [[nodiscard]] std::size_t size() const noexcept;
    /// Whether there are none.
    [[nodiscard]] bool empty() const noexcept { return size() == 0; }
    /// How many columns there are.
    [[nodiscard]] std::size_t columns() const noexcept;
    /// The name of a column, which exists.
    [[nodiscard]] std::string_view name_of(std::size_t column) const noexcept;
    /// How many rows an INSERT, UPDATE, DELETE, MERGE or SELECT has concerned; else 0.
    [[nodiscard]] std::uint64_t affected() const noexcept;
    /// What was done, such as "INSERT 0 1".
    [[nodiscard]] std::string_view command() const noexcept;

    /// A row, which exists.
    [[nodiscard]] row operator[](std::size_t number) const noexcept {
        return {of_.get(), static_cast<int>(number)};
    }
    /// The only row: see `row::as`. `not_one_row`: there are more, or none.
    template <class... Ts>
    [[nodiscard]] auto one() const -> decltype(std::declval<row>().as<Ts...>()) {
        if (size() != 1) return std::unexpected{detail::wrong_rows(size())};
        return (*this)[0].template as<Ts...>();
    }
    /// All rows: see `row::as`. Allocates.
    template <class... Ts>
    [[nodiscard]] result<std::vector<typename detail::tuple_or_one<Ts...>::type>> all() const {
        std::vector<typename detail::tuple_or_one<Ts...>::type> made;
        made.reserve(size());
        for (const row each : *this) {
            auto next = each.template as<Ts...>();
            if (!next) return std::unexpected{std::move(next.error())};
            made.push_back(std::move(*next));
        }
        return made;
    }

    /// Goes over rows.
    class iterator {
    public:
        using value_type = row;                             ///< what it gives
        using difference_type = std::ptrdiff_t;             ///< of two
        using iterator_category = std::input_iterator_tag;  ///< gives values
        using reference = row;                              ///< a value
        using pointer = void;                               ///< none
        iterator() = default;
        /// @cond internal
        iterator(void* of, int number) noexcept : of_{of}, number_{number} {}
        /// @endcond
        /// The row.
        [[nodiscard]] row operator*() const noexcept { return {of_, number_}; }
        /// The next one.
        iterator& operator++() noexcept {
            ++number_;
            return *this;
        }
        /// The next one; gives this one.
        iterator operator++(int) noexcept {
            iterator now = *this;
            ++number_;
            return now;
        }
        /// Whether both are at the same row.
        [[nodiscard]] bool operator==(const iterator& other) const noexcept = default;

    private:
        void* of_ = nullptr;
        int number_ = 0;
    };
    /// The first row.
    [[nodiscard]] iterator begin() const noexcept { return {of_.get(), 0}; }
    /// Behind the last row.
    [[nodiscard]] iterator end() const noexcept { return {of_.get(), static_cast<int>(size())}; }

private:
    std::shared_ptr<void> of_;
};

/// @cond internal
namespace detail {

template <class T>
    requires(std::integral<T> || std::floating_point<T>) && (!std::same_as<T, bool>) &&
            (!std::same_as<T, char>)
bool decode(const field& from, T& into) noexcept {
    const std::string_view text = from.text();
    const char* const end = text.data() + text.size();
    const auto [behind, failure] = std::from_chars(text.data(), end, into);
    return !text.empty() && failure == std::errc{} && behind == end;
}

template <class T>
bool decode(const field& from, std::optional<T>& into) {
    if (from.is_null()) {
        into.reset();
        return true;
    }
    return decode(from, into.emplace());
}

}  // namespace detail
/// @endcond
}  // namespace fairlead::postgres
