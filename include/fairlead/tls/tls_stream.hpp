// TLS over any stream of bytes: TCP, a Unix socket, memory in a test.
//
//     auto stream = co_await io::tls_stream<>::connect(std::move(*tcp), context, "example.org",
//                                                      fl::clock::now() + 10s);
//     auto stream = co_await io::tls_stream<>::accept(std::move(*tcp), context, deadline);
//
// A client checks that a chain leads from the server's certificate to a root, and that it is for
// the host. Errors are those of the stream below and of `tls_errc`, and
//     std::errc::timed_out            the deadline has passed first
//     std::errc::operation_canceled   the task was asked to stop first
//     std::errc::stream_timeout       a deadline of the task's context has passed first
//
// Ends. A read gives 0 after the peer's close_notify alone. A connection that ends without it gives
// `tls_errc::truncated`: an attacker may have cut off the rest. A protocol that knows the length of
// its messages may ignore that between two of them. The destructor and `close` send nothing: call
// `send_end` before, or the peer reads `truncated`.
//
// A read that is stopped or late can be tried again: no byte is lost. A write that is stopped, late
// or fails may have sent a part of a record: each later write gives `tls_errc::broken`. The same
// holds for a read that is cut off while it sends an answer to the peer, such as that to a key
// update.
//
// One task may read while another one writes. Each operation is a coroutine, whose frame comes from
// the recycler; a stream is two allocations beside those of OpenSSL. An idle stream keeps about
// 20 KB. A handshake is mostly computing, so a task gives up its worker between two flights when
// its slice is used up.
//
// `tls_stream` is a template of thin coroutines, so that a read of the stream below is awaited in
// place, with neither a virtual call nor a coroutine for each. What is large is compiled once, in
// `detail::tls_engine`, which alone knows OpenSSL. ADR 38.
#pragma once

#include <fairlead/coro/adapted_wait.hpp>
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/detail/tls/tls_channel.hpp>
#include <fairlead/io/byte_stream.hpp>
#include <fairlead/io/tcp.hpp>
#include <fairlead/tls/tls_context.hpp>
#include <fairlead/tls/tls_errc.hpp>
#include <fairlead/tls/tls_peer.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace fairlead::io {

/// A connection with TLS, after its handshake. It is itself a `byte_stream`.
template <byte_stream Stream = tcp_stream>
class tls_stream {
public:
    /// What an operation gives that gives nothing but its success.
    using done = std::expected<void, std::error_code>;

    /// Makes the handshake of a client. `host` is the name or the address for which the server's
    /// certificate must be; a name is also sent to the server. `context` is one for clients.
    /// `deadline` is that of the whole. Errors: those of `below`, `tls_errc`, and
    /// `invalid_argument` for a host that is no name. `below` is closed after an error.
    [[nodiscard]] static task<std::expected<tls_stream, std::error_code>> connect(
        Stream below, tls_context context, std::string host, time_point deadline = never) {
        auto engine = detail::tls_engine::client(context, host);
        if (!engine) co_return std::unexpected{engine.error()};
        tls_stream made{std::move(below), std::move(*engine)};
        const done shaken = co_await made.shake_hands(deadline);
        if (!shaken) co_return std::unexpected{shaken.error()};
        co_return std::move(made);
    }

    /// Makes the handshake of a server. `context` is one for servers. `deadline` is that of the
    /// whole: give one, or a peer that sends nothing keeps the task. Errors: those of `below` and
    /// `tls_errc`. `below` is closed after an error.
    [[nodiscard]] static task<std::expected<tls_stream, std::error_code>> accept(
        Stream below, tls_context context, time_point deadline = never) {
        auto engine = detail::tls_engine::server(context);
        if (!engine) co_return std::unexpected{engine.error()};
        tls_stream made{std::move(below), std::move(*engine)};
        const done shaken = co_await made.shake_hands(deadline);
        if (!shaken) co_return std::unexpected{shaken.error()};
        co_return std::move(made);
    }

