// The client of W18: a thread for each connection that is open at once, with OpenSSL on a socket
// that blocks. It is the same for all servers.
#pragma once

#include "support/clock.hpp"
#include "support/options.hpp"
#include "support/socket.hpp"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace bench::w18 {

inline constexpr std::string_view request = "GET /body HTTP/1.0\r\n\r\n";

/// What is asked for: a pattern in which a block that is missing or twice is seen.
inline std::string body(const options& asked) {
    std::string made(asked.size, '\0');
    for (std::size_t i = 0; i != made.size(); ++i) {
        made[i] = static_cast<char>('a' + (i * 131 + i / 4096) % 26);
    }
    return made;
}

class client {
public:
    client(std::uint16_t port, const options& asked)
        : port_{port}, asked_{asked}, context_{::SSL_CTX_new(::TLS_client_method())} {
        if (context_ == nullptr) fail("has no context");
        ::SSL_CTX_set_min_proto_version(context_.get(), TLS1_3_VERSION);
        ::SSL_CTX_set_ciphersuites(context_.get(), "TLS_AES_256_GCM_SHA384");
        exchange();  // whose session the next ones may resume
    }

    /// Makes `connections`, one after the other on each thread. Throws if one is wrong.
    void run(std::uint64_t connections) {
        latencies_ns_.clear();
        left_ = static_cast<std::int64_t>(connections);
        std::exception_ptr failure;
        {
            std::vector<std::jthread> threads;
            for (std::uint64_t i = 0; i != asked_.connections; ++i) {
                threads.emplace_back([this, &failure] {
                    try {
                        while (left_.fetch_sub(1) > 0) exchange();
                    } catch (...) {
                        const std::scoped_lock lock{mutex_};
                        failure = std::current_exception();
                    }
                });
            }
        }
        if (failure) std::rethrow_exception(failure);
    }

    /// Of the last run, a connection: from its connect to the end of its body.
    [[nodiscard]] const std::vector<std::int64_t>& latencies_ns() const { return latencies_ns_; }

    void finish() {}  // each connection has seen its end

private:
    struct ends {
        void operator()(SSL* what) const { ::SSL_free(what); }
        void operator()(SSL_CTX* what) const { ::SSL_CTX_free(what); }
        void operator()(SSL_SESSION* what) const { ::SSL_SESSION_free(what); }
    };

    void exchange() {
        const std::uint64_t began_ns = now_ns();
        const unique_fd socket{checked(::socket(AF_INET, SOCK_STREAM, 0), "socket")};
        const sockaddr_in server = loopback(port_);
        checked(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&server), sizeof(server)),
                "connect");
        set_no_delay(socket.get());
        const timeval limit{.tv_sec = 20, .tv_usec = 0};  // longer than a server that works needs
        checked(::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)),
                "SO_RCVTIMEO");
        const std::unique_ptr<SSL, ends> tls{::SSL_new(context_.get())};
        ::SSL_set_fd(tls.get(), socket.get());
        const bool resumes = asked_.name == "resumed" && session_ != nullptr;
        if (resumes) ::SSL_set_session(tls.get(), session_.get());
        if (::SSL_connect(tls.get()) != 1) fail("has no handshake");
        if ((::SSL_session_reused(tls.get()) == 1) != resumes) fail("has another handshake");
        const int size = static_cast<int>(request.size());
        if (::SSL_write(tls.get(), request.data(), size) != size) fail("cannot be asked");
        receive(*tls);
        const auto took = static_cast<std::int64_t>(now_ns() - began_ns);
        // The tickets have come before the answer.
        if (asked_.name == "resumed" && session_ == nullptr) {
            session_.reset(::SSL_get1_session(tls.get()));
        }
        ::SSL_shutdown(tls.get());
        const std::scoped_lock lock{mutex_};
        latencies_ns_.push_back(took);
    }

    void receive(SSL& from) const {
        std::vector<char> room(std::size_t{1} << 16);
        std::string head;
        std::size_t got = 0;
        bool in_body = false;
        for (;;) {
            const int size = ::SSL_read(&from, room.data(), static_cast<int>(room.size()));
            if (size <= 0) break;  // the servers do not all say that they end
            std::string_view data{room.data(), static_cast<std::size_t>(size)};
            if (!in_body) {
                const std::size_t before = head.size();
                head += data;
                const std::size_t blank = head.find("\r\n\r\n");
                if (blank == head.npos) continue;
                in_body = true;
                data.remove_prefix(blank + 4 - before);
            }
            if (data != std::string_view{body_}.substr(got, data.size())) fail("has another body");
            got += data.size();
        }
        if (!in_body || got != body_.size()) fail("has not all of its body");
        ::ERR_clear_error();
    }

    [[noreturn]] static void fail(const std::string& what) {
        const unsigned long code = ::ERR_get_error();
        const char* const why = code != 0 ? ::ERR_reason_error_string(code) : nullptr;
        throw std::runtime_error{"a connection " + what + (why != nullptr ? ": " : "") +
                                 (why != nullptr ? why : "")};
    }

    const std::uint16_t port_;
    const options asked_;
    const std::string body_ = body(asked_);
    const std::unique_ptr<SSL_CTX, ends> context_;
    std::unique_ptr<SSL_SESSION, ends> session_;  // set before there are threads
    std::atomic<std::int64_t> left_ = 0;
    std::mutex mutex_;
    std::vector<std::int64_t> latencies_ns_;
};

}  // namespace bench::w18
