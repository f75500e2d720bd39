// A connection whose type is not known: what the server and the client read and write.
#pragma once

#include <fairlead/base/time.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/io/address.hpp>
#include <fairlead/io/byte_stream.hpp>

#include <cstddef>
#include <expected>
#include <memory>
#include <span>
#include <system_error>
#include <utility>

namespace fairlead::http {

/// Bytes in both directions, as `io::byte_stream` says. The code of HTTP is compiled once, for
/// this; a call costs one frame of a coroutine, which the recycler keeps at hand.
class transport {
public:
    transport() = default;
    transport(const transport&) = delete;
    transport& operator=(const transport&) = delete;
    /// Closes the connection.
    virtual ~transport() = default;

    /// As that of `io::byte_stream`.
    [[nodiscard]] virtual task<std::expected<std::size_t, std::error_code>> read_some(
        std::span<std::byte> buffer, time_point deadline) = 0;
    /// As that of `io::byte_stream`.
    [[nodiscard]] virtual task<std::expected<void, std::error_code>> write_all(
        std::span<const std::byte> data, time_point deadline) = 0;
    /// As that of `io::byte_stream`.
    [[nodiscard]] virtual task<std::expected<void, std::error_code>> write_all(
        std::span<const std::span<const std::byte>> parts, time_point deadline) = 0;
    /// Tells the peer that nothing more will be sent, while reading goes on: by `shutdown_send`, or
    /// by `send_end` of TLS. False: the stream has neither, or has failed.
    [[nodiscard]] virtual task<bool> end_sending(time_point deadline) = 0;
    /// The address of the peer; `operation_not_supported` if the stream has none.
    [[nodiscard]] virtual std::expected<io::address, std::error_code> peer_address() const {
        return std::unexpected{std::make_error_code(std::errc::operation_not_supported)};
    }
    /// Closes the connection at once.
    virtual void close() noexcept = 0;
    /// Closes it so that the peer does not take what has come for the whole, if the stream can.
    virtual void reset() noexcept { close(); }
};

/// A stream as a transport, which owns it.
template <io::byte_stream Stream>
class transport_of final : public transport {
public:
    /// Takes over `stream`.
    explicit transport_of(Stream stream) : stream_{std::move(stream)} {}

    [[nodiscard]] task<std::expected<std::size_t, std::error_code>> read_some(
        std::span<std::byte> buffer, time_point deadline) override {
        co_return co_await stream_.read_some(buffer, deadline);
    }
    [[nodiscard]] task<std::expected<void, std::error_code>> write_all(
        std::span<const std::byte> data, time_point deadline) override {
        co_return co_await stream_.write_all(data, deadline);
    }
    [[nodiscard]] task<std::expected<void, std::error_code>> write_all(
        std::span<const std::span<const std::byte>> parts, time_point deadline) override {
        co_return co_await stream_.write_all(parts, deadline);
    }
    [[nodiscard]] task<bool> end_sending([[maybe_unused]] time_point deadline) override {
        if constexpr (requires { static_cast<bool>(stream_.shutdown_send()); }) {
            co_return static_cast<bool>(stream_.shutdown_send());
        } else if constexpr (requires { stream_.send_end(deadline); }) {
            const auto told = co_await stream_.send_end(deadline);
            co_return told.has_value();
        } else {
            co_return false;
        }
    }
    [[nodiscard]] std::expected<io::address, std::error_code> peer_address() const override {
        using found = std::expected<io::address, std::error_code>;
        if constexpr (requires { static_cast<found>(stream_.peer_address()); }) {
            return stream_.peer_address();
        } else if constexpr (requires { static_cast<found>(stream_.below().peer_address()); }) {
            return stream_.below().peer_address();
        } else {
            return transport::peer_address();
        }
    }
    void close() noexcept override { stream_.close(); }
    void reset() noexcept override {
        if constexpr (requires { stream_.reset(); }) {
            stream_.reset();
        } else {
            stream_.close();
        }
    }

    /// The stream itself.
    [[nodiscard]] Stream& stream() noexcept { return stream_; }

private:
    mutable Stream stream_;  // `below` of TLS is not const
};

/// `stream` as a transport. Throws `std::bad_alloc`.
template <io::byte_stream Stream>
[[nodiscard]] std::unique_ptr<transport> make_transport(Stream stream) {
    return std::make_unique<transport_of<Stream>>(std::move(stream));
}

}  // namespace fairlead::http
