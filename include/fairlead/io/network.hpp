// The seam between streams and what carries them: the kernel, or memory in a test.
//
//     tcp_stream, unix_stream, and their listeners     waits, deadlines, stops: on every network
//     network::socket                                  one attempt, which never waits; two sources
//     epoll_driver | test::memory_network
//
// Programs use tcp.hpp and unix.hpp. This header is for the author of another network.
#pragma once

#include <fairlead/detail/sync/atomic.hpp>
#include <fairlead/io/address.hpp>
#include <fairlead/sched/driver.hpp>

#include <cstddef>
#include <expected>
#include <span>
#include <system_error>
#include <utility>

namespace fairlead {
class scheduler;
}

namespace fairlead::io {

/// How a connection by TCP behaves.
struct stream_options {
    bool no_delay = true;    ///< send small writes at once
    bool keep_alive = true;  ///< let the kernel probe idle peers
};

/// The file of a Unix socket that is bound to a path.
struct unix_file_options {
    unsigned permissions =
        0600;  ///< exactly, whatever the umask is; connecting takes that to write
    /// Take the place of a socket that no process has: of a program that was killed. A socket in
    /// use stays, and so does what is no socket: `address_in_use`. A file beside it,
    /// `<path>.lock`, which stays, keeps two programs from doing so at the same time.
    bool replace_stale = false;
};

/// How a listener behaves.
struct listener_options {
    int backlog = 4096;           ///< the kernel lowers it to net.core.somaxconn
    bool reuse_address = true;    ///< TCP: bind although old connections linger
    bool v6_only = false;         ///< TCP: an IPv6 listener takes no IPv4 connections
    stream_options stream = {};   ///< TCP: of each accepted connection
    unix_file_options file = {};  ///< of a Unix socket
};

/// What carries connections. It belongs to a driver, which fires the sources of its sockets.
class network {
public:
    /// One end of a connection, or a listener. Its calls never wait and never allocate, but for
    /// `accept`. A number below zero is an error of the system, negated; -EAGAIN: nothing can be
    /// done now, and the source fires when it can. An interrupted call is repeated inside.
    ///
    /// One task may read while another writes. The network owns its memory, also after `close`.
    class socket {
    public:
        socket(const socket&) = delete;
        socket& operator=(const socket&) = delete;

        /// The driver that fires the sources; null: nothing does, as no attempt has to wait.
        [[nodiscard]] const driver* home() const noexcept { return home_; }
        /// Fires when a receive or an accept is worth another attempt.
        [[nodiscard]] wait_source& to_read() const noexcept { return *to_read_; }
        /// Fires when a send is worth another attempt, or a connect has ended.
        [[nodiscard]] wait_source& to_write() const noexcept { return *to_write_; }

        /// Reads what there is, at most what fits: how many bytes; 0: the peer's end. `into` is not
        /// empty.
        [[nodiscard]] virtual std::ptrdiff_t receive(std::span<std::byte> into) noexcept = 0;
        /// The same into several buffers, one after the other. Some may be empty, not all.
        [[nodiscard]] virtual std::ptrdiff_t receive_into(
            std::span<const std::span<std::byte>> parts) noexcept = 0;
        /// Sends what there is room for: how many bytes, at least one. `data` is not empty.
        [[nodiscard]] virtual std::ptrdiff_t send(std::span<const std::byte> data) noexcept = 0;
        /// The same from several buffers, the first of them without its first `skipped` bytes. Some
        /// may be empty, not all.
        [[nodiscard]] virtual std::ptrdiff_t send_from(
            std::span<const std::span<const std::byte>> parts, std::size_t skipped) noexcept = 0;
        /// Of a listener: takes the next connection, which it puts into `made`. 0, or an error.
        [[nodiscard]] virtual int accept(socket*& made, const stream_options& options) noexcept = 0;
        /// Whether a connect has ended: 0, or why it has failed; -EAGAIN: not yet.
        [[nodiscard]] virtual int connected() noexcept = 0;
        /// Ends sending. 0, or an error.
        [[nodiscard]] virtual int shutdown_send() noexcept = 0;
        /// Ends receiving; a task that waits to read goes on. Any thread. 0, or an error.
        [[nodiscard]] virtual int shutdown_receive() noexcept = 0;
        /// Gives it up. No task waits for it. The last call; later ones answer -EBADF until the
        /// network uses the memory again.
        virtual void close() noexcept = 0;
        /// As `close`, but the peer learns of a failure, a reset, instead of an end. What was sent
        /// and has not arrived may be lost. A network without resets closes it.
        virtual void reset() noexcept { close(); }

