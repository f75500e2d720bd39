// The awaits of streams and listeners: what each attempt does, on whatever network.
#pragma once

#include <fairlead/detail/io/waiting_operation.hpp>
#include <fairlead/detail/sync/atomic.hpp>
#include <fairlead/io/network.hpp>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <span>
#include <system_error>

namespace fairlead::io {

/// Why a `read_exactly` has not filled its buffer.
struct unfinished_read {
    std::size_t size = 0;   ///< how many bytes came before; they are in the buffer
    std::error_code error;  ///< what ended it; no error: the end of the peer
};

namespace detail {

// An operation on a socket. The stream may be closed before an attempt: then there is none.
class socket_operation : public waiting_operation {
protected:
    socket_operation(const socket_handle& on, wait_source& source, time_point deadline,
                     bool try_now) noexcept
        : waiting_operation{on->home(), source, deadline, try_now}, on_{on} {}
    ~socket_operation() = default;

    // What came of an attempt. False: it would have to wait.
    [[nodiscard]] bool ended(std::ptrdiff_t result) noexcept {
        if (result == -EAGAIN) return false;
        error_ = result < 0 ? static_cast<int>(-result) : 0;
        return true;
    }
    const socket_handle& on_;
    int error_ = -1;  // -1: not ended; 0: well
};

// A read that got less than it asked for has emptied the socket: an edge will tell of more.
class reading_operation : public socket_operation {
public:
    // Another branch has ended the wait: an edge may have come without an attempt after it.
    void leave() const noexcept { drained_ = false; }
    [[nodiscard]] std::expected<std::size_t, std::error_code> await_resume() const noexcept;

protected:
    reading_operation(const socket_handle& on, bool& drained, std::size_t room,
                      time_point deadline) noexcept
        : socket_operation{on, on->to_read(), deadline, !drained || room == 0}, drained_{drained} {}
    ~reading_operation() = default;

    // `count` bytes came, or an error; there was room for `room`.
    [[nodiscard]] bool took(std::ptrdiff_t count, std::size_t room) noexcept;

    bool& drained_;
    std::size_t size_ = 0;
};

class read_operation final : public reading_operation {
public:
    using as_branch = operation_branch<read_operation>;

    read_operation(const socket_handle& on, bool& drained, std::span<std::byte> buffer,
                   time_point deadline) noexcept
        : reading_operation{on, drained, buffer.size(), deadline}, buffer_{buffer} {}

    [[nodiscard]] bool attempt() noexcept override;

private:
    std::span<std::byte> buffer_;
};

class scattered_read_operation final : public reading_operation {
public:
    using as_branch = operation_branch<scattered_read_operation>;

    scattered_read_operation(const socket_handle& on, bool& drained,
                             std::span<const std::span<std::byte>> parts,
                             time_point deadline) noexcept
        : reading_operation{on, drained, room_in(parts), deadline},
          parts_{parts},
          room_{room_in(parts)} {}

    [[nodiscard]] bool attempt() noexcept override;

private:
    [[nodiscard]] static std::size_t room_in(std::span<const std::span<std::byte>> parts) noexcept {
        std::size_t sum = 0;
        for (const std::span<std::byte> each : parts) sum += each.size();
        return sum;
    }

    std::span<const std::span<std::byte>> parts_;
    const std::size_t room_;
};

class exact_read_operation final : public reading_operation {
public:
    exact_read_operation(const socket_handle& on, bool& drained, std::span<std::byte> buffer,
                         time_point deadline) noexcept
        : reading_operation{on, drained, buffer.size(), deadline}, buffer_{buffer} {}

    [[nodiscard]] std::expected<void, unfinished_read> await_resume() const noexcept;
    [[nodiscard]] bool attempt() noexcept override;

private:
    std::span<std::byte> buffer_;
};

class write_operation final : public socket_operation {
public:
    using as_branch = operation_branch<write_operation>;

    write_operation(const socket_handle& on, std::span<const std::byte> data,
                    time_point deadline) noexcept
        : socket_operation{on, on->to_write(), deadline, true}, rest_{data} {}

    [[nodiscard]] std::expected<void, std::error_code> await_resume() const noexcept;
    [[nodiscard]] bool attempt() noexcept override;
    static void leave() noexcept {}  // each write tries first

private:
    std::span<const std::byte> rest_;
};

class gathered_write_operation final : public socket_operation {
public:
    using as_branch = operation_branch<gathered_write_operation>;

    gathered_write_operation(const socket_handle& on,
                             std::span<const std::span<const std::byte>> parts,
                             time_point deadline) noexcept
        : socket_operation{on, on->to_write(), deadline, true}, rest_{parts} {}

    [[nodiscard]] std::expected<void, std::error_code> await_resume() const noexcept;
    [[nodiscard]] bool attempt() noexcept override;
    static void leave() noexcept {}

private:
    void skip(std::size_t sent) noexcept;

    std::span<const std::span<const std::byte>> rest_;
    std::size_t sent_of_first_ = 0;
};

class write_some_operation final : public socket_operation {
public:
    using as_branch = operation_branch<write_some_operation>;

    write_some_operation(const socket_handle& on, std::span<const std::byte> data,
                         time_point deadline) noexcept
        : socket_operation{on, on->to_write(), deadline, true}, data_{data} {}

    [[nodiscard]] std::expected<std::size_t, std::error_code> await_resume() const noexcept;
    [[nodiscard]] bool attempt() noexcept override;
    static void leave() noexcept {}

private:
    std::span<const std::byte> data_;
    std::size_t size_ = 0;
};

class connect_operation final : public socket_operation {
public:
    connect_operation(const socket_handle& on, time_point deadline) noexcept
        : socket_operation{on, on->to_write(), deadline, false} {}

    [[nodiscard]] std::expected<void, std::error_code> await_resume() const noexcept;
    [[nodiscard]] bool attempt() noexcept override;
};

// A number that moves with its listener, and that any thread may read meanwhile.
class starved_count {
public:
    starved_count() = default;
    starved_count(starved_count&& other) noexcept : count_{other.value()} {}
    starved_count& operator=(starved_count&& other) noexcept {
        count_.store(other.value(), sync::relaxed);
        return *this;
    }
    // Relaxed: only a number.
    void add() noexcept { count_.fetch_add(1, sync::relaxed); }
    [[nodiscard]] std::uint64_t value() const noexcept { return count_.load(sync::relaxed); }

private:
    sync::atomic<std::uint64_t> count_{0};
};

class accept_operation final : public socket_operation {
public:
    accept_operation(const socket_handle& on, const stream_options& options,
                     time_point deadline) noexcept
        : socket_operation{on, on->to_read(), deadline, true}, options_{options} {}

    [[nodiscard]] std::expected<socket_handle, std::error_code> await_resume() noexcept;
    [[nodiscard]] bool attempt() noexcept override;

private:
    const stream_options& options_;
    socket_handle accepted_;
};

}  // namespace detail

}  // namespace fairlead::io
