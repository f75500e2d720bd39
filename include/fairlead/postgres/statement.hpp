// A statement of SQL with its parameters.
//
//     postgres::statement find{"select name from users where id = $1", id};
//
// The server infers the types of the parameters from the statement; where it cannot, the statement
// says them: `$1::bigint`. All values are sent as text but for bytes.
#pragma once

#include <fairlead/detail/base/language.hpp>
#include <fairlead/detail/sync/recycler.hpp>

#include <charconv>
#include <chrono>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead::postgres {

/// A point in time of the server, in microseconds: `timestamptz`.
using timestamp = std::chrono::sys_time<std::chrono::microseconds>;

/// A value for a parameter. A view, for the time of one call.
class parameter {
public:
    /// NULL.
    parameter(std::nullptr_t) noexcept : is_null_{true} {}
    /// NULL.
    parameter(std::nullopt_t) noexcept : is_null_{true} {}
    /// A text, or a value of any type in its textual form. It has no zero byte.
    parameter(std::string_view text) noexcept : bytes_{text} {}
    /// The same.
    parameter(const std::string& text) noexcept : bytes_{text} {}
    /// The same, up to a zero.
    parameter(const char* text) noexcept : bytes_{text} {}
    /// Bytes, for a `bytea`: sent as they are.
    parameter(std::span<const std::byte> bytes) noexcept
        : bytes_{reinterpret_cast<const char*>(bytes.data()), bytes.size()}, is_binary_{true} {}
    /// The same.
    parameter(const std::vector<std::byte>& bytes) noexcept
        : parameter{std::span<const std::byte>{bytes}} {}
    /// A boolean.
    template <std::same_as<bool> T>
    parameter(T is) noexcept : bytes_{is ? "t" : "f"} {}
    /// An integer.
    template <std::integral T>
        requires(!std::same_as<T, bool> && !std::same_as<T, char>)
    parameter(T number) noexcept
        : size_{static_cast<std::size_t>(
              std::to_chars(digits_, digits_ + sizeof(digits_), number).ptr - digits_)} {}
    /// A floating-point number, exactly.
    template <std::floating_point T>
        requires(sizeof(T) <= sizeof(double))
    parameter(T number) noexcept {
        if (std::isnan(number)) {
            bytes_ = "NaN";
        } else {
            size_ = static_cast<std::size_t>(
                std::to_chars(digits_, digits_ + sizeof(digits_), number).ptr - digits_);
        }
    }
    /// A point in time of the years 1 to 9999, in UTC.
    parameter(timestamp when) noexcept : size_{print(when, digits_)} {}
    /// The value of `value`, or NULL.
    template <class T>
        requires std::constructible_from<parameter, const T&>
    parameter(const std::optional<T>& value) noexcept
        : parameter{value ? parameter{*value} : parameter{nullptr}} {}

    /// Whether it is NULL.
    [[nodiscard]] bool is_null() const noexcept { return is_null_; }
    /// Whether its bytes are no text.
    [[nodiscard]] bool is_binary() const noexcept { return is_binary_; }
    /// Its bytes, valid while the parameter is.
    [[nodiscard]] std::string_view bytes() const noexcept {
        return size_ == 0 ? bytes_ : std::string_view{digits_, size_};
    }

private:
    static std::size_t print(timestamp when, char (&into)[40]) noexcept;

    std::string_view bytes_;
    char digits_[40] = {};
    std::size_t size_ = 0;  // of the digits; 0: it is `bytes_`
    bool is_null_ = false;
    bool is_binary_ = false;
};

/// A statement and its parameters. One statement: several, divided by semicolons, are an error of
/// the server. Allocates for its text and its values. A statement with more than 65,535 parameters,
/// or with more bytes than `bytes_max`, is not sent: `errc::invalid_parameter`.
class statement {
public:
    /// How many bytes the text may have, and all parameters together. The server ends a connection
    /// on which a message of a gibibyte begins; so much less leaves room for what a message has
    /// beside the bytes: 6 bytes for each parameter, and its head.
    static constexpr std::size_t bytes_max = (std::size_t{1} << 30) - (std::size_t{1} << 19);

    /// `sql` has `$1` for the first parameter and so on. Throws `std::bad_alloc`. A pack and no
    /// list: GCC 12 refuses a list in the expression of a `co_await`.
    template <std::convertible_to<parameter>... Parameters>
    statement(std::string_view sql, const Parameters&... parameters)
        : sql_{sql.substr(0, sql.size() > bytes_max ? 0 : sql.size())},
          is_too_large_{sql.size() > bytes_max} {
        if constexpr (sizeof...(parameters) != 0) {
            values_.reserve(sizeof...(parameters));
            (add(parameters), ...);
        }
    }
    /// Adds a parameter. Throws `std::bad_alloc`. Nothing is copied beyond `bytes_max`.
    statement& add(const parameter& one);
    /// It is planned each time anew, and no place of the cache of the connection is taken.
    statement& unprepared() noexcept {
        is_prepared_ = false;
        return *this;
    }

    /// The text.
    [[nodiscard]] std::string_view sql() const noexcept { return sql_; }
    /// How many parameters there are.
    [[nodiscard]] std::size_t parameters() const noexcept { return values_.size(); }
    /// Whether the connection may keep it prepared.
    [[nodiscard]] bool is_prepared() const noexcept { return is_prepared_; }
    /// How many bytes it has, about.
    [[nodiscard]] std::size_t size() const noexcept { return sql_.size() + bytes_.size(); }

    /// @cond internal
    struct value {
        std::size_t at;  // in the bytes
        std::size_t size;
        bool is_null;
        bool is_binary;
    };
    [[nodiscard]] std::span<const value> values() const noexcept { return values_; }
    [[nodiscard]] const char* sql_with_zero() const noexcept { return sql_.c_str(); }
    [[nodiscard]] const char* bytes() const noexcept { return bytes_.data(); }
    [[nodiscard]] bool is_valid() const noexcept;
    /// @endcond

private:
    using text = std::basic_string<char, std::char_traits<char>, sync::recycling_allocator<char>>;

    text sql_;
    text bytes_;  // of the values, each with a zero behind
    std::vector<value, sync::recycling_allocator<value>> values_;
    bool is_too_large_ = false;  // then a part of it is missing
    bool is_prepared_ = true;
};

}  // namespace fairlead::postgres
