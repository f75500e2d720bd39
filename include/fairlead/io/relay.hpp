// Moves bytes between two connections, in both directions, until both have ended: the work of a
// proxy.
//
//     auto ended = co_await fl::io::relay(client, server, {.idle = 5min});
//     const fl::io::relayed& moved = ended ? *ended : ended.error().moved;
//     log(moved.from_first, moved.from_second);
//
// A direction that gets the end of its source passes it on (`shutdown_send`, or `send_end` of TLS),
// and the other one goes on. A direction reads no more before it has written what it has, so a slow
// reader slows down the writer at the far end.
//
// Between two sockets of the kernel much data does not pass through the process (splice). TLS, and
// networks in memory, are read and written.
#pragma once

#include <fairlead/base/time.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/detail/io/relay_direction.hpp>
#include <fairlead/io/byte_stream.hpp>
#include <fairlead/io/socket_stream.hpp>

#include <concepts>
#include <cstdint>
#include <expected>
#include <system_error>

namespace fairlead::io {

/// How long a relay may take.
struct relay_options {
    time_point deadline = never;      ///< of the whole
    duration idle = duration::max();  ///< for how long no byte may move in either direction
};

/// How many bytes a relay has moved: those that were written, not those that were read.
struct relayed {
    std::uint64_t from_first = 0;   ///< from the first stream to the second
    std::uint64_t from_second = 0;  ///< from the second stream to the first
};

/// Why a relay has ended before both streams have.
struct unfinished_relay {
    relayed moved;          ///< until then
    std::error_code error;  ///< of the direction that has failed first
};

/// Moves bytes in both directions until both streams have ended. No other task may read or write
/// them. Both stay open: close them afterwards. After an error nothing can be read from them.
///
/// When a direction fails, because a peer was reset, then what has already come from the stream
/// that it writes to is still moved: an answer that came before the reset is not lost. Bytes that
/// were read and not yet written are lost after an error. Errors: those of reads and writes;
/// `timed_out` at the deadline, or after `idle`; `operation_canceled`, `stream_timeout`. On the
/// scheduler of both. Allocates frames and two buffers of 16 KiB; throws `std::bad_alloc`.
///
/// A direction that has filled its buffer in one read goes on by splice, through a pipe of its own,
/// which takes two descriptors, until less comes at once. Where the system gives no pipe, or
/// refuses splice, it goes on as before.
[[nodiscard]] task<std::expected<relayed, unfinished_relay>> relay(socket_stream& first,
                                                                   socket_stream& second,
                                                                   relay_options options = {});

/// The same for any streams, such as TLS. When a direction fails that writes to a stream that is no
/// `socket_stream`, the other direction ends at once. Bytes count when a whole write has ended.
template <byte_stream First, byte_stream Second>
    requires(!(std::derived_from<First, socket_stream> && std::derived_from<Second, socket_stream>))
[[nodiscard]] task<std::expected<relayed, unfinished_relay>> relay(First& first, Second& second,
                                                                   relay_options options = {}) {
    scheduler& home = co_await current_scheduler();
    detail::relay_run run{home, options.deadline, options.idle};
    co_await detail::run_both(detail::copy_one_way(first, second, run.forth),
                              detail::copy_one_way(second, first, run.back), run);
    const relayed moved{run.forth.moved, run.back.moved};
    if (!run.failure()) co_return moved;
    co_return std::unexpected{unfinished_relay{moved, run.failure()}};
}

}  // namespace fairlead::io
