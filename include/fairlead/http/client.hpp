// An HTTP/1.1 client with a pool of connections for each origin.
//
//     http::client client;
//     http::client_request asked{.url = "http://127.0.0.1:8080/games"};
//     auto answer = co_await client.send(std::move(asked), fl::clock::now() + 5s);
//     if (!answer) co_return answer.error();
//     const auto body = co_await answer->read_all();
#pragma once

#include <fairlead/base/time.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/http/client_request.hpp>
#include <fairlead/http/client_response.hpp>
#include <fairlead/http/limits.hpp>
#include <fairlead/http/transport.hpp>
#include <fairlead/http/url.hpp>
#include <fairlead/io/connect.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <string>
#include <system_error>

namespace fairlead::http {

/// @cond internal
namespace detail {
class client_pool;
}
/// @endcond

/// Makes a connection to an origin. A program brings its own for names, TLS, proxies, or tests. It
/// is called on the task of the request, by many tasks at once, and ends at the deadline and at a
/// stop.
using connector = std::function<task<std::expected<std::unique_ptr<transport>, std::error_code>>(
    const origin& to, time_point deadline)>;

/// Connects by TCP, without TLS, to numeric addresses and "localhost", which is 127.0.0.1. Errors:
/// those of the system; `std::errc::protocol_not_supported` for https,
/// `std::errc::invalid_argument` for another name.
[[nodiscard]] connector tcp_connector();

/// The same to hosts by their names, as `connects` finds them: `dns::by_name(resolver)`. Errors:
/// those of `connects`; `std::errc::protocol_not_supported` for https.
[[nodiscard]] connector tcp_connector(io::name_connector connects);

/// All have defaults.
struct client_options {
    http::limits limits;                 ///< of each response
    std::uint32_t connections_max = 16;  ///< for each origin; more requests wait
    /// How long a connection is kept without a request. It is closed by the next request to the
    /// origin, or by `close_idle`. Shorter than the limit of the server, so that a request does not
    /// meet the end of its connection.
    duration idle_timeout = std::chrono::seconds{20};
    std::string user_agent = "fairlead";  ///< the field User-Agent; empty: none
};

/// What a client has done so far.
struct client_stats {
    std::uint64_t connections = 0;  ///< connections that were made
    std::uint64_t requests = 0;     ///< requests that were given to `send`
    std::uint64_t retries = 0;      ///< requests that were sent a second time
    std::size_t idle = 0;           ///< connections that wait for a request now
};

/// Sends requests. Any number of tasks at the same time, on the scheduler whose driver the
/// connections use, and which must outlive them. Redirects are not followed. Responses may outlive
/// the client.
class client {
public:
    /// Connects by TCP.
    explicit client(client_options options = {});
    /// Connects by `connects`.
    explicit client(connector connects, client_options options = {});
    client(const client&) = delete;
    client& operator=(const client&) = delete;
    /// Closes the idle connections. No `send` may be under way.
    ~client();

    /// Sends `asked`, and ends when the head of the response has come. `deadline` is that of the
    /// whole: the wait for a connection, the connect, the request, the head and the body of the
    /// response. Answers with a status 1xx are skipped.
    ///
    /// A request is sent a second time, on a new connection, if the first one was kept from an
    /// earlier request and has ended before a byte of the response came, the method is idempotent
    /// (GET, HEAD, OPTIONS, TRACE, PUT, DELETE), and the body is no stream. The server may have
    /// closed the connection just then.
    ///
    /// Errors: `errc::bad_message` for a method or a URL that cannot be sent, those of the
    /// connector and of the stream, those of the parser, `errc::closed` if the server has ended
    /// without an answer, `errc::unexpected_switch`, `errc::wrong_size` if `stream` has written
    /// another size, `std::errc::timed_out`, `std::errc::operation_canceled`. Rethrows what
    /// `stream` throws.
    [[nodiscard]] task<std::expected<client_response, std::error_code>> send(
        client_request asked, time_point deadline = never);

    /// Closes the connections that wait for a request. Any thread.
    void close_idle() noexcept;

    /// The counters, as they are now. Any thread.
    [[nodiscard]] client_stats stats() const noexcept;

private:
    std::shared_ptr<detail::client_pool> pool_;
};

}  // namespace fairlead::http
