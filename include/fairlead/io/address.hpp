// An internet address with a port.
#pragma once

#include <fairlead/base/language.hpp>

#include <sys/socket.h>

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <system_error>

namespace fairlead::io {

/// An IPv4 or IPv6 address with a port. Names are not looked up.
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

    /// The port, in the order of this machine's bytes.
    [[nodiscard]] std::uint16_t port() const noexcept;
    /// Whether only this machine can reach it: 127.0.0.0/8, also as an IPv6 address, or ::1.
    [[nodiscard]] bool is_loopback() const noexcept;
    /// Whether it is an IPv6 address; otherwise it is IPv4.
    [[nodiscard]] bool is_v6() const noexcept { return storage_.ss_family == AF_INET6; }

    /// "127.0.0.1:80", "[::1]:80".
    [[nodiscard]] std::string to_string() const;

    /// The address as system calls take it. Valid as long as this object.
    [[nodiscard]] const sockaddr* data() const noexcept {
        return reinterpret_cast<const sockaddr*>(&storage_);
    }
    /// The length of `data`, in bytes.
    [[nodiscard]] socklen_t size() const noexcept { return size_; }

private:
    sockaddr_storage storage_{};
    socklen_t size_ = 0;
};

}  // namespace fairlead::io
