#include <fairlead/dns/order.hpp>

#include <fairlead/os/unique_fd.hpp>

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <tuple>
#include <utility>

namespace fairlead::dns {
namespace {

using bytes = std::array<std::uint8_t, 16>;

// An IPv4 address is compared as the IPv6 address that stands for it.
bytes bytes_of(const io::address& from) noexcept {
    bytes all{};
    if (from.is_v6()) {
        std::memcpy(all.data(), &reinterpret_cast<const sockaddr_in6*>(from.data())->sin6_addr, 16);
    } else {
        all[10] = all[11] = 0xff;
        std::memcpy(&all[12], &reinterpret_cast<const sockaddr_in*>(from.data())->sin_addr, 4);
    }
    return all;
}

int common_bits(const bytes& one, const bytes& other) noexcept {
    int count = 0;
    for (std::size_t i = 0; i != one.size(); ++i) {
        const auto differing = static_cast<std::uint8_t>(one[i] ^ other[i]);
        count += std::countl_zero(differing);
        if (differing != 0) break;
    }
    return count;
}

// A row of the policy table of RFC 6724, section 2.1.
struct policy {
    bytes prefix;
    int length;
    int precedence;
    int label;
};

constexpr std::array table{
    policy{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}, 128, 50, 0},
    policy{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}, 96, 35, 4},
    policy{{}, 96, 1, 3},
    policy{{0x20, 0x01, 0, 0}, 32, 5, 5},
    policy{{0x20, 0x02}, 16, 30, 2},
    policy{{0x3f, 0xfe}, 16, 1, 12},
    policy{{0xfe, 0xc0}, 10, 1, 11},
    policy{{0xfc}, 7, 3, 13},
    policy{{}, 0, 40, 1},
};

// The rows are in the order of their lengths, so the first that fits is the longest.
const policy& policy_of(const bytes& all) noexcept {
    return *std::ranges::find_if(
        table, [&all](const policy& row) { return common_bits(row.prefix, all) >= row.length; });
}

enum address_scope : int { link_local = 2, site_local = 5, global = 14 };

int scope_of(const bytes& all) noexcept {
    if (all[0] == 0xff) return all[1] & 0x0f;  // multicast
    if (policy_of(all).label == 4) {
        const bool is_loopback = all[12] == 127;
        const bool is_auto_configured = all[12] == 169 && all[13] == 254;
        return is_loopback || is_auto_configured ? link_local : global;
    }
    if (policy_of(all).precedence == 50) return link_local;  // ::1
    if (all[0] == 0xfe && (all[1] & 0xc0) == 0x80) return link_local;
    if (all[0] == 0xfe && (all[1] & 0xc0) == 0xc0) return site_local;
    return global;
}

// What the rules compare.
struct rank {
    bool is_unusable;     // rule 1
    bool scopes_differ;   // rule 2
    bool labels_differ;   // rule 5
    int less_precedence;  // rule 6, negated
    int scope;            // rule 8
    bool is_v6;
    int less_common;  // rule 9, negated

    // Whether it goes first.
    [[nodiscard]] bool operator<(const rank& other) const noexcept {
        const auto common = [](const rank& of) {
            return std::tuple{of.is_unusable, of.scopes_differ, of.labels_differ,
                              of.less_precedence, of.scope};
        };
        if (common(*this) != common(other)) return common(*this) < common(other);
        return is_v6 && other.is_v6 && less_common < other.less_common;
    }
};

rank rank_of(const destination& of) noexcept {
    const bytes to = bytes_of(of.to);
    rank made{.is_unusable = !of.from,
              .scopes_differ = true,
              .labels_differ = true,
              .less_precedence = -policy_of(to).precedence,
              .scope = scope_of(to),
              .is_v6 = of.to.is_v6(),
              .less_common = 0};
    if (of.from) {
        const bytes from = bytes_of(*of.from);
        made.scopes_differ = scope_of(to) != scope_of(from);
        made.labels_differ = policy_of(to).label != policy_of(from).label;
        made.less_common = -common_bits(to, from);
    }
    return made;
}

// From where the system would send to it. A socket of datagrams is bound by `connect`, and sends
// nothing.
std::optional<io::address> source_of(const io::address& to) noexcept {
    const os::unique_fd probe{
        ::socket(to.data()->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, IPPROTO_UDP)};
    if (!probe.valid()) return std::nullopt;
    io::address somewhere = to;
    if (::connect(probe.get(), somewhere.data(), somewhere.size()) != 0) return std::nullopt;
    sockaddr_storage from{};
    socklen_t size = sizeof(from);
    if (::getsockname(probe.get(), reinterpret_cast<sockaddr*>(&from), &size) != 0) {
        return std::nullopt;
    }
    return io::address{reinterpret_cast<const sockaddr*>(&from), size};
}

}  // namespace

void sort(std::vector<destination>& all) {
    std::vector<std::pair<rank, destination>> ranked;
    ranked.reserve(all.size());
    for (const destination& each : all) ranked.emplace_back(rank_of(each), each);
    std::ranges::stable_sort(
        ranked, [](const auto& one, const auto& other) { return one.first < other.first; });
    for (std::size_t i = 0; i != all.size(); ++i) all[i] = ranked[i].second;
}

void sort_by_system(std::vector<io::address>& all) {
    if (all.size() < 2) return;
    std::vector<destination> found;
    found.reserve(all.size());
    for (const io::address& each : all) found.push_back({each, source_of(each)});
    sort(found);
    for (std::size_t i = 0; i != all.size(); ++i) all[i] = found[i].to;
}

}  // namespace fairlead::dns
