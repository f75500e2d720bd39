// TCP as coroutines. Every wait has a deadline and ends when its task is asked to stop.
//
//     auto listener = fl::io::tcp_listener::bind(scheduler, fl::io::address::loopback(8080));
//     auto peer = co_await listener->accept();
//     auto n = co_await peer->read_some(buffer, fl::clock::now() + 5s);
//
// Results are `std::expected<..., std::error_code>`. The errors are those of the system, and
//     std::errc::timed_out            the deadline has passed first
//     std::errc::operation_canceled   the task was asked to stop first
//     std::errc::stream_timeout       a deadline of the task's context has passed first
// An operation that ends before the deadline or the stop is noticed has succeeded. No try is made
// after a stop was noticed. So no byte is read and lost.
//
// One task may read a stream while another task writes it, both on the scheduler that has the
// driver of the stream. Operations allocate nothing. Writes never raise SIGPIPE.
#pragma once

#include <fairlead/coro/task.hpp>
#include <fairlead/coro/waited.hpp>
#include <fairlead/detail/coro/root.hpp>
#include <fairlead/detail/coro/select_wait.hpp>
#include <fairlead/detail/sync/atomic.hpp>
#include <fairlead/io/address.hpp>
#include <fairlead/io/epoll_driver.hpp>

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <span>
#include <system_error>

namespace fairlead::io {

class tcp_stream;

namespace detail {

// An operation that is tried at once, and again when its descriptor is ready. A task gives up its
// worker after some operations that are ready at once: see root::may_go_on.
class waiting_operation : public coro::retried_operation {
public:
    [[nodiscard]] bool await_ready() const noexcept { return false; }

    template <coro::on_a_root Promise>
    [[nodiscard]] bool await_suspend(std::coroutine_handle<Promise> leaf) noexcept {
        bottom_ = leaf.promise().bottom;
        check_driver(*bottom_);
        // With a turn now and then: a loop that ignores the stop must not keep its worker.
        if (bottom_->ends_waits()) return bottom_->take_turn_if_due(leaf, leaf.promise());
        const bool may_go_on = bottom_->may_go_on();
        if (may_go_on && try_now_ && attempt()) return false;
        bottom_->retry_at(leaf, leaf.promise(), *this, deadline_);
        if (!may_go_on) bottom_->take_turn_first();
        return true;
    }

    // For a select, of whose task `bottom` is the root. Gives the deadline.
    [[nodiscard]] time_point begin_in(coro::root& bottom) noexcept {
        bottom_ = &bottom;
        check_driver(bottom);
        return deadline_;
    }
    [[nodiscard]] bool may_try_now() const noexcept { return try_now_; }

protected:
    // `try_now`: it may succeed before an edge comes.
    waiting_operation(const descriptor& on, wait_source& source, time_point deadline,
                      bool try_now) noexcept
        : retried_operation{source}, on_{on}, deadline_{deadline}, try_now_{try_now} {}
    ~waiting_operation() = default;

    // Why it has ended without succeeding or failing.
    [[nodiscard]] std::error_code cut_short() const noexcept;

    void check_driver(const coro::root& bottom) const noexcept;

    const descriptor& on_;

private:
    time_point deadline_;
    const bool try_now_;
    coro::root* bottom_ = nullptr;
};

// Such an operation as a branch of a select.
template <class Operation>
class operation_branch final : public coro::select_branch {
public:
    explicit operation_branch(Operation& operation) noexcept : operation_{operation} {}

    [[nodiscard]] time_point begin(coro::select_wait& of, sync::choice::branch number) override {
        of_ = &of;
        number_ = number;
        return operation_.begin_in(of.waiting());
    }
    [[nodiscard]] bool try_enter() override {
        return operation_.may_try_now() && operation_.attempt() && of_->choice().claim(number_);
    }
    [[nodiscard]] bool enter() override { return true; }
    [[nodiscard]] bool leave() noexcept override {
        operation_.leave();
        return true;
    }
    [[nodiscard]] coro::retried_operation* retried() noexcept override { return &operation_; }
    [[nodiscard]] auto collect(std::optional<wait_error>) { return operation_.await_resume(); }

private:
    Operation& operation_;
    coro::select_wait* of_ = nullptr;
    sync::choice::branch number_ = 0;
};

class read_operation final : public waiting_operation {
public:
    using as_branch = operation_branch<read_operation>;

    // A read that got less than it asked for has emptied the socket: an edge will tell of more.
    read_operation(const descriptor& on, bool& drained, std::span<std::byte> buffer,
                   time_point deadline) noexcept
        : waiting_operation{on, on.readable(), deadline, !drained || buffer.empty()},
          drained_{drained},
          buffer_{buffer} {}

    [[nodiscard]] std::expected<std::size_t, std::error_code> await_resume() const noexcept;
    [[nodiscard]] bool attempt() noexcept override;
    // Another branch has ended the wait: an edge may have come without an attempt after it.
    void leave() const noexcept { drained_ = false; }

private:
    bool& drained_;
    std::span<std::byte> buffer_;
    std::size_t size_ = 0;
    int error_ = -1;  // -1: not ended; 0: `size_` bytes
};

class write_operation final : public waiting_operation {
public:
    using as_branch = operation_branch<write_operation>;

    write_operation(const descriptor& on, std::span<const std::byte> data,
                    time_point deadline) noexcept
        : waiting_operation{on, on.writable(), deadline, true}, rest_{data} {}

