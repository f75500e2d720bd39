// An internet address with a port, or the address of a Unix socket.
#pragma once

#include <fairlead/detail/base/language.hpp>

#include <sys/socket.h>

#include <cstdint>
#include <cstring>
#include <expected>
#include <string>
#include <string_view>
#include <system_error>

namespace fairlead::io {

/// An IPv4 or IPv6 address with a port. Names are not looked up. It may be the address of a Unix
/// socket, too, which `unix_address` makes.
class address {
public:
    /// 127.0.0.1, port 0.
    address() noexcept;
    /// A copy of an address of the system. More than `sizeof(sockaddr_storage)` bytes are cut.
    address(const sockaddr* from, socklen_t size) noexcept;

    /// "127.0.0.1", "::1", "fe80::1%eth0". Error: `invalid_argument`.
    [[nodiscard]] static std::expected<address, std::error_code> parse(std::string_view host,
                                                                       std::uint16_t port);
    /// 127.0.0.1 with this port; 0: the system chooses one at a `bind`.
    [[nodiscard]] static address loopback(std::uint16_t port) noexcept;

    /// The port, in the order of this machine's bytes; 0 for Unix sockets.
    [[nodiscard]] std::uint16_t port() const noexcept;
    /// Whether only this machine can reach it: 127.0.0.0/8, also as an IPv6 address, ::1, or Unix.
    [[nodiscard]] bool is_loopback() const noexcept;
    /// Whether it is an IPv6 address.
    [[nodiscard]] bool is_v6() const noexcept { return storage_.ss_family == AF_INET6; }
    /// Whether it is the address of a Unix socket.
    [[nodiscard]] bool is_unix() const noexcept { return storage_.ss_family == AF_UNIX; }

    /// "127.0.0.1:80", "[::1]:80"; for Unix sockets as `unix_address::to_string`.
    [[nodiscard]] std::string to_string() const;

    /// The address as system calls take it. Valid as long as this object.
    [[nodiscard]] const sockaddr* data() const noexcept {
        return reinterpret_cast<const sockaddr*>(&storage_);
    }
    /// The length of `data`, in bytes.
    [[nodiscard]] socklen_t size() const noexcept { return size_; }

    /// Whether both are the same host, port and, of a link-local address, interface.
    [[nodiscard]] friend bool operator==(const address& one, const address& other) noexcept {
        return one.size_ == other.size_ &&
               std::memcmp(&one.storage_, &other.storage_, one.size_) == 0;
    }

private:
    sockaddr_storage storage_{};
    socklen_t size_ = 0;
};

}  // namespace fairlead::io
