// An HTTP/1.1 server over any stream.
//
//     fl::task<http::response> answer(http::request& asked);
//     auto listener = fl::io::tcp_listener::bind(scheduler, fl::io::address::loopback(8080));
//     auto served = fl::spawn(scheduler, http::serve(std::move(*listener), answer));
//     ...
//     served.request_stop();   // requests under way end, with "Connection: close"
//     served.get();
#pragma once

#include <fairlead/coro/adapted_wait.hpp>
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/scope.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/coro/with_scope.hpp>
#include <fairlead/detail/coro/as_task.hpp>
#include <fairlead/detail/http/seats.hpp>
#include <fairlead/http/connection_monitor.hpp>
#include <fairlead/http/handler.hpp>
#include <fairlead/http/server_options.hpp>
#include <fairlead/http/transport.hpp>
#include <fairlead/io/byte_stream.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <expected>
#include <new>
#include <span>
#include <system_error>
#include <utility>

namespace fairlead::http {

/// Something that gives connections, such as `io::tcp_listener`: `accept()` gives
/// `std::expected<Stream, std::error_code>`, and ends with `operation_canceled` at a stop.
template <class Listener>
concept listener = requires(Listener& from) {
    requires io::byte_stream<typename coro::awaited_t<decltype(from.accept())>::value_type>;
};

/// @cond internal
namespace detail {

// Serves one connection. True: memory was short, and the client can still be told.
[[nodiscard]] task<bool> serve_transport(transport& connection, const handler& handler,
                                         const server_options& options,
                                         connection_monitor& monitor);

// Throws nothing. The type of the stream is known here, so nothing is allocated in order to tell a
// client over TCP that memory is short.
template <class Stream>
task<> serve_stream(Stream stream, const handler& handler, const server_options& options,
                    connection_monitor& monitor) {
    transport_of<Stream> connection{std::move(stream)};
    bool out_of_memory = false;
    try {
        out_of_memory = co_await serve_transport(connection, handler, options, monitor);
    } catch (const std::bad_alloc&) {
        out_of_memory = true;
    }
    if (!out_of_memory) co_return;
    monitor.is_out_of_memory();
    try {
        Stream& to = connection.stream();
        const std::span text{options.out_of_memory};
        const time_point deadline = after(clock::now(), options.write_timeout);
        const auto sent = co_await to.write_all(std::as_bytes(text), deadline);
        if constexpr (requires { static_cast<bool>(to.shutdown_send()); }) {
            if (!sent || !to.shutdown_send()) co_return;
            // The client may be sending. Closing at once could lose the answer.
            const time_point end = after(clock::now(), options.linger_timeout);
            std::array<std::byte, 256> dropped;
            for (std::uint64_t count = 0; count < options.linger_max;) {
                const auto size = co_await to.read_some(dropped, end);
                if (!size || *size == 0) co_return;
                count += *size;
            }
        }
    } catch (const std::bad_alloc&) {
        // Over TLS: it is closed without a word.
    }
}

template <class Stream>
task<> serve_seated(server_state& server, Stream stream, semaphore_units place) {
    try {
        basic_task& self = co_await current_task();
        seat own{server.seats, self};
        co_await serve_stream(std::move(stream), server.handler, server.options, own);
    } catch (const std::exception&) {
        // Memory is short: only this connection is closed.
    }
    place.release();
}

// Gives the failure of the listener; none after a stop.
template <class Listener>
task<std::error_code> accept_all(Listener& from, server_state& server, scope& connections) {
    for (;;) {
        auto place = co_await server.places.acquire();
        if (!place) co_return std::error_code{};
        auto peer = co_await from.accept();
        if (!peer) {
            const bool stopped = peer.error() == std::errc::operation_canceled;
            co_return stopped ? std::error_code{} : peer.error();
        }
        try {
            connections.spawn(serve_seated(server, std::move(*peer), std::move(*place)),
                              {.name = "http connection"});
        } catch (const std::bad_alloc&) {
            // The connection is closed.
        }
    }
}

}  // namespace detail
/// @endcond

/// Serves one connection until the peer ends it, a limit of time has passed, a message was refused,
/// or the task is asked to stop. A stop ends an idle connection at once; it reaches the handler of
/// a request under way, whose answer is sent, with "Connection: close". Throws nothing.
template <io::byte_stream Stream>
[[nodiscard]] task<> serve_connection(Stream stream, handler handler, server_options options) {
    connection_monitor none;
    co_await detail::serve_stream(std::move(stream), handler, options, none);
}

/// The same, watched by `monitor`. All three stay until the task has ended; many connections can
/// share the first two. For programs that accept by themselves and limit what connections hold.
template <io::byte_stream Stream>
[[nodiscard]] task<> serve_connection(Stream stream, const handler& handler,
                                      const server_options& options, connection_monitor& monitor) {
    return detail::serve_stream(std::move(stream), handler, options, monitor);
}

/// The first one with the options of `server_options{}`. An overload: GCC 12 would destroy a
/// default argument of a call within a `co_await` twice.
template <io::byte_stream Stream>
[[nodiscard]] task<> serve_connection(Stream stream, handler handler) {
    return serve_connection(std::move(stream), std::move(handler), server_options{});
}

/// Accepts connections and serves each with a task of its own, in the group of the calling task,
/// until the listener fails, or the task is asked to stop. Then it drains: it closes idle
/// connections, and answers half a head with 503; requests under way go on for at most
/// `drain_timeout`, their answers say "Connection: close", and what has not ended then is asked to
/// stop; its last answer has `write_timeout`. All connections have ended when it returns. Gives
/// the error of the listener.
template <listener Listener>
[[nodiscard]] task<std::expected<void, std::error_code>> serve(Listener from, handler handler,
                                                               server_options options) {
    detail::server_state server{std::move(handler), std::move(options)};
    std::error_code failure;
    const auto body = [&from, &server, &failure](scope& connections) -> task<> {
        failure = co_await detail::accept_all(from, server, connections);
        server.seats.drain();
        const time_point deadline = after(clock::now(), server.options.drain_timeout);
        const auto drained = co_await shielded(connections.join_until(deadline));
        if (!drained) connections.request_stop();
        co_await shielded(connections.join());
    };
    co_await with_scope(body);
    if (failure) co_return std::unexpected{failure};
    co_return std::expected<void, std::error_code>{};
}

/// The same with the options of `server_options{}`: an overload, as that of `serve_connection`.
template <listener Listener>
[[nodiscard]] task<std::expected<void, std::error_code>> serve(Listener from, handler handler) {
    return serve(std::move(from), std::move(handler), server_options{});
}

}  // namespace fairlead::http