    /// Reads what there is, at least one byte, at most `buffer.size()`. 0: the peer has sent
    /// close_notify, or `buffer` is empty. `buffer` must stay until the await ends.
    [[nodiscard]] task<std::expected<std::size_t, std::error_code>> read_some(
        std::span<std::byte> buffer, time_point deadline = never) {
        if (buffer.empty()) co_return 0U;
        parts& of = *parts_;
        for (;;) {
            const detail::tls_step step = of.channel.read(buffer);
            if (step.output != 0) {
                // What was read is given in any case, and a later write says that it is broken.
                const std::error_code cut_off = co_await answer(of, step.output, deadline);
                if (cut_off && step.outcome == detail::tls_outcome::wants_input) {
                    co_return std::unexpected{cut_off};
                }
            }
            if (step.outcome == detail::tls_outcome::done) co_return step.count;
            if (step.outcome == detail::tls_outcome::ended) co_return 0U;
            if (step.outcome == detail::tls_outcome::failed) co_return std::unexpected{step.error};
            const std::error_code none = co_await receive(of, step.inputs, deadline);
            if (none) co_return std::unexpected{none};
        }
    }

    /// Writes all of `data`. After an error some of it may have been sent, and nothing more can be.
    /// A task that was asked to stop before has sent nothing: that alone breaks nothing.
    [[nodiscard]] task<done> write_all(std::span<const std::byte> data,
                                       time_point deadline = never) {
        return write_each(data, {}, deadline);
    }

    /// The same with several buffers, one after the other. Each is at least one record, but the
    /// records leave in one call of the stream below, up to 64 KiB. `several`, too, must stay.
    [[nodiscard]] task<done> write_all(std::span<const std::span<const std::byte>> several,
                                       time_point deadline = never) {
        return write_each({}, several, deadline);
    }

    /// Tells the peer that the stream sends no more (close_notify), and does not wait for its
    /// answer; reading goes on. Writes give `broken_pipe` from then on.
    [[nodiscard]] task<done> send_end(time_point deadline = never) {
        const std::optional<wait_error> ended = co_await detail::why_ended();
        if (ended) co_return std::unexpected{detail::code_of(*ended)};
        parts& of = *parts_;
        const detail::tls_step step = of.channel.end_sending();
        std::error_code failed = step.error;
        if (!failed && step.output != 0) failed = co_await send(of, deadline);
        if (!failed) co_return done{};
        of.channel.break_writing();
        co_return std::unexpected{failed};
    }

    /// Closes the stream below at once, and sends nothing. No task may wait on it.
    void close() noexcept { parts_->below.close(); }

    /// Closes the stream below with a reset, if it has one, else as `close`. The peer reads a
    /// failure in both cases. No task may wait on it.
    void reset() noexcept {
        if constexpr (requires(Stream& below) { below.reset(); }) {
            parts_->below.reset();
        } else {
            close();
        }
    }

    /// Whether the stream below is open: not after `close`, nor after it was moved from.
    [[nodiscard]] bool is_open() const noexcept {
        return parts_ != nullptr && parts_->below.is_open();
    }

    /// The protocol that the two ends have agreed on. Empty: none.
    [[nodiscard]] std::string_view alpn() const noexcept { return peer().alpn; }
    /// What the handshake has found out.
    [[nodiscard]] const tls_peer& peer() const noexcept { return parts_->channel.engine().peer(); }

    /// The stream below, for its addresses and options. Do not read, write or close it.
    [[nodiscard]] Stream& below() noexcept { return parts_->below; }

    /// @cond internal
    [[nodiscard]] const detail::tls_engine& engine() const noexcept {
        return parts_->channel.engine();
    }
    /// @endcond

private:
    // In one place, which stays when the stream is moved: tasks wait there.
    struct parts {
        parts(Stream stream, std::unique_ptr<detail::tls_engine> engine)
            : below{std::move(stream)}, channel{std::move(engine)} {}

        Stream below;
        detail::tls_channel channel;
    };

    tls_stream(Stream below, std::unique_ptr<detail::tls_engine> engine)
        : parts_{std::make_unique<parts>(std::move(below), std::move(engine))} {}

