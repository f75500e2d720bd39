// W20, datagrams: a server on the loopback interface sends back what comes by UDP. Three cases, of
// `count` datagrams of `size` bytes, `in_flight` at once on each of `connections` sockets:
//
//     echo        the server receives and sends one by one
//     batch       up to 32 in a call of the system
//     segments    several at once in one buffer, which the kernel joins and cuts (GRO, GSO)
//
// `value` is nanoseconds of wall time for one datagram; CPU time and memory are the server's, which
// has one thread and one socket. The client is the same for all, in a process of its own, as that
// of W13: see client.hpp. A datagram that is wrong or missing voids the run.
#pragma once

#include "support/client_process.hpp"
#include "w20/client.hpp"

#include <optional>
#include <string_view>

namespace bench::w20 {

constexpr std::size_t batch_max = 32;
constexpr std::size_t datagram_max = 2048;
constexpr int room_bytes = 4 << 20;  // of the server's socket: all that is on its way at once

template <class Server>
std::optional<measurement> measure(const options& asked) {
    const std::string_view name = asked.name;
    if (name != "echo" && name != "batch" && name != "segments") return std::nullopt;
    if (asked.workers != 1) return std::nullopt;
    if (asked.size < client::header_bytes || asked.size > datagram_max || asked.in_flight == 0 ||
        asked.in_flight > 64 || asked.size * asked.in_flight > 65'000 || asked.connections == 0) {
        usage_error("at most 64 datagrams of 8 to 2048 bytes, and 65000 bytes, at once");
    }
    client_process<client> peer{asked};
    Server server{name};
    peer.connect(server.port());
    return peer.measure("datagrams/s");
}

template <class Server>
int main(int argc, char** argv) {
    return run_main(argc, argv, "W20", Server::name, measure<Server>);
}

}  // namespace bench::w20
