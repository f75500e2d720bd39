// How a server treats its connections.
#pragma once

#include <fairlead/base/time.hpp>
#include <fairlead/http/head.hpp>
#include <fairlead/http/limits.hpp>
#include <fairlead/http/response.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <string>
#include <system_error>

namespace fairlead::http {

/// All have defaults.
struct server_options {
    http::limits limits;  ///< of each request

    /// From the first byte of a head to its last. A client that sends byte by byte gets 408.
    duration head_timeout = std::chrono::seconds{10};
    /// From the first read of a body to its end; see `request::read_until`.
    duration body_timeout = std::chrono::seconds{60};
    /// Without a request; then the connection is closed.
    duration idle_timeout = std::chrono::seconds{60};
    /// For each write of at most `write_piece` bytes, until the system has taken them.
    duration write_timeout = std::chrono::seconds{30};
    /// After a stop: how long requests under way may take until their tasks are stopped.
    duration drain_timeout = std::chrono::seconds{10};
    /// After an answer to a request that was not read to its end: how long the rest is read and
    /// dropped. Closing at once would reset the connection, and could lose the answer.
    duration linger_timeout = std::chrono::seconds{2};
    /// How much is read and dropped then, in bytes, at most.
    std::uint64_t linger_max = std::uint64_t{1} << 20;

    std::uint32_t connections_max = 10000;  ///< more wait in the backlog of the listener
    /// How much of a body that the handler has not read is dropped in order to keep the connection.
    std::uint64_t drop_max = std::uint64_t{64} << 10;
    std::size_t write_piece = std::size_t{256} << 10;  ///< see `write_timeout`

    std::string server = "fairlead";  ///< the field Server; empty: none
    /// The time for the field Date: once for the answers to requests that came together, without
    /// a coroutine between them. Empty: the time of the system. Another makes the answers of a
    /// test the same each time. Must not throw.
    std::function<std::chrono::sys_seconds()> wall_clock;
    bool date = true;  ///< whether answers have the field Date

    /// Is told what a handler has thrown, on the task of the connection; the client gets status
    /// 500. Must not throw.
    std::function<void(const request_head&, std::exception_ptr)> on_failure;

    /// Makes the answers that no handler makes, in the format of the program: `status` for a
    /// malformed head (400, 414, 417, 431, 501, 505), a slow one (408), a body that could not be
    /// collected for a function, a handler that has thrown (500, with
    /// `errc::state_not_recoverable`), and a server that stops (503, with `operation_canceled`).
    /// Empty: a short text. Any thread; throws nothing but `std::bad_alloc`.
    std::function<response(int status, const std::error_code& why)> refusal;
    /// What a client gets, as it is, if an allocation fails: a whole message with "Connection:
    /// close". Over TCP sending it allocates nothing.
    std::string out_of_memory =
        "HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain; charset=utf-8\r\n"
        "Retry-After: 1\r\nContent-Length: 34\r\nConnection: close\r\n\r\n"
        "the server has too little memory\r\n";
};

}  // namespace fairlead::http
