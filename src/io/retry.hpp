// What streams and listeners of all kinds do alike: connect, accept, and try again where the
// system does not tell when it is worth it.
#pragma once

#include <fairlead/coro/adapted_wait.hpp>
#include <fairlead/coro/awaits.hpp>
#include <fairlead/detail/io/errors.hpp>
#include <fairlead/io/socket_listener.hpp>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace fairlead::io {

namespace detail {

// There is no room for another connection now, but there may be later: no descriptor, no memory, or
// too many descriptors are watched.
inline bool out_of_room(int error) noexcept {
    return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM ||
           error == ENOSPC;
}

// When to try again. It is no coroutine: there may be no memory for one.
inline time_point retry_time(const scheduler& home, time_point deadline) noexcept {
    return std::min(deadline, after(home.now(), socket_listener::starved_retry));
}
// Why not to try again, after the sleep until then: an error, or none.
inline std::error_code no_retry(const waited<void>& slept, const scheduler& home,
                                time_point deadline) noexcept {
    if (!slept) return code_of(slept.error());
    return home.now() < deadline ? std::error_code{} : std::make_error_code(std::errc::timed_out);
}

// Connects to `peer`. `retried`: this error of the system ends when the peer has room; 0: none.
template <class Stream>
task<std::expected<Stream, std::error_code>> connect_as(address peer, time_point deadline,
                                                        stream_options options, int retried) {
    scheduler& home = co_await current_scheduler();
    for (;;) {
        const auto begun = network::of(home).connect(peer, options);
        if (begun) {
            socket_handle made{*begun->made};
            if (begun->in_progress) {
                const auto connected = co_await connect_operation{made, deadline};
                if (!connected) co_return std::unexpected{connected.error()};
            }
            co_return Stream{std::move(made)};
        }
        if (retried == 0 || begun.error().value() != retried) {
            co_return std::unexpected{begun.error()};
        }
        const auto slept = co_await as_result(sleep_until(retry_time(home, deadline)));
        if (const std::error_code ended = no_retry(slept, home, deadline)) {
            co_return std::unexpected{ended};
        }
    }
}

}  // namespace detail

template <class Stream>
task<std::expected<Stream, std::error_code>> socket_listener::accept_as(time_point deadline) {
    scheduler& home = co_await current_scheduler();
    for (;;) {
        auto accepted = co_await detail::accept_operation{socket_, options_.stream, deadline};
        if (accepted) co_return Stream{std::move(*accepted)};
        // A deadline or a stop has other error numbers.
        if (!detail::out_of_room(accepted.error().value())) {
            co_return std::unexpected{accepted.error()};
        }
        // No edge comes when another part of the process frees a descriptor. A connection that
        // could not be registered is closed; there may be memory for the next.
        starved_.add();
        const auto slept = co_await as_result(sleep_until(detail::retry_time(home, deadline)));
        if (const std::error_code ended = detail::no_retry(slept, home, deadline)) {
            co_return std::unexpected{ended};
        }
    }
}

}  // namespace fairlead::io
