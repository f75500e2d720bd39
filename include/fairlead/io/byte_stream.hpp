// What generic code asks of a connection, whatever carries its bytes: TCP, a Unix socket, TLS, or
// memory in a test.
//
//     template <io::byte_stream Stream>
//     fl::task<bool> greet(Stream& peer) {
//         co_return (co_await peer.write_all(greeting, fl::clock::now() + 5s)).has_value();
//     }
#pragma once

#include <fairlead/base/time.hpp>
#include <fairlead/detail/coro/as_task.hpp>

#include <concepts>
#include <cstddef>
#include <expected>
#include <span>
#include <system_error>

namespace fairlead::io {

/// A connection that is read and written by one task each, both at the same time.
///
/// - `read_some(buffer, deadline)` gives how many bytes came, at least one; 0 after the peer's end,
///   or for an empty buffer.
/// - `write_all(data, deadline)` sends all of `data`; after an error some of it may have been sent.
/// - `write_all(parts, deadline)` does the same with several buffers, one after the other, as if
///   they were one: a head and a body leave in one call of the system where there is one.
/// - `close()` ends it at once, while no task waits on it; `is_open()` is false afterwards.
///
/// The waits end with `timed_out` at their deadline and with `operation_canceled` when their task
/// is asked to stop, and their buffers, and `parts`, stay until then.
template <class Stream>
concept byte_stream =
    requires(Stream& stream, const Stream& constant, std::span<std::byte> buffer,
             std::span<const std::byte> data, std::span<const std::span<const std::byte>> parts,
             time_point deadline) {
        requires std::same_as<coro::awaited_t<decltype(stream.read_some(buffer, deadline))>,
                              std::expected<std::size_t, std::error_code>>;
        requires std::same_as<coro::awaited_t<decltype(stream.write_all(data, deadline))>,
                              std::expected<void, std::error_code>>;
        requires std::same_as<coro::awaited_t<decltype(stream.write_all(parts, deadline))>,
                              std::expected<void, std::error_code>>;
        stream.close();
        { constant.is_open() } -> std::convertible_to<bool>;
    };

}  // namespace fairlead::io
