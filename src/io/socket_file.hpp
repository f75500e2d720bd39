// The file of a Unix socket that is bound to a path.
#pragma once

#include <fairlead/detail/io/owned_socket_file.hpp>
#include <fairlead/io/network.hpp>
#include <fairlead/os/unique_fd.hpp>

#include <expected>
#include <system_error>

namespace fairlead::io {

struct bound_file {
    // To be kept until the socket listens: it keeps another process from taking the socket for a
    // stale one.
    os::unique_fd lock;
    detail::owned_socket_file file;
};

// Binds a socket of `type` to `where`, which may be any address of a Unix socket.
[[nodiscard]] std::expected<bound_file, std::error_code> bind_to_file(
    int fd, int type, const address& where, const unix_file_options& options) noexcept;

}  // namespace fairlead::io
