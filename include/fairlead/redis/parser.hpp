// Reads replies of Redis from bytes, in pieces of any size. Without IO.
//
//     const auto room = parser.room(64 << 10);
//     parser.filled(co_await stream.read_some(room));
//     for (;;) {
//         auto next = parser.next();            // an error: the connection is of no use any more
//         if (!next || !*next) break;           // nothing: more bytes are needed
//         handle(std::move(**next));
//     }
#pragma once

#include <fairlead/redis/error.hpp>
#include <fairlead/redis/value.hpp>

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace fairlead::redis {

/// Beyond these a reply is `errc::too_large`.
struct parser_limits {
    /// Bytes of one string.
    std::size_t bulk_max = 64UL << 20;
    /// Bytes of a whole reply, as received.
    std::size_t reply_max = 256UL << 20;
    /// Items of one aggregate; of a map keys and values.
    std::size_t items_max = 1UL << 20;
    /// Aggregates within each other.
    std::size_t depth_max = 16;
    /// Bytes of a line: of a short string, an error, a number.
    std::size_t line_max = 64UL << 10;
};

/// One thread at a time. What it allocates is bounded by a constant times the bytes that it was
/// given, whatever lengths these announce. Streamed strings and aggregates of RESP3, which Redis
/// does not send, are `errc::protocol`.
class parser {
public:
    /// A parser with limits.
    explicit parser(parser_limits limits = {}) noexcept : limits_{limits} {}

    /// Where the next bytes are to be written, `size` of them. The span ends with the next call.
    /// Throws `std::bad_alloc`.
    [[nodiscard]] std::span<std::byte> room(std::size_t size);
    /// How many bytes of the room were written.
    void filled(std::size_t count) noexcept { end_ += count; }
    /// Copies bytes into its room. Throws `std::bad_alloc`.
    void feed(std::string_view bytes);

    /// The next value; nothing: more bytes are needed; or an error, for good. Throws
    /// `std::bad_alloc`.
    [[nodiscard]] std::expected<std::optional<value>, std::error_code> next();

private:
    // An aggregate whose items are still coming.
    struct aggregate {
        kind of;
        bool is_attribute;
        std::size_t left;
        std::vector<value> items;
        std::vector<value> attributes;  // of the aggregate
    };
    enum class step : std::uint8_t { goes_on, complete, needs_more, failed };

    [[nodiscard]] step take_line();
    [[nodiscard]] step take_bulk();
    [[nodiscard]] step parse_line(char type, std::string_view rest);
    [[nodiscard]] step begin_bulk(kind of, std::string_view rest);
    [[nodiscard]] step begin_aggregate(kind of, bool is_attribute, std::string_view rest);
    [[nodiscard]] step give(value made);
    [[nodiscard]] step fail(errc code) noexcept {
        failure_ = make_error_code(code);
        return step::failed;
    }
    void consume(std::size_t count) noexcept {
        begin_ += count;
        reply_size_ += count;
    }

    parser_limits limits_;
    std::string buffer_;     // [begin_, end_) has not been parsed
    std::size_t begin_ = 0;  //
    std::size_t end_ = 0;
    std::size_t scanned_ = 0;  // bytes of the line that have no end of line
    std::size_t reply_size_ = 0;
    std::optional<kind> bulk_;  // a string whose bytes are coming
    std::size_t bulk_left_ = 0;
    std::string bulk_text_;
    std::vector<aggregate> open_;
    std::vector<value> attributes_;  // of the next value
    value whole_;
    std::error_code failure_;
};

}  // namespace fairlead::redis
