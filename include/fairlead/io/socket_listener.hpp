// What tcp_listener and unix_listener have in common.
#pragma once

#include <fairlead/coro/task.hpp>
#include <fairlead/detail/io/owned_socket_file.hpp>
#include <fairlead/detail/io/stream_operations.hpp>
#include <fairlead/io/address.hpp>
#include <fairlead/io/network.hpp>
#include <fairlead/io/unix_address.hpp>

#include <cstdint>
#include <expected>
#include <system_error>
#include <utility>

namespace fairlead::io {

/// A listening socket. The file of a Unix socket is removed when it is closed or destroyed, unless
/// another program has put its own there.
class socket_listener {
public:
    /// How long an accept waits before it tries again, when no descriptor is left.
    static constexpr duration starved_retry = std::chrono::milliseconds{20};

    /// How often an accept waited for a descriptor or for memory, for reports. Any thread.
    [[nodiscard]] std::uint64_t starved() const noexcept { return starved_.value(); }

    /// Stops listening, and removes the file. No task may wait on it: that is asserted.
    void close() noexcept {
        file_.remove();
        socket_.close();
    }

protected:
    /// Takes over a socket that listens at `where`, and how its connections are to behave. A
    /// network that is not the kernel's has no files.
    socket_listener(network::socket& listens, const address& where,
                    const listener_options& options) noexcept
        : socket_{listens},
          options_{options},
          file_{listens.native_handle() >= 0 ? detail::owned_socket_file{unix_address{where}}
                                             : detail::owned_socket_file{}} {}
    /// `other` is closed afterwards. No task may wait on it.
    socket_listener(socket_listener&& other) noexcept = default;
    /// The same; closes its own socket first.
    socket_listener& operator=(socket_listener&& other) noexcept = default;
    ~socket_listener() = default;

    /// The next connection, as a `Stream`.
    template <class Stream>
    [[nodiscard]] task<std::expected<Stream, std::error_code>> accept_as(time_point deadline);

    socket_handle socket_;           ///< of a network
    listener_options options_;       ///< of the connections
    detail::starved_count starved_;  ///< see `starved`

private:
    detail::owned_socket_file file_;
};

}  // namespace fairlead::io