    [[nodiscard]] task<done> shake_hands(time_point deadline) {
        parts& of = *parts_;
        for (;;) {
            const detail::tls_step step = of.channel.handshake();
            // An alert, too. Its failure matters less than the reason for it.
            std::error_code failed;
            if (step.output != 0) failed = co_await send(of, deadline);
            if (step.error) failed = step.error;
            if (!failed && step.outcome == detail::tls_outcome::done) co_return done{};
            if (!failed) failed = co_await receive(of, step.inputs, deadline);
            if (failed) co_return std::unexpected{failed};
            const auto stopped = co_await as_result(checkpoint());
            if (!stopped) co_return std::unexpected{detail::code_of(stopped.error())};
        }
    }

    // Writes `data`, and then `more`.
    [[nodiscard]] task<done> write_each(std::span<const std::byte> data,
                                        std::span<const std::span<const std::byte>> more,
                                        time_point deadline) {
        const std::optional<wait_error> ended = co_await detail::why_ended();
        if (ended) co_return std::unexpected{detail::code_of(*ended)};
        parts& of = *parts_;
        for (;;) {
            for (; data.empty() && !more.empty(); more = more.subspan(1)) data = more.front();
            if (data.empty()) co_return done{};
            const detail::tls_step step = of.channel.write(data);
            data = data.subspan(step.count);
            std::error_code failed;
            // The record of a part waits for that of the next one.
            const bool waits =
                step.outcome == detail::tls_outcome::done && data.empty() &&
                step.output < detail::tls_engine::output_limit &&
                std::any_of(more.begin(), more.end(), [](auto part) { return !part.empty(); });
            if (step.output != 0 && !waits) failed = co_await send(of, deadline);  // an alert, too
            if (step.error) failed = step.error;
            if (!failed && step.outcome == detail::tls_outcome::wants_input) {
                failed = co_await receive(of, step.inputs, deadline);
            }
            if (failed) {
                of.channel.break_writing();
                co_return std::unexpected{failed};
            }
        }
    }

    // Gets bytes from below, unless some have come since `inputs` was told.
    [[nodiscard]] static task<std::error_code> receive(parts& of, std::uint64_t inputs,
                                                       time_point deadline) {
        const auto turn = co_await of.channel.input_turn.lock(deadline);
        if (!turn) co_return detail::code_of(turn.error());
        const auto room = of.channel.room_for_input(inputs);
        if (!room) co_return room.error();
        if (room->empty()) co_return std::error_code{};
        const auto size = co_await of.below.read_some(*room, deadline);
        if (!size) co_return size.error();
        co_return of.channel.input_came(*size);
    }

    // Sends all output, also that of other tasks, in the order in which the engine has made it.
    [[nodiscard]] static task<std::error_code> send(parts& of, time_point deadline) {
        auto turn = co_await of.channel.output_turn.lock(deadline);
        if (!turn) co_return detail::code_of(turn.error());
        co_return co_await send_in_turn(of, std::move(*turn), deadline);
    }

    // The same for a read, which waits for a sender only if there is much.
    [[nodiscard]] static task<std::error_code> answer(parts& of, std::size_t size,
                                                      time_point deadline) {
        mutex_lock turn = of.channel.output_turn.try_lock();
        if (turn) co_return co_await send_in_turn(of, std::move(turn), deadline);
        if (size < detail::tls_engine::output_limit) co_return std::error_code{};
        co_return co_await send(of, deadline);
    }

    [[nodiscard]] static task<std::error_code> send_in_turn(parts& of, mutex_lock turn,
                                                            time_point deadline) {
        detail::tls_bytes sent;
        while (turn) {
            while (of.channel.take_output(sent)) {
                const done all = co_await of.below.write_all(sent.bytes(), deadline);
                if (!all) {
                    of.channel.break_writing();
                    co_return all.error();
                }
            }
            turn.unlock();
            // See tls_channel.hpp: a read may have added output, and found the turn taken.
            if (of.channel.has_output()) turn = of.channel.output_turn.try_lock();
        }
        // The task that had the turn before may have been cut off, with the output of this one.
        co_return of.channel.why_broken();
    }

    std::unique_ptr<parts> parts_;
};

}  // namespace fairlead::io
