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

#include "support/client_process.hpp"
#include "w13/client.hpp"

#include <cstdint>
#include <optional>

namespace bench::w13 {

/// What a server reads at once, at most.
inline std::size_t buffer_bytes(const options& asked) {
    return asked.size <= 4096 ? 4096 : 1 << 16;
}

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
    client_process<client> peer{asked};
    Server server{asked.workers, buffer_bytes(asked)};
    peer.connect(server.port());
    return peer.measure("messages/s");
}

template <class Server>
int main(int argc, char** argv) {
    return run_main(argc, argv, "W13", Server::name, measure<Server>);
}

}  // namespace bench::w13
