// Prints heads and chunks into a buffer.
#pragma once

#include <fairlead/detail/base/language.hpp>
#include <fairlead/http/fields.hpp>
#include <fairlead/http/head.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace fairlead::http {

/// The usual text beside a status, such as "Not Found"; empty for an unknown one.
[[nodiscard]] std::string_view reason_of(int status) noexcept;

/// Appends "HTTP/1.1 200 OK" and a line end. `status` has three digits.
void print_status_line(std::string& to, int status);

/// Appends a request line. `method` is a token, and `target` has no space and no control character:
/// that is asserted; see `is_method` and `is_target`.
void print_request_line(std::string& to, std::string_view method, std::string_view target);

/// Appends one field. `name` and `value` are as `field_list` takes them: that is asserted.
void print_field(std::string& to, std::string_view name, std::string_view value);

/// Appends fields that were checked before.
void print_fields(std::string& to, const fields& fields);

/// Appends the field that tells where the body ends: Content-Length or Transfer-Encoding; nothing
/// for `none` and `until_close`.
void print_framing(std::string& to, const framing& body);

/// Appends the empty line that ends a head.
void print_end(std::string& to);

/// Appends the line before a chunk of `size` bytes, at least one. After the data comes a line end.
void print_chunk_size(std::string& to, std::size_t size);

/// Appends `data` as one chunk. Empty data is no chunk, and appends nothing: it would end the body.
void print_chunk(std::string& to, std::string_view data);

/// What ends a chunked body.
inline constexpr std::string_view last_chunk = "0\r\n\r\n";

/// Whether `method` may be sent: it is a token.
[[nodiscard]] bool is_method(std::string_view method) noexcept;
/// Whether `target` may be sent with `method`: a path, an absolute URI, `*` with OPTIONS, or
/// host:port with CONNECT.
[[nodiscard]] bool is_target(std::string_view method, std::string_view target) noexcept;

}  // namespace fairlead::http
