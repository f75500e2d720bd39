// The client of W21: one thread that sends requests over many connections and checks every answer.
// It is the same for all servers, in a process of its own.
//
// A connection sends `in_flight` requests in one write, and the next ones when all answers have
// come, as the script `pipeline.lua` of TechEmpower does. An answer is examined: its status, its
// fields and its body. An answer with the same bytes as the one examined last is right, too, so
// that the client costs little beside the server; Date changes once in a second.
#pragma once

#include "support/clock.hpp"
#include "support/options.hpp"
#include "support/socket.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace bench::w21 {

/// What is asked for, and the only right answer.
struct page {
    std::string_view name;  // of the case; the path follows a slash
    std::string_view type;
    std::string_view body;
};

inline constexpr std::array pages{
    page{"plaintext", "text/plain", "Hello, World!"},
    page{"json", "application/json", R"({"message":"Hello, World!"})"},
};

/// Null: there is no case of that name.
inline const page* find_page(std::string_view name) {
    const auto* const found = std::ranges::find(pages, name, &page::name);
    return found != pages.end() ? found : nullptr;
}

/// The value of a field of a head, whose lines end with CRLF; empty: none, or without a value.
inline std::string_view field_of(std::string_view head, std::string_view name) {
    const auto same = [](char a, char b) {
        return std::tolower(static_cast<unsigned char>(a)) == b;  // `name` is in small letters
    };
    for (std::size_t at = head.find('\n') + 1; at < head.size();) {
        const std::size_t end = head.find("\r\n", at);
        const std::string_view line = head.substr(at, end - at);
        if (line.size() > name.size() && line[name.size()] == ':' &&
            std::ranges::equal(line.substr(0, name.size()), name, same)) {
            const std::size_t value = line.find_first_not_of(' ', name.size() + 1);
            return value != line.npos ? line.substr(value) : std::string_view{};
        }
        at = end + 2;
    }
    return {};
}

/// The size of the answer at the beginning of `text`; 0: not all of it has come. Throws if it is
/// not the answer to `asked`.
inline std::size_t examine(std::string_view text, const page& asked) {
    const auto require = [](bool holds, const char* what) {
        if (!holds) throw std::runtime_error{std::string{"an answer "} + what};
    };
    const std::size_t blank = text.find("\r\n\r\n");
    require(blank != text.npos || text.size() < 4096, "has no end of its head");
    if (blank == text.npos) return 0;
    const std::string_view head = text.substr(0, blank + 2);
    require(head.starts_with("HTTP/1.1 200 "), "is not 200 OK");
    require(!field_of(head, "server").empty(), "has no field Server");
    const std::string_view date = field_of(head, "date");
    require(date.size() == 29 && date.ends_with(" GMT"), "has no field Date");
    require(field_of(head, "content-type").starts_with(asked.type), "has another type");
    require(field_of(head, "content-length") == std::to_string(asked.body.size()),
            "has another length");
    require(field_of(head, "transfer-encoding").empty(), "has a coding besides");
    require(field_of(head, "connection") != "close", "ends its connection");
    const std::string_view body = text.substr(blank + 4, asked.body.size());
    require(asked.body.starts_with(body), "has another body");
    return body.size() == asked.body.size() ? blank + 4 + body.size() : 0;
}

class client {
public:
    client(std::uint16_t port, const options& asked)
        : port_{port},
          in_flight_{asked.in_flight},
          page_{*find_page(asked.name)},
          connections_(asked.connections),
          incoming_(std::size_t{1} << 16) {
        const std::string request =
            "GET /" + std::string{page_.name} +
            " HTTP/1.1\r\nHost: localhost\r\nAccept: " + std::string{page_.type} +
            ",text/html;q=0.9,application/xhtml+xml;q=0.9,application/xml;q=0.8,*/*;q=0.7\r\n"
            "Connection: keep-alive\r\n\r\n";
        request_bytes_ = request.size();
        for (std::uint64_t i = 0; i != in_flight_; ++i) outgoing_ += request;
        for (std::size_t i = 0; i != connections_.size(); ++i) open(i);
        // The first request finds each one accepted.
        run(connections_, 1, connections_.size());
    }

    /// Exchanges `messages`. Throws if an answer is wrong or missing.
    void run(std::uint64_t messages) { run(connections_, in_flight_, messages); }

