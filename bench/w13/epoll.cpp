// A bare loop around epoll, without a runtime: what an echo costs in the kernel. Each worker has a
// loop of its own, to which the first one deals the connections in turn.
#include "w13/echo.hpp"

#include <sys/eventfd.h>

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <thread>
#include <vector>

namespace {

using bench::checked;
using bench::unique_fd;

struct connection {
    unique_fd socket;
    std::vector<std::byte> rest;  // of what came: the peer's side is full
};

class loop {
public:
    explicit loop(std::size_t buffer_bytes) : buffer_(buffer_bytes) {
        // Level triggered: each loop is to see that it ends.
        add(stop_.get(), EPOLLIN, &stop_);
    }

    void add(int fd, std::uint32_t events, void* data) {
        epoll_event event{.events = events, .data = {.ptr = data}};
        checked(::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event), "epoll_ctl");
    }

    void adopt(unique_fd socket) {
        auto* const made = new connection{std::move(socket), {}};
        bench::set_no_delay(made->socket.get());
        bench::watch(epoll_, made->socket.get(), made);
    }

    // `accept(data)` is asked for the descriptors that other threads added.
    template <class Accept>
    void run(Accept accept) {
        std::array<epoll_event, 256> events;
        for (;;) {
            const int count = bench::wait_for_events(epoll_, events, -1);
            for (const epoll_event& event :
                 std::span{events}.first(static_cast<std::size_t>(count))) {
                if (event.data.ptr == &stop_) return;
                if (accept(event.data.ptr)) continue;
                auto* const ready = static_cast<connection*>(event.data.ptr);
                if (!echo(*ready)) delete ready;
            }
        }
    }

    void stop() { checked(::eventfd_write(stop_.get(), 1), "eventfd_write"); }

private:
    // Whether the peer is still there.
    bool echo(connection& with) {
        if (!with.rest.empty()) {
            std::vector<std::byte> rest = std::move(with.rest);
            if (!send(with, rest) || !with.rest.empty()) return true;
        }
        for (;;) {
            const ssize_t got =
                ::recv(with.socket.get(), buffer_.data(), buffer_.size(), MSG_DONTWAIT);
            if (got <= 0) return got < 0 && errno == EAGAIN;
            const std::span received{buffer_.data(), static_cast<std::size_t>(got)};
            if (!send(with, received)) return false;
            // Less than there was room for: that was all.
            if (!with.rest.empty() || received.size() < buffer_.size()) return true;
        }
    }

    bool send(connection& to, std::span<const std::byte> data) {
        while (!data.empty()) {
            const ssize_t sent =
                ::send(to.socket.get(), data.data(), data.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
            if (sent < 0 && errno != EAGAIN) return false;
            if (sent < 0) {
                to.rest.assign(data.begin(), data.end());
                return true;
            }
            data = data.subspan(static_cast<std::size_t>(sent));
        }
        return true;
    }

    unique_fd epoll_{checked(::epoll_create1(EPOLL_CLOEXEC), "epoll_create1")};
    unique_fd stop_{checked(::eventfd(0, EFD_CLOEXEC), "eventfd")};
    std::vector<std::byte> buffer_;
};

class epoll_server {
public:
    static constexpr const char* name = "epoll";

    epoll_server(std::uint64_t workers, std::size_t buffer_bytes) {
        const sockaddr_in anywhere = bench::loopback(0);
        checked(
            ::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&anywhere), sizeof(anywhere)),
            "bind");
        checked(::listen(listener_.get(), SOMAXCONN), "listen");
        for (std::uint64_t i = 0; i != workers; ++i) {
            loops_.push_back(std::make_unique<loop>(buffer_bytes));
        }
        loops_.front()->add(listener_.get(), EPOLLIN, &listener_);
        for (const auto& each : loops_) {
            threads_.emplace_back([this, &own = *each] {
                own.run([this](const void* data) { return data == &listener_ && accept(); });
            });
        }
    }
    epoll_server(const epoll_server&) = delete;
    epoll_server& operator=(const epoll_server&) = delete;
    ~epoll_server() {
        for (const auto& each : loops_) each->stop();
        for (std::thread& each : threads_) each.join();
    }

    [[nodiscard]] std::uint16_t port() const {
        sockaddr_in own{};
        socklen_t size = sizeof(own);
        checked(::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&own), &size),
                "getsockname");
        return ntohs(own.sin_port);
    }

private:
    bool accept() {
        unique_fd peer{
            checked(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC), "accept4")};
        loops_[accepted_++ % loops_.size()]->adopt(std::move(peer));
        return true;
    }

    unique_fd listener_{checked(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket")};
    std::vector<std::unique_ptr<loop>> loops_;
    std::vector<std::thread> threads_;
    std::size_t accepted_ = 0;  // the first loop's
};

}  // namespace

int main(int argc, char** argv) { return bench::w13::main<epoll_server>(argc, argv); }
