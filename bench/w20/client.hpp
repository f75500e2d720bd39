// The client of W20: one thread that sends datagrams over many sockets, `in_flight` at once on
// each, and sends the next ones when all have come back. A datagram is its number and a pattern.
#pragma once

#include "support/clock.hpp"
#include "support/options.hpp"
#include "support/socket.hpp"

#include <netinet/udp.h>
#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace bench::w20 {

/// A message with one number beside it: the length of its segments. The system calls use it as it
/// is, so it stays where it is.
class segmented {
public:
    segmented(void* data, std::size_t size, sockaddr_in* name = nullptr)
        : data_{.iov_base = data, .iov_len = size} {
        header_.msg_iov = &data_;
        header_.msg_iovlen = 1;
        header_.msg_name = name;
        header_.msg_namelen = name != nullptr ? sizeof(*name) : 0;
    }
    segmented(const segmented&) = delete;
    segmented& operator=(const segmented&) = delete;

    [[nodiscard]] ssize_t send(int fd, std::uint16_t segment) {
        header_.msg_control = nullptr;
        header_.msg_controllen = 0;
        if (data_.iov_len > segment) {
            header_.msg_control = beside_.data();
            header_.msg_controllen = CMSG_SPACE(sizeof(segment));
            cmsghdr* const size = CMSG_FIRSTHDR(&header_);
            size->cmsg_level = IPPROTO_UDP;
            size->cmsg_type = UDP_SEGMENT;
            size->cmsg_len = CMSG_LEN(sizeof(segment));
            std::memcpy(CMSG_DATA(size), &segment, sizeof(segment));
        }
        return ::sendmsg(fd, &header_, MSG_DONTWAIT);
    }

    /// `segment`: that of what has come.
    [[nodiscard]] ssize_t receive(int fd, std::uint16_t& segment) {
        header_.msg_control = beside_.data();
        header_.msg_controllen = beside_.size();
        const ssize_t size = ::recvmsg(fd, &header_, MSG_DONTWAIT);
        if (size < 0) return size;
        segment = static_cast<std::uint16_t>(size);
        const cmsghdr* const told = CMSG_FIRSTHDR(&header_);
        if (told != nullptr && told->cmsg_type == UDP_GRO) {
            int length = 0;
            std::memcpy(&length, CMSG_DATA(told), sizeof(length));
            segment = static_cast<std::uint16_t>(length);
        }
        return size;
    }

private:
    alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(int))> beside_{};
    iovec data_;
    msghdr header_{};
};

inline void set_number(int fd, int level, int option, int value, const char* what) {
    checked(::setsockopt(fd, level, option, &value, sizeof(value)), what);
}

class client {
public:
    static constexpr std::size_t header_bytes = 8;
    static constexpr std::size_t buffer_bytes = 1 << 16;

    client(std::uint16_t port, const options& asked)
        : size_{asked.size},
          in_flight_{asked.in_flight},
          sockets_(asked.connections),
          out_(size_ * in_flight_) {
        for (std::size_t i = 0; i != out_.size(); ++i) {
            out_[i] = static_cast<std::byte>(i % size_ * 131 >> 3);
        }
        const sockaddr_in server = loopback(port);
        for (window& each : sockets_) {
            each.socket = unique_fd{checked(::socket(AF_INET, SOCK_DGRAM, 0), "socket")};
            const int fd = each.socket.get();
            checked(::connect(fd, reinterpret_cast<const sockaddr*>(&server), sizeof(server)),
                    "connect");
            set_number(fd, IPPROTO_UDP, UDP_GRO, 1, "UDP_GRO");
            epoll_event event{.events = EPOLLIN, .data = {.ptr = &each}};
            checked(::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event), "epoll_ctl");
        }
    }

    /// Sends `datagrams` in all, and waits until they are back. Throws if one is wrong or missing.
    void run(std::uint64_t datagrams) {
        latencies_ns_.clear();
        std::uint64_t to_send = datagrams;
        std::uint64_t missing = 0;
        for (window& each : sockets_) missing += send(each, to_send);
        std::array<epoll_event, 256> events;
        while (missing != 0) {
            const int count = wait_for_events(epoll_, events, silence_ms);
            if (count == 0) throw std::runtime_error{"an echo does not come"};
            for (int i = 0; i != count; ++i) {
                window& ready = *static_cast<window*>(events[static_cast<std::size_t>(i)].data.ptr);
                missing -= receive(ready);
                if (ready.back != ready.sent) continue;
                latencies_ns_.push_back(static_cast<std::int64_t>(now_ns() - ready.begin_ns));
                missing += send(ready, to_send);
            }
        }
    }

    /// Of the last run, a window: from its sending until its last datagram is back.
    [[nodiscard]] const std::vector<std::int64_t>& latencies_ns() const { return latencies_ns_; }

    /// There is no end of datagrams.
    void finish() {}

private:
    static constexpr int silence_ms = 5000;

    struct window {
        unique_fd socket;
        std::uint64_t sent = 0;
        std::uint64_t back = 0;
        std::uint64_t begin_ns = 0;
    };

    std::uint64_t send(window& of, std::uint64_t& to_send) {
        const std::uint64_t count = std::min<std::uint64_t>(in_flight_, to_send);
        if (count == 0) return 0;
        to_send -= count;
        for (std::uint64_t i = 0; i != count; ++i) {
            const std::uint64_t number = of.sent++;
            std::memcpy(out_.data() + i * size_, &number, sizeof(number));
        }
        of.begin_ns = now_ns();
        segmented message{out_.data(), count * size_};
        checked(message.send(of.socket.get(), static_cast<std::uint16_t>(size_)), "send");
        return count;
    }

    std::uint64_t receive(window& of) {
        segmented message{in_.data(), in_.size()};
        std::uint16_t segment = 0;
        const auto size =
            static_cast<std::size_t>(checked(message.receive(of.socket.get(), segment), "receive"));
        if (size % size_ != 0 || segment != size_) throw std::runtime_error{"a wrong length"};
        for (std::size_t at = 0; at != size; at += size_) {
            std::uint64_t number = 0;
            std::memcpy(&number, in_.data() + at, sizeof(number));
            const bool same = std::memcmp(in_.data() + at + header_bytes,
                                          out_.data() + header_bytes, size_ - header_bytes) == 0;
            if (number != of.back++ || !same) throw std::runtime_error{"a wrong datagram"};
        }
        return size / size_;
    }

    std::size_t size_;
    std::size_t in_flight_;
    unique_fd epoll_{checked(::epoll_create1(EPOLL_CLOEXEC), "epoll_create1")};
    std::vector<window> sockets_;
    std::vector<std::byte> out_;
    std::vector<std::byte> in_ = std::vector<std::byte>(buffer_bytes);
    std::vector<std::int64_t> latencies_ns_;
};

}  // namespace bench::w20