        /// The descriptor of the system; -1: there is none.
        [[nodiscard]] virtual int native_handle() const noexcept = 0;
        /// The address of this end.
        [[nodiscard]] virtual std::expected<address, std::error_code> local_address()
            const noexcept = 0;
        /// The address of the other end.
        [[nodiscard]] virtual std::expected<address, std::error_code> peer_address()
            const noexcept = 0;

        /// Whether a receive that gave less than there was room for has taken everything, so that
        /// the source fires for what comes next.
        [[nodiscard]] bool short_read_is_last() const noexcept {
            // Relaxed: it comes with the event. A read before that finds it at the next attempt.
            return !short_reads_.load(sync::relaxed);
        }

    protected:
        /// With sources that `home` fires; null: no attempt has to wait. They must live as long.
        socket(const driver* home, wait_source& to_read, wait_source& to_write) noexcept
            : home_{home}, to_read_{&to_read}, to_write_{&to_write} {}
        ~socket() = default;

        /// Whether a receive may leave something behind, from now on: see `short_read_is_last`.
        void set_short_reads(bool may_leave_data) noexcept {
            short_reads_.store(may_leave_data, sync::relaxed);
        }

    private:
        const driver* home_;
        wait_source* to_read_;
        wait_source* to_write_;
        sync::atomic<bool> short_reads_{false};  // written by the network; see short_read_is_last
    };

    /// What a connect has made, and whether it must be waited for.
    struct begun_connect {
        socket* made;      ///< to be closed by the caller
        bool in_progress;  ///< `to_write` fires when it has ended: see `connected`
    };

    network(const network&) = delete;
    network& operator=(const network&) = delete;

    /// A listener at `where`. May allocate. Any thread.
    [[nodiscard]] virtual std::expected<socket*, std::error_code> listen(
        const address& where, const listener_options& options) = 0;
    /// Begins to connect to `peer`. May allocate.
    [[nodiscard]] virtual std::expected<begun_connect, std::error_code> connect(
        const address& peer, const stream_options& options) = 0;

    /// The network of `home`: its driver is one.
    [[nodiscard]] static network& of(const scheduler& home);

protected:
    network() = default;
    ~network() = default;
};

/// Owns a socket of a network, or none: then each call answers -EBADF.
class socket_handle {
public:
    /// Owns none.
    socket_handle() noexcept : socket_{&none()} {}
    /// Takes over `owned`.
    explicit socket_handle(network::socket& owned) noexcept : socket_{&owned} {}
    /// `other` owns none afterwards.
    socket_handle(socket_handle&& other) noexcept
        : socket_{std::exchange(other.socket_, &none())} {}
    /// The same; closes its own socket first.
    socket_handle& operator=(socket_handle&& other) noexcept {
        if (this != &other) {
            close();
            socket_ = std::exchange(other.socket_, &none());
        }
        return *this;
    }
    /// Closes it.
    ~socket_handle() { close(); }

    /// Closes it. No task may wait for it: that is asserted.
    void close() noexcept {
        if (is_open()) std::exchange(socket_, &none())->close();
    }
    /// Closes it with a reset; see `network::socket::reset`. No task may wait for it.
    void reset() noexcept {
        if (is_open()) std::exchange(socket_, &none())->reset();
    }
    /// Whether it owns one.
    [[nodiscard]] bool is_open() const noexcept { return socket_ != &none(); }
    /// The socket, or what answers in its place.
    [[nodiscard]] network::socket* operator->() const noexcept { return socket_; }

private:
    [[nodiscard]] static network::socket& none() noexcept;

    network::socket* socket_;
};

}  // namespace fairlead::io
