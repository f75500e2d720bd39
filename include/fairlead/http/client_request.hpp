// A request as a program gives it to a client.
#pragma once

#include <fairlead/coro/task.hpp>
#include <fairlead/http/body_writer.hpp>
#include <fairlead/http/fields.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace fairlead::http {

/// What a client sends.
struct client_request {
    std::string method = "GET";  ///< any but CONNECT
    std::string url = {};        ///< see `http::url`
    /// The fields of the program. Those that frame the message are the client's: Content-Length,
    /// Transfer-Encoding, Connection and Expect are left out when it is sent. A Host field replaces
    /// that of the URL.
    field_list fields = {};
    std::string body = {};  ///< the whole body
    /// Writes the body instead of `body`, once. Such a request is never sent again.
    std::function<task<>(body_writer&)> stream = {};
    /// The size of what `stream` writes, in bytes. Without it the body is sent in chunks, which a
    /// server of HTTP/1.0 does not understand.
    std::optional<std::uint64_t> stream_size = {};
};

}  // namespace fairlead::http
