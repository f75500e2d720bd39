// A bare loop around epoll: what the echo of a datagram costs in the kernel.
#include "w20/echo.hpp"

#include <sys/eventfd.h>

#include <array>
#include <cstddef>
#include <string_view>
#include <thread>
#include <vector>

namespace {

using bench::checked;
using bench::unique_fd;

class epoll_server {
public:
    static constexpr const char* name = "epoll";

    explicit epoll_server(std::string_view how) : how_{how} {
        const sockaddr_in anywhere = bench::loopback(0);
        checked(::bind(fd(), reinterpret_cast<const sockaddr*>(&anywhere), sizeof(anywhere)),
                "bind");
        bench::w20::set_number(fd(), SOL_SOCKET, SO_RCVBUF, bench::w20::room_bytes, "SO_RCVBUF");
        if (how_ == "segments") bench::w20::set_number(fd(), IPPROTO_UDP, UDP_GRO, 1, "UDP_GRO");
        thread_ = std::thread{[this] { run(); }};
    }
    epoll_server(const epoll_server&) = delete;
    epoll_server& operator=(const epoll_server&) = delete;
    ~epoll_server() {
        checked(::eventfd_write(stop_.get(), 1), "eventfd_write");
        thread_.join();
    }

    [[nodiscard]] std::uint16_t port() const {
        sockaddr_in own{};
        socklen_t size = sizeof(own);
        checked(::getsockname(fd(), reinterpret_cast<sockaddr*>(&own), &size), "getsockname");
        return ntohs(own.sin_port);
    }

private:
    [[nodiscard]] int fd() const { return socket_.get(); }

    void run() {
        epoll_event ends{.events = EPOLLIN, .data = {.fd = stop_.get()}};
        checked(::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, stop_.get(), &ends), "epoll_ctl");
        epoll_event comes{.events = EPOLLIN | EPOLLET, .data = {.fd = fd()}};
        checked(::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd(), &comes), "epoll_ctl");
        for (;;) {
            std::array<epoll_event, 2> events;
            const int count = bench::wait_for_events(epoll_, events, -1);
            for (int i = 0; i != count; ++i) {
                if (events[static_cast<std::size_t>(i)].data.fd == stop_.get()) return;
            }
            if (how_ == "echo") echo();
            if (how_ == "batch") echo_batches();
            if (how_ == "segments") echo_segments();
        }
    }

    void echo() {
        for (;;) {
            sockaddr_in from{};
            socklen_t length = sizeof(from);
            auto* const peer = reinterpret_cast<sockaddr*>(&from);
            const ssize_t size =
                ::recvfrom(fd(), room_.data(), room_.size(), MSG_DONTWAIT, peer, &length);
            if (size < 0) return;
            checked(::sendto(fd(), room_.data(), static_cast<std::size_t>(size), 0, peer, length),
                    "sendto");
        }
    }

    void echo_batches() {
        constexpr std::size_t batch_max = bench::w20::batch_max;
        constexpr std::size_t each_max = bench::w20::datagram_max;
        for (;;) {
            std::array<mmsghdr, batch_max> messages{};
            std::array<iovec, batch_max> data;
            std::array<sockaddr_in, batch_max> names;
            for (std::size_t i = 0; i != batch_max; ++i) {
                data[i] = {.iov_base = room_.data() + i * each_max, .iov_len = each_max};
                messages[i].msg_hdr.msg_iov = &data[i];
                messages[i].msg_hdr.msg_iovlen = 1;
                messages[i].msg_hdr.msg_name = &names[i];
                messages[i].msg_hdr.msg_namelen = sizeof(names[i]);
            }
            const int count = ::recvmmsg(fd(), messages.data(), batch_max, MSG_DONTWAIT, nullptr);
            if (count < 0) return;
            const auto come = static_cast<unsigned>(count);
            for (unsigned i = 0; i != come; ++i) data[i].iov_len = messages[i].msg_len;
            for (unsigned sent = 0; sent != come;) {
                sent += static_cast<unsigned>(
                    checked(::sendmmsg(fd(), messages.data() + sent, come - sent, 0), "sendmmsg"));
            }
        }
    }

    void echo_segments() {
        for (;;) {
            sockaddr_in from{};
            bench::w20::segmented question{room_.data(), room_.size(), &from};
            std::uint16_t segment = 0;
            const ssize_t size = question.receive(fd(), segment);
            if (size < 0) return;
            bench::w20::segmented answer{room_.data(), static_cast<std::size_t>(size), &from};
            checked(answer.send(fd(), segment), "sendmsg");
        }
    }

    std::string_view how_;
    unique_fd epoll_{checked(::epoll_create1(EPOLL_CLOEXEC), "epoll_create1")};
    unique_fd stop_{checked(::eventfd(0, EFD_CLOEXEC), "eventfd")};
    unique_fd socket_{checked(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), "socket")};
    std::vector<std::byte> room_ = std::vector<std::byte>(1 << 16);
    std::thread thread_;
};

}  // namespace

int main(int argc, char** argv) { return bench::w20::main<epoll_server>(argc, argv); }
