// A reply of Redis, of any type of RESP2 and RESP3.
#pragma once

#include <fairlead/detail/base/language.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace fairlead::redis {

/// The types of RESP3. RESP2 has the first ones, up to `array`; its two nulls are `null` here.
enum class kind : std::uint8_t {
    null,           ///< nothing
    simple_string,  ///< a short text, such as OK
    error,          ///< an error, simple or bulk
    integer,        ///< 64 bits
    bulk_string,    ///< bytes
    array,          ///< values in order
    boolean,        ///< true or false
    double_,        ///< a floating-point number
    big_number,     ///< an integer of any size, as digits
    verbatim,       ///< a text with a format of three letters
    map,            ///< keys and values in turn
    set,            ///< values without an order
    push,           ///< no reply: sent by the server on its own account
};

/// A value, which moves without allocating. `operator==` compares all of it.
class value {
public:
    /// Null.
    value() = default;
    /// An integer.
    explicit value(std::int64_t number) noexcept : kind_{kind::integer}, data_{number} {}
    /// A boolean.
    explicit value(bool is) noexcept : kind_{kind::boolean}, data_{std::int64_t{is}} {}
    /// A double.
    explicit value(double number) noexcept : kind_{kind::double_}, data_{number} {}
    /// A text: `of` is one of the kinds that are bytes. That of a `verbatim` is its format, a colon
    /// and its text.
    value(kind of, std::string text) noexcept : kind_{of}, data_{std::move(text)} {}
    /// An aggregate: `of` is `array`, `map`, `set` or `push`.
    value(kind of, std::vector<value> items) noexcept : kind_{of}, data_{std::move(items)} {}

    /// Its type.
    [[nodiscard]] kind type() const noexcept { return kind_; }
    /// Whether it is null.
    [[nodiscard]] bool is_null() const noexcept { return kind_ == kind::null; }
    /// Whether it is an error of the server.
    [[nodiscard]] bool is_error() const noexcept { return kind_ == kind::error; }

    /// The bytes of a string, error, big number or verbatim text, the last without its format;
    /// empty for other types. Valid while the value is unchanged.
    [[nodiscard]] std::string_view text() const noexcept {
        const auto* const all = std::get_if<std::string>(&data_);
        if (all == nullptr) return {};
        const std::string_view whole{*all};
        return kind_ == kind::verbatim ? whole.substr(4) : whole;
    }
    /// The format of a verbatim text, such as "txt"; empty for other types.
    [[nodiscard]] std::string_view format() const noexcept {
        if (kind_ != kind::verbatim) return {};
        return std::string_view{*std::get_if<std::string>(&data_)}.substr(0, 3);
    }
    /// Takes the bytes out; empty for types without bytes.
    [[nodiscard]] std::string take_text() && {
        if (kind_ == kind::verbatim) return std::string{text()};
        auto* const all = std::get_if<std::string>(&data_);
        return all == nullptr ? std::string{} : std::move(*all);
    }
    /// The number of an integer, and 1 or 0 for a boolean; 0 for other types.
    [[nodiscard]] std::int64_t integer() const noexcept {
        const auto* const number = std::get_if<std::int64_t>(&data_);
        return number == nullptr ? 0 : *number;
    }
    /// The number of a double; 0 for other types.
    [[nodiscard]] double real() const noexcept {
        const auto* const number = std::get_if<double>(&data_);
        return number == nullptr ? 0 : *number;
    }
    /// The items of an aggregate, of a map keys and values in turn; empty for other types.
    [[nodiscard]] const std::vector<value>& items() const noexcept {
        static const std::vector<value> none;
        const auto* const all = std::get_if<std::vector<value>>(&data_);
        return all == nullptr ? none : *all;
    }
    /// Takes the items out.
    [[nodiscard]] std::vector<value> take_items() && {
        auto* const all = std::get_if<std::vector<value>>(&data_);
        return all == nullptr ? std::vector<value>{} : std::move(*all);
    }

    /// What the server has said about the value (RESP3 attributes): keys and values in turn.
    [[nodiscard]] const std::vector<value>& attributes() const noexcept {
        static const std::vector<value> none;
        return attributes_ == nullptr ? none : *attributes_;
    }
    /// Sets the attributes. Allocates unless there are none.
    void set_attributes(std::vector<value> all) {
        attributes_ = all.empty() ? nullptr : std::make_unique<std::vector<value>>(std::move(all));
    }

    /// Whether type, content and attributes are the same. Not-a-number equals itself.
    friend bool operator==(const value& left, const value& right) noexcept;

private:
    kind kind_ = kind::null;
    std::variant<std::monostate, std::int64_t, double, std::string, std::vector<value>> data_;
    std::unique_ptr<std::vector<value>> attributes_;
};

}  // namespace fairlead::redis
