// Streams in memory, for tests in virtual time: two ends, each of which reads what the peer writes.
#pragma once

#include "support/joined.hpp"

#include <fairlead/coro/task.hpp>
#include <fairlead/coro/waited.hpp>
#include <fairlead/detail/io/errors.hpp>
#include <fairlead/io/byte_stream.hpp>
#include <fairlead/wait/event.hpp>

#include <algorithm>
#include <cstring>
#include <deque>
#include <expected>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace fairlead::http {

// One direction.
struct half_pipe {
    std::string bytes;
    std::size_t room = std::numeric_limits<std::size_t>::max();  // more waits for a read
    std::size_t read_max = std::numeric_limits<std::size_t>::max();
    std::vector<std::size_t> writes;  // the size of each
    bool ended = false;
    bool broken = false;  // the next write fails
    bool reset = false;   // the end is a reset of the connection
    auto_event readable;
    auto_event writable;
};

struct pipe_pair {
    half_pipe to_server;
    half_pipe to_client;
};

class memory_stream {
public:
    memory_stream(std::shared_ptr<pipe_pair> both, half_pipe& in, half_pipe& out)
        : both_{std::move(both)}, in_{&in}, out_{&out} {}
    memory_stream(memory_stream&& other) noexcept = default;
    memory_stream& operator=(memory_stream&& other) = delete;
    ~memory_stream() { close(); }

    task<std::expected<std::size_t, std::error_code>> read_some(std::span<std::byte> buffer,
                                                                time_point deadline = never) {
        if (!open_) co_return std::unexpected{std::make_error_code(std::errc::not_connected)};
        while (in_->bytes.empty() && !in_->ended) {
            const auto come = co_await in_->readable.wait(deadline);
            if (!come) co_return std::unexpected{io::detail::code_of(come.error())};
        }
        if (in_->bytes.empty() && in_->reset) {
            co_return std::unexpected{std::make_error_code(std::errc::connection_reset)};
        }
        const std::size_t size = std::min({buffer.size(), in_->bytes.size(), in_->read_max});
        std::memcpy(buffer.data(), in_->bytes.data(), size);
        in_->bytes.erase(0, size);
        in_->writable.set();
        co_return size;
    }

    task<std::expected<void, std::error_code>> write_all(std::span<const std::byte> data,
                                                         time_point deadline = never) {
        if (!open_) co_return std::unexpected{std::make_error_code(std::errc::not_connected)};
        out_->writes.push_back(data.size());
        while (!data.empty()) {
            if (out_->broken) {
                co_return std::unexpected{std::make_error_code(std::errc::connection_reset)};
            }
            const std::size_t size =
                std::min(data.size(), out_->room - std::min(out_->room, out_->bytes.size()));
            if (size == 0) {
                const auto free = co_await out_->writable.wait(deadline);
                if (!free) co_return std::unexpected{io::detail::code_of(free.error())};
                continue;
            }
            out_->bytes.append(reinterpret_cast<const char*>(data.data()), size);
            data = data.subspan(size);
            out_->readable.set();
        }
        co_return std::expected<void, std::error_code>{};
    }

    task<std::expected<void, std::error_code>> write_all(
        std::span<const std::span<const std::byte>> parts, time_point deadline = never) {
        const std::string all = test::joined(parts);
        co_return co_await write_all(std::as_bytes(std::span{all}), deadline);
    }

    std::expected<void, std::error_code> shutdown_send() {
        out_->ended = true;
        out_->readable.set();
        return {};
    }

    void close() noexcept {
        if (!is_open()) return;
        open_ = false;
        out_->ended = true;
        out_->readable.set();
        in_->broken = true;
        in_->writable.set();
    }
    void reset() noexcept {
        out_->reset = true;
        close();
    }
    [[nodiscard]] bool is_open() const noexcept { return both_ != nullptr && open_; }

    [[nodiscard]] half_pipe& in() noexcept { return *in_; }
    [[nodiscard]] half_pipe& out() noexcept { return *out_; }

private:
    std::shared_ptr<pipe_pair> both_;  // null: moved from
    bool open_ = true;
    half_pipe* in_;
    half_pipe* out_;
};

static_assert(io::byte_stream<memory_stream>);

// The end of the server, and the end of the client.
inline std::pair<memory_stream, memory_stream> make_pipe() {
    auto both = std::make_shared<pipe_pair>();
    half_pipe& to_server = both->to_server;
    half_pipe& to_client = both->to_client;
    return {memory_stream{both, to_server, to_client}, memory_stream{both, to_client, to_server}};
}

// Gives the streams that a test hands in.
class memory_listener {
public:
    struct backlog {
        std::deque<memory_stream> waiting;
        auto_event arrived;
        std::error_code failure;
        int accepted = 0;
    };

    explicit memory_listener(std::shared_ptr<backlog> from) : from_{std::move(from)} {}

    task<std::expected<memory_stream, std::error_code>> accept(time_point deadline = never) {
        while (from_->waiting.empty()) {
            if (from_->failure) co_return std::unexpected{from_->failure};
            const auto come = co_await from_->arrived.wait(deadline);
            if (!come) co_return std::unexpected{io::detail::code_of(come.error())};
        }
        memory_stream first = std::move(from_->waiting.front());
        from_->waiting.pop_front();
        ++from_->accepted;
        co_return first;
    }

private:
    std::shared_ptr<backlog> from_;
};

}  // namespace fairlead::http
