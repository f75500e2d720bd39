// W13, echo: a server on the loopback interface sends back what comes. One case:
//
//     echo    `count` messages of `size` bytes, `in_flight` at a time on each of `connections`;
//             `idle` more connections say nothing
//
// `value` is nanoseconds of wall time for one message; CPU time and memory are the server's. The
// client is the same for all servers, one thread in a process of its own: see client.hpp, and
// client.cpp for servers in other languages. It checks what comes back; anything that is wrong,
// missing or too much voids the run. A tenth of the messages come before the measurement. Status 3,
// too: the system does not give the descriptors.
#pragma once

#include "support/options.hpp"
#include "support/percentiles.hpp"
#include "support/result.hpp"
#include "w13/client.hpp"
#include "w13/socket.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>

#include <array>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <optional>

namespace bench::w13 {

/// What a server reads at once, at most.
inline std::size_t buffer_bytes(const options& asked) {
    return asked.size <= 4096 ? 4096 : 1 << 16;
}

/// What the client has measured. Servers in other languages read the same bytes.
struct report {
    double elapsed_ns = 0;
    double p50_us = 0;
    double p99_us = 0;
    std::array<char, 200> failure{};
};
static_assert(sizeof(report) == 224);

/// One end of what server and client say to each other: objects of a few bytes, which go through in
/// one piece. The server says the port, then twice `go`: to run, and to finish. A report answers
/// each.
class talk {
public:
    static constexpr char go = 0;

    explicit talk(unique_fd end) : end_{std::move(end)} {}

    template <class Word>
    bool tell(const Word& word) {
        return ::send(end_.get(), &word, sizeof(word), MSG_NOSIGNAL) == sizeof(word);
    }
    template <class Word>
    bool hear(Word& word) {
        return ::recv(end_.get(), &word, sizeof(word), MSG_WAITALL) == sizeof(word);
    }

private:
    unique_fd end_;
};

/// What the client does in its process.
inline void live(talk server, const options& asked) {
    std::uint16_t port = 0;
    char word = talk::go;
    report found;
    if (!server.hear(port)) return;
    try {
        client self{port, asked.connections + asked.idle, asked.size, asked.in_flight};
        self.run(asked.connections, asked.in_flight, asked.count / 10);
        if (!server.tell(found) || !server.hear(word)) return;
        const std::uint64_t begin_ns = now_ns();
        self.run(asked.connections, asked.in_flight, asked.count);
        found.elapsed_ns = static_cast<double>(now_ns() - begin_ns);
        const percentiles latency{self.latencies_ns()};
        found.p50_us = static_cast<double>(latency.at(0.5)) * 1e-3;
        found.p99_us = static_cast<double>(latency.at(0.99)) * 1e-3;
        if (!server.tell(found) || !server.hear(word)) return;
        self.finish();
    } catch (const std::exception& error) {
        std::strncpy(found.failure.data(), error.what(), found.failure.size() - 1);
    }
    server.tell(found);
}

/// The client in a process of its own, forked before the server has threads.
class client_process {
public:
    explicit client_process(const options& asked) {
        std::array<int, 2> ends{};
        checked(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), "socketpair");
        unique_fd mine{ends[0]};
        unique_fd other{ends[1]};
        id_ = checked(::fork(), "fork");
        if (id_ == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // not without the server
            mine = unique_fd{};
            live(talk{std::move(other)}, asked);
            ::_exit(0);
        }
        client_.emplace(std::move(mine));
    }
    client_process(const client_process&) = delete;
    client_process& operator=(const client_process&) = delete;
    ~client_process() {
        client_.reset();  // it waits for nothing any more
        ::waitpid(id_, nullptr, 0);
    }

    /// The measurement, from its first message to its last, and what the client says at its end.
    [[nodiscard]] measurement measure(const options& asked, std::uint16_t port) {
        ask(port);
        const stopwatch watch;
        const report found = ask(talk::go);
        measurement result = watch.per_item(asked.count);
        ask(talk::go);  // to finish
        const auto messages = static_cast<double>(asked.count);
        result.value = found.elapsed_ns / messages;
        result.beside = {{"p50", found.p50_us, "us"},
                         {"p99", found.p99_us, "us"},
                         {"rate", messages / found.elapsed_ns * 1e9, "messages/s"}};
        result.failure = failure_;
        return result;
    }

private:
    template <class Word>
    report ask(const Word& word) {
        report answer;
        if (!failure_.empty()) return answer;
        if (!client_->tell(word) || !client_->hear(answer)) failure_ = "the client is gone";
        if (answer.failure[0] != '\0') failure_ = answer.failure.data();
        return answer;
    }

    std::optional<talk> client_;
    pid_t id_ = 0;
    std::string failure_;
};

/// Whether the case is there, and the system gives the descriptors: of connections, and some for
/// epoll and the like.
inline bool is_offered(const options& asked) {
    if (asked.name != "echo") return false;
    if (asked.size < client::header_bytes || asked.connections == 0 || asked.in_flight == 0) {
        usage_error("a message has 16 bytes at least");
    }
    return may_have_descriptors(asked.connections + asked.idle + 100);
}

template <class Server>
std::optional<measurement> measure(const options& asked) {
    if (!is_offered(asked)) return std::nullopt;
    client_process peer{asked};
    Server server{asked.workers, buffer_bytes(asked)};
    return peer.measure(asked, server.port());
}

template <class Server>
int main(int argc, char** argv) {
    return run_main(argc, argv, "W13", Server::name, measure<Server>);
}

}  // namespace bench::w13
