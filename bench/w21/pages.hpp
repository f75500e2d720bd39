// W21, pages: a server of HTTP on the loopback interface, by the rules of TechEmpower. The cases:
//
//     plaintext    "Hello, World!"
//     json         {"message":"Hello, World!"}
//
// Each answers `count` requests, `in_flight` at a time on each of `connections`, with the fields
// Server and Date. The body is the same for all servers, and none makes it anew for an answer: that
// would compare libraries of JSON.
//
// `value` is nanoseconds of wall time for one answer; CPU time and memory are the server's. The
// client is the same for all servers, one thread in a process of its own: see client.hpp, and
// client.cpp for servers in other languages. It checks what comes back; anything that is wrong,
// missing or too much voids the run. A tenth of the requests come before the measurement. Status 3,
// too: the system does not give the descriptors.
#pragma once

#include "support/client_process.hpp"
#include "w21/client.hpp"

#include <cstdint>
#include <optional>

namespace bench::w21 {

/// Whether the case is there, and the system gives the descriptors: of connections, and some for
/// epoll and the like.
inline bool is_offered(const options& asked) {
    if (find_page(asked.name) == nullptr) return false;
    if (asked.connections == 0 || asked.in_flight == 0) usage_error("nobody would ask");
    return may_have_descriptors(asked.connections + 100);
}

/// A server in this process, or the object of another process. It is made of the number of its
/// workers, and has a port.
template <class Server>
std::optional<measurement> measure(const options& asked) {
    if (!is_offered(asked)) return std::nullopt;
    client_process<client> peer{asked};
    Server server{asked.workers};
    peer.connect(server.port());
    if constexpr (requires { server.process(); }) {
        return peer.measure("answers/s", &server.process());
    } else {
        return peer.measure("answers/s");
    }
}

template <class Server>
int main(int argc, char** argv) {
    return run_main(argc, argv, "W21", Server::name, measure<Server>);
}

}  // namespace bench::w21
