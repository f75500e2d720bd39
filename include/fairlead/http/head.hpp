// What the heads of messages say. Views into the bytes that were received.
#pragma once

#include <fairlead/detail/base/language.hpp>
#include <fairlead/http/fields.hpp>

#include <cstdint>
#include <string_view>

namespace fairlead::http {

/// The version of a message.
enum class version : std::uint8_t {
    http_1_0,  ///< without chunks, and without `keep-alive` by default
    http_1_1,  ///< the usual one
};

/// Where the body of a message ends.
struct framing {
    /// The ways to say it.
    enum class kind : std::uint8_t {
        none,         ///< there is no body
        length,       ///< after `size` bytes
        chunked,      ///< after the chunk of size 0 and its trailers
        until_close,  ///< when the peer ends; of responses alone
    };
    kind how = kind::none;   ///< how the end is told
    std::uint64_t size = 0;  ///< in bytes; for `length`

    /// Compares both parts.
    friend bool operator==(const framing&, const framing&) = default;
};

/// The head of a request.
struct request_head {
    std::string_view method;  ///< as it was written, such as "GET"
    std::string_view target;  ///< as it was written, such as "/games?name=chess"
    /// The host that is asked for, with its port: of the target if that is absolute, else of the
    /// Host field; empty if HTTP/1.0 has none.
    std::string_view host;
    http::fields fields;                        ///< all of them
    http::version version = version::http_1_1;  ///< of the client
    framing body;                               ///< where the body ends
    bool keep_alive = true;         ///< the client may send another request after this one
    bool expects_continue = false;  ///< the client waits for "100 Continue" before its body

    /// The path of the target, from its first slash to the question mark; "*" as it is. Not
    /// decoded.
    [[nodiscard]] std::string_view path() const noexcept;
    /// What follows the question mark; empty if there is none. Not decoded.
    [[nodiscard]] std::string_view query() const noexcept;
};

/// The head of a response.
struct response_head {
    int status = 0;                             ///< three digits
    std::string_view reason;                    ///< the text beside the status; may be empty
    http::fields fields;                        ///< all of them
    http::version version = version::http_1_1;  ///< of the server
    framing body;                               ///< where the body ends
    bool keep_alive = true;                     ///< the connection may be used again
};

}  // namespace fairlead::http
