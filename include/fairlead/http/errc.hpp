// Why a message is refused: errors of HTTP as `std::error_code`.
#pragma once

#include <fairlead/detail/base/language.hpp>

#include <cstdint>
#include <system_error>

namespace fairlead::http {

/// What is wrong with a message, or with the exchange. `make_error_code(it).message()` says it in
/// words, and `status_for` gives the status of the answer.
enum class errc : std::uint8_t {
    none = 0,              ///< nothing
    bad_start_line,        ///< the first line is no request line, or no status line
    bad_method,            ///< the method is no token
    bad_target,            ///< the target is no path, no absolute URI, and no `*`
    bad_version,           ///< another version than HTTP/1.0 and HTTP/1.1
    bad_status,            ///< the status has not three digits, or is less than 100
    bad_line_end,          ///< a line ends with a line feed alone
    folded_line,           ///< a line begins with a space
    space_before_colon,    ///< a space between the name of a field and its colon
    bad_field_name,        ///< the name of a field is no token, or has no colon
    bad_field_value,       ///< a control character; in Connection, an option that is no token
    line_too_long,         ///< the first line is longer than `limits::line_max`
    head_too_large,        ///< the head exceeds `limits::head_max`, or a field `line_max`
    too_many_fields,       ///< more fields than `limits::fields_max`
    bad_host,              ///< not exactly one Host field, or its value is not host[:port]
    bad_length,            ///< the Content-Length is no decimal number, or has 20 digits
    several_lengths,       ///< more than one Content-Length
    length_and_coding,     ///< Content-Length beside Transfer-Encoding
    bad_coding,            ///< several Transfer-Encoding fields, an empty one, or one in HTTP/1.0
    unknown_coding,        ///< a transfer coding that is not `chunked`
    unknown_expectation,   ///< an expectation that is not `100-continue`
    body_too_large,        ///< the body exceeds `limits::body_max`
    bad_chunk_size,        ///< the size of a chunk is no hexadecimal number of at most 16 digits
    bad_chunk_extension,   ///< what follows the size of a chunk is no extension
    extensions_too_large,  ///< the extensions of the chunks exceed `limits::extensions_max`
    bad_chunk_end,         ///< no CRLF after the data of a chunk
    bad_trailer,           ///< a line after the last chunk is no field
    trailers_too_large,    ///< the lines after the last chunk exceed `limits::trailers_max`
    incomplete,            ///< the peer has ended in the middle of a message
    closed,                ///< the peer has ended before the first byte of a message
    too_many_interim,      ///< more than `limits::interim_max` answers with a status 1xx
    unexpected_switch,     ///< the peer has switched the protocol, which was not asked for
    wrong_size,            ///< a body to be sent has another size than was announced
    bad_message,           ///< a method, target or field to be sent is not fit for a head
};

/// The category of `errc`, whose name is "http".
[[nodiscard]] const std::error_category& category() noexcept;

/// The error as the library gives it.
[[nodiscard]] inline std::error_code make_error_code(errc error) noexcept {
    return {static_cast<int>(error), category()};
}

/// The status with which a server answers a request that it refuses because of `error`: 400, 408
/// for `std::errc::timed_out`, 413, 414, 417, 431, 501 or 505; 500 for an error of another kind.
[[nodiscard]] int status_for(const std::error_code& error) noexcept;

}  // namespace fairlead::http

/// @cond internal
template <>
struct std::is_error_code_enum<fairlead::http::errc> : std::true_type {};
/// @endcond
