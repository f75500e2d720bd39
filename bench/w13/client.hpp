// The client of W13: one thread that sends messages over many connections and checks every byte
// that comes back. It is the same for all servers, in a process of its own.
//
// What the client sends on a connection is a stream of messages of one size. A message is its
// number, the number of its connection, and a pattern; so any part of the stream can be made again
// when it is to be sent or compared, and nothing is kept for a connection but three positions.
#pragma once

#include "support/clock.hpp"
#include "support/options.hpp"
#include "support/socket.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace bench::w13 {

class client {
public:
    static constexpr std::size_t header_bytes = 16;

    client(std::uint16_t port, const options& asked)
        : port_{port},
          active_{asked.connections},
          message_bytes_{asked.size},
          in_flight_max_{asked.in_flight},
          connections_(asked.connections + asked.idle),
          sent_ns_(connections_.size() * in_flight_max_),
          expected_(message_bytes_),
          outgoing_(message_bytes_ * in_flight_max_),
          incoming_(std::max<std::size_t>(outgoing_.size() + 1, 1 << 16)) {
        for (std::size_t i = 0; i != outgoing_.size(); ++i) {
            outgoing_[i] = static_cast<std::byte>(i % message_bytes_ * 131 >> 3);
        }
        std::copy_n(outgoing_.begin(), message_bytes_, expected_.begin());
        // In portions that every server's backlog holds. The first message finds each one accepted.
        for (std::size_t begin = 0; begin != connections_.size();) {
            const std::size_t end = std::min<std::size_t>(begin + 100, connections_.size());
            for (std::size_t i = begin; i != end; ++i) open(i);
            run({connections_.data() + begin, end - begin}, 1, end - begin);
            begin = end;
        }
    }

    /// Sends `messages` on the connections that are not idle, as many at a time on each as were
    /// asked for, and waits for their echoes. Throws if an echo is wrong or missing.
    void run(std::uint64_t messages) {
        run({connections_.data(), active_}, in_flight_max_, messages);
    }

    /// Of the last run, a message: from its sending to its last byte.
    [[nodiscard]] const std::vector<std::int64_t>& latencies_ns() const { return latencies_ns_; }

    /// Says that nothing more will be sent, and waits for the server's end of each. Throws if
    /// anything comes before it.
    void finish() {
        for (const connection& each : connections_) {
            checked(::shutdown(each.socket.get(), SHUT_WR), "shutdown");
        }
        for (const connection& each : connections_) {
            const ssize_t got = ::recv(each.socket.get(), incoming_.data(), 1, 0);
            if (got > 0) fail(each, "has more than was sent");
            if (got < 0) fail(each, "does not end");
        }
    }

private:
    struct connection {
        unique_fd socket;
        std::uint64_t number = 0;
        // Positions in the stream, in bytes.
        std::uint64_t due = 0;
        std::uint64_t sent = 0;
        std::uint64_t received = 0;
    };