    [[nodiscard]] std::expected<void, std::error_code> await_resume() const noexcept;
    [[nodiscard]] bool attempt() noexcept override;
    static void leave() noexcept {}  // each write tries first

private:
    std::span<const std::byte> rest_;
    int error_ = -1;
};

class connect_operation final : public waiting_operation {
public:
    connect_operation(const descriptor& on, time_point deadline) noexcept
        : waiting_operation{on, on.writable(), deadline, false} {}

    [[nodiscard]] std::expected<void, std::error_code> await_resume() const noexcept;
    [[nodiscard]] bool attempt() noexcept override;

private:
    int error_ = -1;
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

class accept_operation final : public waiting_operation {
public:
    accept_operation(const descriptor& on, starved_count& starved, time_point deadline) noexcept
        : waiting_operation{on, on.readable(), deadline, true}, starved_{starved} {}

    [[nodiscard]] std::expected<os::unique_fd, std::error_code> await_resume() noexcept;
    [[nodiscard]] bool attempt() noexcept override;

private:
    starved_count& starved_;
    os::unique_fd accepted_;
    int error_ = -1;
};

}  // namespace detail

/// How a connection behaves.
struct stream_options {
    bool no_delay = true;    ///< send small writes at once
    bool keep_alive = true;  ///< let the kernel probe idle peers
};

/// A connection. Closed when destroyed.
class tcp_stream {
public:
    /// Takes over a connected socket, of the internet or of Unix; it may be a blocking one. Errors:
    /// those of the system, `not_a_socket` for a pipe.
    [[nodiscard]] static std::expected<tcp_stream, std::error_code> adopt(
        epoll_driver& driver, os::unique_fd connected, stream_options options = {});

    /// Connects to `peer`, on the scheduler of the task.
    [[nodiscard]] static task<std::expected<tcp_stream, std::error_code>> connect(
        address peer, time_point deadline = never, stream_options options = {});

    /// Reads what there is, at least one byte, at most `buffer.size()`. 0: the peer sends no more,
    /// or `buffer` is empty. `buffer` must stay until the await ends.
    [[nodiscard]] detail::read_operation read_some(std::span<std::byte> buffer,
                                                   time_point deadline = never) noexcept {
        return {socket_, drained_, buffer, deadline};
    }

    /// Writes all of `data`. After an error some of it may have been sent.
    [[nodiscard]] detail::write_operation write_all(std::span<const std::byte> data,
                                                    time_point deadline = never) noexcept {
        return {socket_, data, deadline};
    }

    /// Tells the peer that the stream sends no more; reading goes on.
    std::expected<void, std::error_code> shutdown_send() noexcept;

    /// Ends reading: a read that waits returns 0, as every later one does when it has got what
    /// came before. Any task, while another reads.
    std::expected<void, std::error_code> shutdown_receive() noexcept;

    /// Closes it. No task may wait on it: that is asserted. `shutdown_receive` ends a read.
    void close() noexcept { socket_.close(); }

    /// Whether it has a socket: not after `close`, nor after it was moved from.
    [[nodiscard]] bool is_open() const noexcept { return socket_.valid(); }
    /// The descriptor, for options of the system. The stream still owns it. -1 when it is closed.
    [[nodiscard]] int native_handle() const noexcept { return socket_.fd(); }
    /// The address of this end, with the port that the system chose. Errors: those of getsockname.
    [[nodiscard]] std::expected<address, std::error_code> local_address() const noexcept;
    /// The address of the other end. Errors: those of getpeername.
    [[nodiscard]] std::expected<address, std::error_code> peer_address() const noexcept;

private:
    explicit tcp_stream(descriptor socket) noexcept : socket_{std::move(socket)} {}

    descriptor socket_;
    bool drained_ = false;
};

/// How a listener behaves.
struct listener_options {
    int backlog = 4096;         ///< the kernel lowers it to net.core.somaxconn
    bool reuse_address = true;  ///< bind although old connections linger
    bool v6_only = false;       ///< an IPv6 listener takes no IPv4 connections
    stream_options stream;      ///< of each accepted connection
};

/// A listening socket.
class tcp_listener {
public:
    /// Binds and listens. `home` must have an `epoll_driver`. Errors: those of the system.
    [[nodiscard]] static std::expected<tcp_listener, std::error_code> bind(
        scheduler& home, const address& where, listener_options options = {});

    /// The next connection. When the process or the system has no descriptor left for it, the
    /// connection waits in the backlog, `starved` counts, and the accept is tried again every
    /// `starved_retry` until a descriptor is free. A connection that was reset before it was taken
    /// is skipped. A connection that cannot be registered, for lack of memory, is closed and counts
    /// as starved, and the accept goes on with the next.
    [[nodiscard]] task<std::expected<tcp_stream, std::error_code>> accept(
        time_point deadline = never);

    /// How long an accept waits before it tries again, when no descriptor is left.
    static constexpr duration starved_retry = std::chrono::milliseconds{20};

    /// How often an accept waited for a descriptor or for memory, for reports. Any thread.
    [[nodiscard]] std::uint64_t starved() const noexcept { return starved_.value(); }

    /// The address of this end, with the port that the system chose. Errors: those of getsockname.
    [[nodiscard]] std::expected<address, std::error_code> local_address() const noexcept;

    /// Stops listening. No task may wait on it: that is asserted.
    void close() noexcept { socket_.close(); }

private:
    tcp_listener(descriptor socket, const listener_options& options) noexcept
        : socket_{std::move(socket)}, options_{options} {}

    descriptor socket_;
    listener_options options_;
    detail::starved_count starved_;
};

}  // namespace fairlead::io
