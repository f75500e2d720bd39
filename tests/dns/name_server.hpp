// A name server on loopback, with a scheduler and a thread of its own. What it says is set by the
// test, before the query comes.
#pragma once

#include "support/sockets.hpp"

#include <fairlead/coro/with_scope.hpp>
#include <fairlead/io/tcp.hpp>
#include <fairlead/io/watch.hpp>
#include <fairlead/wait/event.hpp>

#include <arpa/inet.h>
#include <arpa/nameser.h>
#include <poll.h>

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fairlead::test {

/// Numbers of a message, in the order of the network.
inline std::string u16(unsigned value) {
    return {static_cast<char>(value >> 8U), static_cast<char>(value & 0xffU)};
}
inline std::string u32(std::uint32_t value) { return u16(value >> 16U) + u16(value & 0xffffU); }
/// A name as labels.
inline std::string labels(std::string_view name) {
    std::string all;
    while (!name.empty()) {
        const std::string_view label = name.substr(0, name.find('.'));
        all += static_cast<char>(label.size());
        all += label;
        name.remove_prefix(std::min(label.size() + 1, name.size()));
    }
    all += '\0';
    return all;
}

struct dns_record {
    std::string owner;
    unsigned type;
    std::uint32_t ttl;
    std::string data;
};
inline dns_record a_record(std::string owner, const char* host, std::uint32_t ttl = 60) {
    std::string data(4, '\0');
    EXPECT_EQ(::inet_pton(AF_INET, host, data.data()), 1);
    return {std::move(owner), ns_t_a, ttl, std::move(data)};
}
inline dns_record aaaa_record(std::string owner, const char* host, std::uint32_t ttl = 60) {
    std::string data(16, '\0');
    EXPECT_EQ(::inet_pton(AF_INET6, host, data.data()), 1);
    return {std::move(owner), ns_t_aaaa, ttl, std::move(data)};
}
inline dns_record alias(std::string owner, std::string_view to, std::uint32_t ttl = 60) {
    return {std::move(owner), ns_t_cname, ttl, labels(to)};
}
inline dns_record soa_record(std::string owner, std::uint32_t ttl, std::uint32_t minimum) {
    return {std::move(owner), ns_t_soa, ttl,
            labels("ns.test") + labels("admin.test") + u32(1) + u32(2) + u32(3) + u32(4) +
                u32(minimum)};
}

/// What it says of a name and a type.
struct dns_row {
    unsigned code = ns_r_noerror;
    std::vector<dns_record> answers = {};
    std::vector<dns_record> authorities = {};
    unsigned drops = 0;         ///< so many queries are not answered first
    bool is_truncated = false;  ///< over UDP
    bool is_garbage = false;    ///< nothing behind the header, though it counts records
    bool has_wrong_id = false;  ///< an answer of another query comes before the right one
    bool waits = false;         ///< until `let_go`
};

class name_server {
public:
    name_server() {
        // The same port for both.
        for (;;) {
            listener_.emplace(io::tcp_listener::bind(home_, io::address::loopback(0)).value());
            where_ = listener_->local_address().value();
            datagrams_ =
                os::unique_fd{::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
            if (::bind(datagrams_.get(), where_.data(), where_.size()) == 0) break;
        }
        serves_.emplace(spawn(home_, serve()));
    }
    ~name_server() {
        serves_->request_stop();
        serves_->get();
    }

    [[nodiscard]] io::address where() const { return where_; }
    void put(const std::string& name, unsigned type, dns_row row) {
        const std::lock_guard lock{mutex_};
        rows_[{name, type}] = std::move(row);
    }
    /// The questions so far: "tcp a.test 1".
    [[nodiscard]] std::vector<std::string> asked() {
        const std::lock_guard lock{mutex_};
        return asked_;
    }
    /// Waits for the n-th question.
    void await_questions(std::size_t count) {
        std::unique_lock lock{mutex_};
        came_.wait(lock, [&] { return asked_.size() >= count; });
    }
    void let_go() { may_answer_.set(); }

private:
    struct question {
        std::string id, whole, name;
        unsigned type = 0;
    };
    static question read(std::string_view message) {
        question of;
        of.id = message.substr(0, 2);
        std::size_t at = 12;
        while (at < message.size() && message[at] != 0) {
            const auto size = static_cast<std::size_t>(message[at]);
            if (!of.name.empty()) of.name += '.';
            of.name += message.substr(at + 1, size);
            at += size + 1;
        }
        of.type = static_cast<unsigned char>(message[at + 2]);
        of.whole = message.substr(12, at + 5 - 12);
        return of;
    }
    static std::string print(const std::vector<dns_record>& all) {
        std::string text;
        for (const dns_record& each : all) {
            text += labels(each.owner) + u16(each.type) + u16(ns_c_in) + u32(each.ttl) +
                    u16(static_cast<unsigned>(each.data.size())) + each.data;
        }
        return text;
    }
    static std::string answer_to(const question& of, const dns_row& row, bool truncates) {
        const unsigned flags = 0x8180U | (truncates ? 0x0200U : 0U) | row.code;
        const std::size_t answers = row.is_garbage ? 3 : truncates ? 0 : row.answers.size();
        std::string text = of.id + u16(flags) + u16(1) + u16(static_cast<unsigned>(answers)) +
                           u16(static_cast<unsigned>(row.authorities.size())) + u16(0) + of.whole;
        if (row.is_garbage) return text + "\xff\xff\xff";
        if (!truncates) text += print(row.answers);
        return text + print(row.authorities);
    }
    // Nothing: it is dropped.
    std::optional<std::pair<question, dns_row>> look_up(std::string_view message, const char* how) {
        question of = read(message);
        const std::lock_guard lock{mutex_};
        asked_.push_back(std::string{how} + ' ' + of.name + ' ' + std::to_string(of.type));
        came_.notify_all();
        const auto at = rows_.find({of.name, of.type});
        if (at == rows_.end()) return std::pair{std::move(of), dns_row{.code = ns_r_nxdomain}};
        if (at->second.drops != 0) {
            --at->second.drops;
            return std::nullopt;
        }
        return std::pair{std::move(of), at->second};
    }

    task<> serve() {
        co_await with_scope([this](scope& all) -> task<> {
            all.spawn(serve_datagrams(all));
            for (;;) {
                auto peer = co_await listener_->accept();
                if (!peer) break;
                all.spawn(serve_stream(std::move(*peer)));
            }
        });
    }
    task<> serve_datagrams(scope& all) {
        auto there = io::watch::make(io::epoll_driver::of(home_), datagrams_.get()).value();
        for (;;) {
            const auto ready = co_await there.until(POLLIN);
            if (!ready) co_return;
            std::array<char, 4096> buffer{};
            sockaddr_storage from{};
            socklen_t size = sizeof(from);
            const ssize_t count = ::recvfrom(datagrams_.get(), buffer.data(), buffer.size(), 0,
                                             reinterpret_cast<sockaddr*>(&from), &size);
            if (count < 17) continue;
            auto known = look_up({buffer.data(), static_cast<std::size_t>(count)}, "udp");
            const io::address peer{reinterpret_cast<const sockaddr*>(&from), size};
            if (known) all.spawn(send(std::move(known->first), std::move(known->second), peer));
        }
    }
    task<> send(question of, dns_row row, io::address to) {
        if (row.waits) {
            const auto told = co_await may_answer_.wait();
            if (!told) co_return;
        }
        const auto give = [&](const std::string& text) {
            ::sendto(datagrams_.get(), text.data(), text.size(), MSG_NOSIGNAL, to.data(),
                     to.size());
        };
        if (row.has_wrong_id) {
            question other = of;
            other.id[0] = static_cast<char>(other.id[0] ^ 0x55);
            give(answer_to(other, dns_row{.code = ns_r_servfail}, false));
        }
        give(answer_to(of, row, row.is_truncated));
    }
    task<> serve_stream(io::tcp_stream peer) {
        for (;;) {
            std::string size(2, '\0');
            if (!co_await peer.read_exactly(std::as_writable_bytes(std::span{size}))) co_return;
            const std::size_t length =
                static_cast<unsigned char>(size[0]) * 256U + static_cast<unsigned char>(size[1]);
            std::string message(length, '\0');
            if (!co_await peer.read_exactly(std::as_writable_bytes(std::span{message}))) co_return;
            const auto known = look_up(message, "tcp");
            if (!known) continue;
            std::string text = answer_to(known->first, known->second, false);
            text = u16(static_cast<unsigned>(text.size())) + text;
            if (!co_await peer.write_all(bytes_of(text))) co_return;
        }
    }

    std::mutex mutex_;
    std::condition_variable came_;
    std::map<std::pair<std::string, unsigned>, dns_row> rows_;  // guarded by mutex_
    std::vector<std::string> asked_;                            // guarded by mutex_
    event may_answer_;
    io::address where_;
    scheduler home_{with_epoll(1)};
    std::optional<io::tcp_listener> listener_;
    os::unique_fd datagrams_;
    std::optional<join_handle<void>> serves_;
};

}  // namespace fairlead::test