    /// Of the last run, an answer: from the sending of its batch to its last byte.
    [[nodiscard]] const std::vector<std::int64_t>& latencies_ns() const { return latencies_ns_; }

    /// Says that nothing more will be sent, and waits for the server's end of each. Throws if
    /// anything comes before it.
    void finish() {
        for (const connection& each : connections_) {
            checked(::shutdown(each.socket.get(), SHUT_WR), "shutdown");
        }
        for (const connection& each : connections_) {
            const ssize_t got = ::recv(each.socket.get(), incoming_.data(), 1, 0);
            if (got > 0) fail(each, "has more than was asked for");
            if (got < 0) fail(each, "does not end");
        }
    }

private:
    struct connection {
        unique_fd socket;
        std::size_t number = 0;
        std::uint64_t awaited = 0;     // answers to the batch that are still to come
        std::string_view unsent = {};  // of the batch
        std::string begun = {};        // the beginning of an answer
        std::uint64_t sent_ns = 0;
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
            begin_batch(each, in_flight);
            send(each);
        }
        while (latencies_ns_.size() != messages) {
            const int count = wait_for_events(epoll_, events_, silence_ms);
            if (count == 0) throw std::runtime_error{"an answer does not come"};
            for (const epoll_event& event :
                 std::span{events_}.first(static_cast<std::size_t>(count))) {
                connection& ready = *static_cast<connection*>(event.data.ptr);
                receive(ready);
                if (ready.awaited == 0) begin_batch(ready, in_flight);
                send(ready);
            }
        }
    }

    void begin_batch(connection& on, std::uint64_t in_flight) {
        on.awaited = std::min(in_flight, to_begin_);
        to_begin_ -= on.awaited;
        on.unsent = std::string_view{outgoing_}.substr(0, on.awaited * request_bytes_);
        on.sent_ns = now_ns();
    }

    static void send(connection& on) {
        while (!on.unsent.empty()) {
            const ssize_t sent = ::send(on.socket.get(), on.unsent.data(), on.unsent.size(),
                                        MSG_DONTWAIT | MSG_NOSIGNAL);
            if (sent < 0 && errno == EAGAIN) return;  // an edge will come
            on.unsent.remove_prefix(static_cast<std::size_t>(checked(sent, "send")));
        }
    }

    void receive(connection& from) {
        for (;;) {
            const ssize_t got =
                ::recv(from.socket.get(), incoming_.data(), incoming_.size(), MSG_DONTWAIT);
            if (got < 0 && errno == EAGAIN) return;
            if (got <= 0) fail(from, "has ended");
            take(from, {incoming_.data(), static_cast<std::size_t>(got)});
            if (static_cast<std::size_t>(got) < incoming_.size()) return;  // that was all
        }
    }

    void take(connection& from, std::string_view data) {
        if (!from.begun.empty()) {
            from.begun.append(data);
            data = from.begun;
        }
        const std::uint64_t now = now_ns();
        while (!data.empty()) {
            if (from.awaited == 0) fail(from, "has more than was asked for");
            std::size_t size = last_.size();
            if (last_.empty() || !data.starts_with(last_)) {
                size = examine(data, page_);
                if (size == 0) break;
                last_ = data.substr(0, size);
            }
            data.remove_prefix(size);
            --from.awaited;
            latencies_ns_.push_back(static_cast<std::int64_t>(now - from.sent_ns));
        }
        from.begun = std::string{data};
    }

    [[noreturn]] static void fail(const connection& on, const std::string& why) {
        throw std::runtime_error{"connection " + std::to_string(on.number) + " " + why};
    }

    static constexpr int silence_ms = 5'000;  // longer than any answer of a server that works

    const std::uint16_t port_;
    const std::uint64_t in_flight_;
    const page& page_;
    unique_fd epoll_{checked(::epoll_create1(0), "epoll_create1")};
    std::vector<connection> connections_;
    std::string outgoing_;  // a batch
    std::size_t request_bytes_ = 0;
    std::string last_;  // the answer that was examined last
    std::vector<char> incoming_;
    std::array<epoll_event, 256> events_;
    std::vector<std::int64_t> latencies_ns_;
    std::uint64_t to_begin_ = 0;  // requests of this run
};

}  // namespace bench::w21
