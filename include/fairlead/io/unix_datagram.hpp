// Datagrams between processes of one machine, as coroutines. None is lost, and their order stays.
#pragma once

#include <fairlead/detail/io/owned_socket_file.hpp>
#include <fairlead/io/datagram_socket.hpp>
#include <fairlead/io/epoll_driver.hpp>
#include <fairlead/io/unix_address.hpp>

#include <expected>
#include <system_error>
#include <utility>

namespace fairlead::io {

/// A Unix socket of datagrams, on the network of the kernel. Closed when destroyed; its file is
/// removed then, unless another program has put its own there.
///
/// The queue of a receiver is short (net.unix.max_dgram_qlen, 10). A send waits while that of the
/// peer is full. `send_to` and a `datagram::to` do not, as the system would not tell of room: the
/// error is `resource_unavailable_try_again`. A datagram may be as long as the send buffer of the
/// socket. The sender of an `arrived_datagram` is `unix_address{arrived.from}`.
class unix_datagram : public datagram_socket {
public:
    /// A socket at `where`, which must have a name to be sent to; the permissions of a file are in
    /// `options`. `home` must have an `epoll_driver`. Errors: those of the system; `address_in_use`
    /// if there is a file already.
    [[nodiscard]] static std::expected<unix_datagram, std::error_code> bind(
        scheduler& home, const unix_address& where, unix_file_options options = {});
    /// A socket without a name, which sends to `peer`. Errors: those of the system.
    [[nodiscard]] static std::expected<unix_datagram, std::error_code> connect(
        scheduler& home, const unix_address& peer);
    /// Two sockets, each the peer of the other. Errors: those of the system.
    [[nodiscard]] static std::expected<std::pair<unix_datagram, unix_datagram>, std::error_code>
    pair(epoll_driver& driver);

    /// The address of this end. Errors: those of getsockname.
    [[nodiscard]] std::expected<unix_address, std::error_code> local_address() const noexcept;

    /// Closes it, and removes its file. No task may wait on it: that is asserted.
    void close() noexcept {
        file_.remove();
        socket_.close();
    }

private:
    unix_datagram(socket_handle socket, detail::owned_socket_file file) noexcept;

    detail::owned_socket_file file_;
};

}  // namespace fairlead::io
