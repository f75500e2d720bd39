// A connection in memory: two streams, each of which reads what the other one writes. A test says
// in which pieces bytes come, and what happens after a number of bytes.
#pragma once

#include "support/joined.hpp"

#include <fairlead/channel/channel.hpp>
#include <fairlead/detail/tls/tls_channel.hpp>
#include <fairlead/io/byte_stream.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <utility>

namespace fairlead::test {

/// One direction.
struct memory_pipe {
    explicit memory_pipe(std::size_t capacity) : pieces{capacity} {}

    channel<std::string> pieces;  // of one write each
    std::string left;             // of the last piece
    std::size_t delivered = 0;
    std::size_t sent = 0;    // bytes
    std::size_t writes = 0;  // whole calls

    /// How many bytes a read gets that could have `size`.
    std::function<std::size_t(std::size_t size)> piece = [](std::size_t size) { return size; };
    /// After how many bytes a read gives what `then` says: 0 or an error.
    std::size_t cut_after = SIZE_MAX;
    std::function<std::expected<std::size_t, std::error_code>()> then;
};

class memory_stream {
public:
    memory_stream(std::shared_ptr<memory_pipe> in, std::shared_ptr<memory_pipe> out)
        : in_{std::move(in)}, out_{std::move(out)} {}
    memory_stream(memory_stream&&) = default;
    memory_stream& operator=(memory_stream&&) = delete;
    ~memory_stream() { close(); }

    task<std::expected<std::size_t, std::error_code>> read_some(std::span<std::byte> buffer,
                                                                time_point deadline = never) {
        memory_pipe& from = *in_;
        if (from.delivered == from.cut_after) {
            auto instead = from.then();
            if (instead || instead.error()) co_return instead;  // else it goes on
        }
        // As TCP does: no try is made after a stop was noticed.
        const std::optional<wait_error> ended = co_await io::detail::why_ended();
        if (ended) co_return std::unexpected{io::detail::code_of(*ended)};
        if (from.left.empty()) {
            auto next = co_await from.pieces.receive(deadline);
            if (!next && next.error() == wait_error::closed) co_return 0U;
            if (!next) co_return std::unexpected{io::detail::code_of(next.error())};
            from.left = std::move(*next);
        }
        std::size_t size = std::min(buffer.size(), from.left.size());
        size = std::min(from.piece(size), size);
        if (from.delivered < from.cut_after) {
            size = std::min(size, from.cut_after - from.delivered);
        }
        std::memcpy(buffer.data(), from.left.data(), size);
        from.left.erase(0, size);
        from.delivered += size;
        co_return size;
    }

    task<std::expected<void, std::error_code>> write_all(std::span<const std::byte> data,
                                                         time_point deadline = never) {
        std::string piece{reinterpret_cast<const char*>(data.data()), data.size()};
        ++out_->writes;
        out_->sent += data.size();
        const auto sent = co_await out_->pieces.send(std::move(piece), deadline);
        if (sent) co_return std::expected<void, std::error_code>{};
        if (sent.error() == wait_error::closed) {
            co_return std::unexpected{std::make_error_code(std::errc::broken_pipe)};
        }
        co_return std::unexpected{io::detail::code_of(sent.error())};
    }

    task<std::expected<void, std::error_code>> write_all(
        std::span<const std::span<const std::byte>> parts, time_point deadline = never) {
        const std::string all = joined(parts);
        co_return co_await write_all(std::as_bytes(std::span{all}), deadline);
    }

    void close() noexcept {
        if (out_ != nullptr) out_->pieces.close();
        if (in_ != nullptr) in_->pieces.close();
        in_ = out_ = nullptr;
    }
    [[nodiscard]] bool is_open() const noexcept { return in_ != nullptr; }

private:
    std::shared_ptr<memory_pipe> in_;
    std::shared_ptr<memory_pipe> out_;
};

static_assert(io::byte_stream<memory_stream>);

/// Two ends, and the directions between them.
struct memory_connection {
    /// `capacity`: how many writes a direction holds before the next one waits.
    explicit memory_connection(std::size_t capacity = channel<std::string>::unbounded)
        : to_server{std::make_shared<memory_pipe>(capacity)},
          to_client{std::make_shared<memory_pipe>(capacity)},
          client{to_client, to_server},
          server{to_server, to_client} {}

    std::shared_ptr<memory_pipe> to_server;
    std::shared_ptr<memory_pipe> to_client;
    memory_stream client;
    memory_stream server;
};

}  // namespace fairlead::test
