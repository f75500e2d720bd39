#include <fairlead/io/address.hpp>

#include <fairlead/io/unix_address.hpp>

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

namespace fairlead::io {
namespace {

// "eth0" or "2"; 0: no such interface.
std::uint32_t scope_of(const std::string& interface) {
    if (const unsigned index = ::if_nametoindex(interface.c_str())) return index;
    std::uint32_t number = 0;
    const char* const end = interface.data() + interface.size();
    return std::from_chars(interface.data(), end, number).ptr == end ? number : 0;
}

}  // namespace

address::address() noexcept : address{loopback(0)} {}

address::address(const sockaddr* from, socklen_t size) noexcept
    : size_{std::min<socklen_t>(size, sizeof(storage_))} {
    std::memcpy(&storage_, from, size_);
}

std::expected<address, std::error_code> address::parse(std::string_view host, std::uint16_t port) {
    // The functions below stop at the first null.
    if (host.contains('\0')) {
        return std::unexpected{std::make_error_code(std::errc::invalid_argument)};
    }
    const std::string text{host.substr(0, host.find('%'))};
    sockaddr_in v4{};
    if (text.size() == host.size() && ::inet_pton(AF_INET, text.c_str(), &v4.sin_addr) == 1) {
        v4.sin_family = AF_INET;
        v4.sin_port = htons(port);
        return address{reinterpret_cast<const sockaddr*>(&v4), sizeof(v4)};
    }
    sockaddr_in6 v6{};
    if (::inet_pton(AF_INET6, text.c_str(), &v6.sin6_addr) == 1) {
        v6.sin6_family = AF_INET6;
        v6.sin6_port = htons(port);
        if (text.size() != host.size()) {
            v6.sin6_scope_id = scope_of(std::string{host.substr(text.size() + 1)});
            if (v6.sin6_scope_id == 0) {
                return std::unexpected{std::make_error_code(std::errc::invalid_argument)};
            }
        }
        return address{reinterpret_cast<const sockaddr*>(&v6), sizeof(v6)};
    }
    return std::unexpected{std::make_error_code(std::errc::invalid_argument)};
}

address address::loopback(std::uint16_t port) noexcept {
    sockaddr_in v4{};
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
    v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address{reinterpret_cast<const sockaddr*>(&v4), sizeof(v4)};
}

std::uint16_t address::port() const noexcept {
    if (is_unix()) return 0;
    if (is_v6()) return ntohs(reinterpret_cast<const sockaddr_in6*>(&storage_)->sin6_port);
    return ntohs(reinterpret_cast<const sockaddr_in*>(&storage_)->sin_port);
}

bool address::is_loopback() const noexcept {
    if (is_unix()) return true;
    if (is_v6()) {
        const in6_addr& v6 = reinterpret_cast<const sockaddr_in6*>(&storage_)->sin6_addr;
        if (IN6_IS_ADDR_V4MAPPED(&v6)) return v6.s6_addr[12] == 127;
        return IN6_IS_ADDR_LOOPBACK(&v6);
    }
    const in_addr& v4 = reinterpret_cast<const sockaddr_in*>(&storage_)->sin_addr;
    return ntohl(v4.s_addr) >> 24 == 127;
}

std::string address::to_string() const {
    if (is_unix()) return unix_address{*this}.to_string();
    std::array<char, INET6_ADDRSTRLEN> text{};
    // Appended to: with -O3, GCC 12 warns of copies that overlap where a string is put before
    // another.
    std::string all;
    if (is_v6()) {
        const auto* const v6 = reinterpret_cast<const sockaddr_in6*>(&storage_);
        ::inet_ntop(AF_INET6, &v6->sin6_addr, text.data(), text.size());
        all.append(1, '[').append(text.data()).append(1, ']');
    } else {
        const auto* const v4 = reinterpret_cast<const sockaddr_in*>(&storage_);
        ::inet_ntop(AF_INET, &v4->sin_addr, text.data(), text.size());
        all.append(text.data());
    }
    return all.append(1, ':').append(std::to_string(port()));
}

}  // namespace fairlead::io
