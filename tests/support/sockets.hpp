// Plain blocking sockets of the system as the other end of a connection, on loopback only; and a
// scheduler with IO that runs on the caller, so that a test decides the order of events.
#pragma once

#include "support/watchdog.hpp"

#include <fairlead/coro/spawn.hpp>
#include <fairlead/io/tcp.hpp>
#include <fairlead/os/unique_fd.hpp>

#include <gtest/gtest.h>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace fairlead::test {

inline std::span<const std::byte> bytes_of(std::string_view text) {
    return std::as_bytes(std::span{text.data(), text.size()});
}

/// A blocking socket.
class raw_socket {
public:
    raw_socket() = default;
    explicit raw_socket(int fd) : fd_{fd} { EXPECT_TRUE(fd_.valid()); }

    [[nodiscard]] static raw_socket made(int family = AF_INET) {
        return raw_socket{::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    }
    [[nodiscard]] static raw_socket connected(const io::address& to) {
        raw_socket made_one = made(to.data()->sa_family);
        EXPECT_EQ(::connect(made_one.fd(), to.data(), to.size()), 0);
        return made_one;
    }
    /// Listens on a free port of 127.0.0.1.
    [[nodiscard]] static raw_socket listening(int backlog) {
        raw_socket made_one = made();
        const io::address any = io::address::loopback(0);
        EXPECT_EQ(::bind(made_one.fd(), any.data(), any.size()), 0);
        EXPECT_EQ(::listen(made_one.fd(), backlog), 0);
        return made_one;
    }

    [[nodiscard]] int fd() const { return fd_.get(); }
    [[nodiscard]] io::address local_address() const {
        sockaddr_storage storage{};
        socklen_t size = sizeof(storage);
        EXPECT_EQ(::getsockname(fd(), reinterpret_cast<sockaddr*>(&storage), &size), 0);
        return io::address{reinterpret_cast<const sockaddr*>(&storage), size};
    }
    [[nodiscard]] raw_socket accepted() const {
        return raw_socket{::accept(fd(), nullptr, nullptr)};
    }

    void send(std::string_view text) const {
        EXPECT_EQ(::send(fd(), text.data(), text.size(), MSG_NOSIGNAL),
                  static_cast<ssize_t>(text.size()));
    }
    /// The bytes that have arrived, at most `size`; empty at the end or after a reset.
    [[nodiscard]] std::string receive(std::size_t size) const {
        std::string text(size, '\0');
        const ssize_t count = ::recv(fd(), text.data(), size, 0);
        text.resize(count < 0 ? 0 : static_cast<std::size_t>(count));
        return text;
    }
    /// Small sends do not wait for the acknowledgement of earlier ones (TCP_NODELAY).
    void send_at_once() const {
        const int on = 1;
        EXPECT_EQ(::setsockopt(fd(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)), 0);
    }
    void shutdown_send() const { EXPECT_EQ(::shutdown(fd(), SHUT_WR), 0); }
    void close() { fd_.reset(); }
    /// Closes with a reset instead of an end.
    void reset() {
        const linger now{.l_onoff = 1, .l_linger = 0};
        EXPECT_EQ(::setsockopt(fd(), SOL_SOCKET, SO_LINGER, &now, sizeof(now)), 0);
        fd_.reset();
    }
    void set_buffers(int size) const {
        EXPECT_EQ(::setsockopt(fd(), SOL_SOCKET, SO_SNDBUF, &size, sizeof(size)), 0);
        EXPECT_EQ(::setsockopt(fd(), SOL_SOCKET, SO_RCVBUF, &size, sizeof(size)), 0);
    }

private:
    os::unique_fd fd_;
};

inline scheduler_options with_epoll(unsigned workers) {
    scheduler_options options;
    options.workers = workers;
    options.driver = std::make_unique<io::epoll_driver>();
    return options;
}

inline scheduler_options with_epoll_on_caller() {
    scheduler_options options = with_epoll(1);
    options.run_on_caller = true;
    options.stop_limit = duration::zero();
    return options;
}

/// A scheduler on this thread, and a connection: `stream` is the scheduler's end, `peer` the other.
class connected_pair : public testing::Test {
protected:
    connected_pair() {
        const raw_socket listener = raw_socket::listening(1);
        peer = raw_socket::connected(listener.local_address());
        os::unique_fd accepted{
            ::accept4(listener.fd(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)};
        stream.emplace(*io::tcp_stream::adopt(io::epoll_driver::of(*home), std::move(accepted)));
    }

    template <class T>
    join_handle<T> start(task<T> body) {
        return spawn(*home, std::move(body));
    }

    /// Runs until the task has ended, and sleeps while it waits.
    template <class T>
    T finish(join_handle<T>& handle) {
        while (!handle.ended()) home->run_until(never, 1);
        return handle.get();
    }

    /// Runs until no task is ready: the waiting tasks then wait in the driver.
    void settle() { home->run_until_idle(); }

    const watchdog guard;
    std::optional<scheduler> home{std::in_place, with_epoll_on_caller()};
    std::optional<io::tcp_stream> stream;
    raw_socket peer;
};

}  // namespace fairlead::test