    void open(std::size_t index) {
        connection& made = connections_[index];
        made.socket = unique_fd{checked(::socket(AF_INET, SOCK_STREAM, 0), "socket")};
        made.number = index;
        const sockaddr_in server = loopback(port_);
        checked(::connect(made.socket.get(), reinterpret_cast<const sockaddr*>(&server),
                          sizeof(server)),
                "connect");
        set_no_delay(made.socket.get());
        const timeval limit{.tv_sec = silence_ms / 1000, .tv_usec = 0};  // for `finish`
        checked(::setsockopt(made.socket.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)),
                "SO_RCVTIMEO");
        watch(epoll_, made.socket.get(), &made);
    }

    void run(std::span<connection> on, std::uint64_t in_flight, std::uint64_t messages) {
        latencies_ns_.clear();
        latencies_ns_.reserve(messages);
        to_begin_ = messages;
        for (connection& each : on) {
            const std::uint64_t now = now_ns();
            for (std::uint64_t i = 0; i != in_flight; ++i) begin_message(each, now);
            send(each);
        }
        while (latencies_ns_.size() != messages) {
            for (const epoll_event& event : wait()) {
                connection& ready = *static_cast<connection*>(event.data.ptr);
                receive(ready);
                send(ready);
            }
        }
    }

    std::span<const epoll_event> wait() {
        const int count = wait_for_events(epoll_, events_, silence_ms);
        if (count == 0) throw std::runtime_error{"an echo does not come"};
        return {events_.data(), static_cast<std::size_t>(count)};
    }

    void begin_message(connection& on, std::uint64_t now) {
        if (to_begin_ == 0) return;
        --to_begin_;
        sent_at(on, on.due / message_bytes_) = now;
        on.due += message_bytes_;
    }

    void send(connection& on) {
        while (on.sent != on.due) {
            const std::uint64_t first = on.sent / message_bytes_;
            const std::size_t begin = on.sent % message_bytes_;
            const std::uint64_t messages = on.due / message_bytes_ - first;
            for (std::uint64_t i = 0; i != messages; ++i) {
                write_header(outgoing_.data() + i * message_bytes_, on, first + i);
            }
            const ssize_t sent = ::send(on.socket.get(), outgoing_.data() + begin, on.due - on.sent,
                                        MSG_DONTWAIT | MSG_NOSIGNAL);
            if (sent < 0 && errno == EAGAIN) return;  // an edge will come
            on.sent += static_cast<std::uint64_t>(checked(sent, "send"));
        }
    }

    void receive(connection& from) {
        for (;;) {
            const ssize_t got =
                ::recv(from.socket.get(), incoming_.data(), incoming_.size(), MSG_DONTWAIT);
            if (got < 0 && errno == EAGAIN) return;
            if (got <= 0) fail(from, "has ended");
            check(from, {incoming_.data(), static_cast<std::size_t>(got)});
            if (static_cast<std::size_t>(got) < incoming_.size()) return;  // that was all
        }
    }

    void check(connection& from, std::span<const std::byte> data) {
        const std::uint64_t now = now_ns();
        while (!data.empty()) {
            const std::uint64_t message = from.received / message_bytes_;
            const std::size_t begin = from.received % message_bytes_;
            const std::size_t part = std::min(message_bytes_ - begin, data.size());
            write_header(expected_.data(), from, message);
            if (from.received + part > from.sent ||
                std::memcmp(expected_.data() + begin, data.data(), part) != 0) {
                fail(from, "has a wrong echo of message " + std::to_string(message));
            }
            data = data.subspan(part);
            from.received += part;
            if (begin + part != message_bytes_) continue;
            latencies_ns_.push_back(static_cast<std::int64_t>(now - sent_at(from, message)));
            begin_message(from, now);
        }
    }

    std::uint64_t& sent_at(const connection& on, std::uint64_t message) {
        return sent_ns_[on.number * in_flight_max_ + message % in_flight_max_];
    }

    static void write_header(std::byte* to, const connection& of, std::uint64_t message) {
        const std::array<std::uint64_t, 2> header{message, of.number};
        static_assert(sizeof(header) == header_bytes);
        std::memcpy(to, header.data(), sizeof(header));
    }

    [[noreturn]] static void fail(const connection& on, const std::string& why) {
        throw std::runtime_error{"connection " + std::to_string(on.number) + " " + why};
    }

    static constexpr int silence_ms = 5'000;  // longer than any echo of a server that works

    const std::uint16_t port_;
    const std::size_t active_;  // connections that say something
    const std::size_t message_bytes_;
    const std::uint64_t in_flight_max_;
    unique_fd epoll_{checked(::epoll_create1(0), "epoll_create1")};
    std::vector<connection> connections_;
    std::vector<std::uint64_t> sent_ns_;  // of the messages in flight
    std::vector<std::byte> expected_;     // one message
    std::vector<std::byte> outgoing_;     // as many as may be in flight on a connection
    std::vector<std::byte> incoming_;
    std::array<epoll_event, 256> events_;
    std::vector<std::int64_t> latencies_ns_;
    std::uint64_t to_begin_ = 0;  // messages of this run
};

}  // namespace bench::w13
