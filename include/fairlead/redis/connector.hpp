// How a client gets its connections: over TCP, a Unix socket, TLS, or memory in a test.
//
//     redis::client local{scheduler, redis::connect_unix("/run/redis.sock")};
//     redis::connector tls = [](fl::time_point deadline) -> fl::task<redis::connected> { ... };
#pragma once

#include <fairlead/base/time.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/io/address.hpp>
#include <fairlead/io/byte_stream.hpp>
#include <fairlead/io/connect.hpp>

#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <system_error>
#include <utility>

namespace fairlead::redis {

/// A `byte_stream` of any type, which it owns.
class any_stream {
public:
    /// Takes over a stream. Allocates; throws `std::bad_alloc`.
    template <io::byte_stream Stream>
    explicit any_stream(Stream stream)
        : stream_{std::make_unique<holder<Stream>>(std::move(stream))} {}

    /// As that of the stream. Allocates a frame of recycled memory.
    [[nodiscard]] task<std::expected<std::size_t, std::error_code>> read_some(
        std::span<std::byte> buffer, time_point deadline) {
        return stream_->read_some(buffer, deadline);
    }
    /// As that of the stream. Allocates a frame of recycled memory.
    [[nodiscard]] task<std::expected<void, std::error_code>> write_all(
        std::span<const std::byte> data, time_point deadline) {
        return stream_->write_all(data, deadline);
    }
    /// As that of the stream. Allocates a frame of recycled memory.
    [[nodiscard]] task<std::expected<void, std::error_code>> write_all(
        std::span<const std::span<const std::byte>> parts, time_point deadline) {
        return stream_->write_all(parts, deadline);
    }
    /// As that of the stream.
    void close() { stream_->close(); }
    /// As that of the stream.
    [[nodiscard]] bool is_open() const noexcept { return stream_->is_open(); }

private:
    class held {
    public:
        virtual ~held() = default;
        virtual task<std::expected<std::size_t, std::error_code>> read_some(
            std::span<std::byte> buffer, time_point deadline) = 0;
        virtual task<std::expected<void, std::error_code>> write_all(
            std::span<const std::byte> data, time_point deadline) = 0;
        virtual task<std::expected<void, std::error_code>> write_all(
            std::span<const std::span<const std::byte>> parts, time_point deadline) = 0;
        virtual void close() = 0;
        [[nodiscard]] virtual bool is_open() const noexcept = 0;
    };
    template <class Stream>
    class holder final : public held {
    public:
        explicit holder(Stream stream) : stream_{std::move(stream)} {}
        task<std::expected<std::size_t, std::error_code>> read_some(std::span<std::byte> buffer,
                                                                    time_point deadline) override {
            co_return co_await stream_.read_some(buffer, deadline);
        }
        task<std::expected<void, std::error_code>> write_all(std::span<const std::byte> data,
                                                             time_point deadline) override {
            co_return co_await stream_.write_all(data, deadline);
        }
        task<std::expected<void, std::error_code>> write_all(
            std::span<const std::span<const std::byte>> parts, time_point deadline) override {
            co_return co_await stream_.write_all(parts, deadline);
        }
        void close() override { stream_.close(); }
        [[nodiscard]] bool is_open() const noexcept override { return stream_.is_open(); }

    private:
        Stream stream_;
    };

    std::unique_ptr<held> stream_;
};

/// What a connector gives.
using connected = std::expected<any_stream, std::error_code>;

/// Makes a connection, until a deadline. A client calls it again after each loss, one call at a
/// time; the callable must live until the task of a call has ended, which it does in the client.
using connector = std::function<task<connected>(time_point deadline)>;

/// Connects by TCP.
[[nodiscard]] connector connect_tcp(io::address server);

/// Connects by TCP to a host by its name, which is looked up at each connect: with
/// `dns::by_name(resolver)`.
[[nodiscard]] connector connect_tcp(io::name_connector connects, std::string host,
                                    std::uint16_t port);

/// Connects to a Unix socket. A path that is too long for one is told by each call, as
/// `filename_too_long`.
[[nodiscard]] connector connect_unix(std::string path);

}  // namespace fairlead::redis
