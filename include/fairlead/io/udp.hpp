// UDP as coroutines. Every wait has a deadline and ends when its task is asked to stop.
//
//     auto socket = fl::io::udp_socket::bind(scheduler, fl::io::address::loopback(5353));
//     const auto question = co_await socket->receive_from(buffer, fl::clock::now() + 5s);
//     co_await socket->send_to(answer, question->from);
//
// Reads and writes, and their errors, are those of datagram_socket.hpp. UDP drops datagrams,
// doubles them and changes their order; no error tells of that. On a connected socket the system
// tells that an earlier datagram has found no socket at the peer: the next operation, of either
// direction, fails with `connection_refused`, has done nothing, and may be tried again.
//
// A server that is bound to no address in particular answers from the address that was asked:
//
//     auto socket = fl::io::udp_socket::bind(scheduler, any, {.destinations = true});
//     const auto question = co_await socket->receive_from(buffer);
//     const fl::io::datagram reply{.data = answer, .to = &question->from, .from = &*question->to};
//     co_await socket->send({&reply, 1});
#pragma once

#include <fairlead/io/address.hpp>
#include <fairlead/io/datagram_socket.hpp>
#include <fairlead/io/epoll_driver.hpp>

#include <cstddef>
#include <expected>
#include <system_error>

namespace fairlead::io {

/// How a socket of UDP behaves.
struct udp_options {
    bool reuse_address = false;      ///< several sockets bind the same port: for multicast
    bool reuse_port = false;         ///< the same, and the kernel shares the senders out
    bool v6_only = false;            ///< an IPv6 socket takes no IPv4 datagrams
    bool broadcast = false;          ///< it may send to broadcast addresses
    std::size_t receive_buffer = 0;  ///< bytes, lowered to net.core.rmem_max; 0: the system's
    std::size_t send_buffer = 0;     ///< bytes, lowered to net.core.wmem_max; 0: the system's
    /// Receive several datagrams of one sender in one buffer, of up to 64 KiB: see
    /// `arrived_datagram::segment`. An older kernel does not, and `gro` says so.
    bool gro = false;
    bool destinations = false;  ///< `arrived_datagram::to` and `interface` are told
    bool marks = false;         ///< `arrived_datagram::mark` is told
    bool drops = false;         ///< `arrived_datagram::dropped` is told
};

/// A socket of UDP, on the network of the kernel. Closed when destroyed.
class udp_socket : public datagram_socket {
public:
    /// A socket at `where`; port 0: the system chooses one. `home` must have an `epoll_driver`. A
    /// buffer size or `broadcast` that the system refuses is left out. Errors: those of the system.
    /// Any thread.
    [[nodiscard]] static std::expected<udp_socket, std::error_code> bind(scheduler& home,
                                                                         const address& where,
                                                                         udp_options options = {});
    /// A socket at a port of the system's choice, which sends to `peer` alone, receives from it
    /// alone, and is told when there is no socket at `peer`. Errors: those of the system.
    [[nodiscard]] static std::expected<udp_socket, std::error_code> connect(
        scheduler& home, const address& peer, udp_options options = {});

    /// Whether several datagrams may come in one buffer.
    [[nodiscard]] bool gro() const noexcept { return abilities_.is_joined; }
    /// Whether the system has refused to cut data into segments: then each `datagram::segment` is a
    /// datagram of its own for it, which costs more. It is known after the first send of several.
    [[nodiscard]] bool gso_refused() const noexcept {
        return abilities_.segments == detail::datagram_abilities::cutting::refused;
    }

    /// Also receives what is sent to the multicast address `group` and this port, by the interface
    /// with this index; 0: the system chooses one. Errors: those of setsockopt.
    std::expected<void, std::error_code> join(const address& group,
                                              unsigned interface = 0) noexcept;
    /// Ends that. Errors: those of setsockopt.
    std::expected<void, std::error_code> leave(const address& group,
                                               unsigned interface = 0) noexcept;

    /// The address of this end, with the port that the system chose. Errors: those of getsockname.
    [[nodiscard]] std::expected<address, std::error_code> local_address() const noexcept {
        return socket_->local_address();
    }
    /// The address of the peer of a connected socket. Errors: those of getpeername.
    [[nodiscard]] std::expected<address, std::error_code> peer_address() const noexcept {
        return socket_->peer_address();
    }

    /// Closes it. No task may wait on it: that is asserted.
    void close() noexcept { socket_.close(); }

private:
    using datagram_socket::datagram_socket;
};

}  // namespace fairlead::io
