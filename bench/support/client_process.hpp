// The client of a server on the loopback interface, as a process of its own. It is the same for all
// servers of a workload; it measures, and checks what comes back.
//
// A client is a class that is made of a port and the options, connects, and has
//
//     void run(std::uint64_t count);   // exchanges so many messages; throws if one is wrong
//     latencies_ns()                   // of the messages of the last run
//     void finish();                   // ends all connections; throws if more comes
#pragma once

#include "support/options.hpp"
#include "support/percentiles.hpp"
#include "support/result.hpp"
#include "support/server_process.hpp"
#include "support/socket.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>

#include <array>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

namespace bench {

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

/// What the client does in its process. A tenth of the messages come before the measurement.
template <class Client>
void live(talk server, const options& asked) {
    std::uint16_t port = 0;
    char word = talk::go;
    report found;
    if (!server.hear(port)) return;
    try {
        Client self{port, asked};
        self.run(asked.count / 10);
        if (!server.tell(found) || !server.hear(word)) return;
        const std::uint64_t begin_ns = now_ns();
        self.run(asked.count);
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

/// The client, forked before the server has threads.
template <class Client>
class client_process {
public:
    explicit client_process(const options& asked) : asked_{asked} {
        std::array<int, 2> ends{};
        checked(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), "socketpair");
        unique_fd mine{ends[0]};
        unique_fd other{ends[1]};
        id_ = checked(::fork(), "fork");
        if (id_ == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // not without the server
            mine = unique_fd{};
            live<Client>(talk{std::move(other)}, asked);
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

    /// Lets it connect, and exchange the messages that are not measured.
    void connect(std::uint16_t port) { ask(port); }

    /// The measurement, from its first message to its last, and what the client says at its end.
    /// `what`: the unit of the rate. CPU time and memory are those of the server, which is this
    /// process, or another one.
    [[nodiscard]] measurement measure(const char* what, const server_process* server = nullptr) {
        const double began_cpu = server != nullptr ? server->cpu_seconds() : 0;
        const stopwatch watch;
        const report found = ask(talk::go);
        measurement result = watch.per_item(asked_.count);
        if (server != nullptr) {
            result.cpu_seconds = server->cpu_seconds() - began_cpu;
            result.memory_bytes = server->peak_rss_bytes();
        }
        ask(talk::go);  // to finish
        const auto messages = static_cast<double>(asked_.count);
        result.value = found.elapsed_ns / messages;
        result.beside = {{"p50", found.p50_us, "us"},
                         {"p99", found.p99_us, "us"},
                         {"rate", messages / found.elapsed_ns * 1e9, what}};
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

    const options asked_;
    std::optional<talk> client_;
    pid_t id_ = 0;
    std::string failure_;
};

}  // namespace bench
