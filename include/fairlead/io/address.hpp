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
    address(const sockaddr* from, socklen_t size) noexcept;

    /// "127.0.0.1", "::1", "fe80::1%eth0". Error: `invalid_argument`.
    [[nodiscard]] static std::expected<address, std::error_code> parse(std::string_view host,
                                                                       std::uint16_t port);
    [[nodiscard]] static address loopback(std::uint16_t port) noexcept;

    [[nodiscard]] std::uint16_t port() const noexcept;
    [[nodiscard]] bool is_loopback() const noexcept;
    [[nodiscard]] bool is_v6() const noexcept { return storage_.ss_family == AF_INET6; }

    /// "127.0.0.1:80", "[::1]:80".
    [[nodiscard]] std::string to_string() const;

    [[nodiscard]] const sockaddr* data() const noexcept {
        return reinterpret_cast<const sockaddr*>(&storage_);
    }
    [[nodiscard]] socklen_t size() const noexcept { return size_; }

private:
    sockaddr_storage storage_{};
    socklen_t size_ = 0;
};

}  // namespace fairlead::io
