#include "io/datagram_details.hpp"

#include <netinet/udp.h>

#include <algorithm>
#include <cstring>

namespace fairlead::io::detail {
namespace {

constexpr int mark_bits = 3;

template <class Value>
Value value_in(const cmsghdr& of) noexcept {
    Value value{};
    std::memcpy(&value, CMSG_DATA(&of), std::min(sizeof(value), of.cmsg_len - CMSG_LEN(0)));
    return value;
}

ecn_mark mark_in(int traffic_class) noexcept {
    return static_cast<ecn_mark>(traffic_class & mark_bits);
}

void set_destination(arrived_datagram& arrived, const in_pktinfo& found) noexcept {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_addr = found.ipi_addr;
    arrived.to = address{reinterpret_cast<const sockaddr*>(&to), sizeof(to)};
    arrived.interface = static_cast<unsigned>(found.ipi_ifindex);
}

void set_destination(arrived_datagram& arrived, const in6_pktinfo& found) noexcept {
    sockaddr_in6 to{};
    to.sin6_family = AF_INET6;
    to.sin6_addr = found.ipi6_addr;
    const bool is_of_link =
        IN6_IS_ADDR_LINKLOCAL(&found.ipi6_addr) || IN6_IS_ADDR_MC_LINKLOCAL(&found.ipi6_addr);
    if (is_of_link) to.sin6_scope_id = static_cast<std::uint32_t>(found.ipi6_ifindex);
    arrived.to = address{reinterpret_cast<const sockaddr*>(&to), sizeof(to)};
    arrived.interface = static_cast<unsigned>(found.ipi6_ifindex);
}

void read_detail(const cmsghdr& each, arrived_datagram& arrived) noexcept {
    if (each.cmsg_level == IPPROTO_UDP && each.cmsg_type == UDP_GRO) {
        const int size = value_in<int>(each);
        if (size > 0) arrived.segment = static_cast<std::size_t>(size);
    } else if (each.cmsg_level == IPPROTO_IP && each.cmsg_type == IP_PKTINFO) {
        set_destination(arrived, value_in<in_pktinfo>(each));
    } else if (each.cmsg_level == IPPROTO_IPV6 && each.cmsg_type == IPV6_PKTINFO) {
        set_destination(arrived, value_in<in6_pktinfo>(each));
    } else if (each.cmsg_level == IPPROTO_IP && each.cmsg_type == IP_TOS) {
        arrived.mark = mark_in(value_in<std::uint8_t>(each));
    } else if (each.cmsg_level == IPPROTO_IPV6 && each.cmsg_type == IPV6_TCLASS) {
        arrived.mark = mark_in(value_in<int>(each));
    } else if (each.cmsg_level == SOL_SOCKET && each.cmsg_type == SO_RXQ_OVFL) {
        arrived.dropped = value_in<std::uint32_t>(each);
    }
}

// Adds control messages to a message, one behind the other.
class control_writer {
public:
    explicit control_writer(sent_details& room) noexcept : room_{room} {}

    template <class Value>
    void add(int level, int type, const Value& value) noexcept {
        cmsghdr head{};
        head.cmsg_level = level;
        head.cmsg_type = type;
        head.cmsg_len = CMSG_LEN(sizeof(value));
        std::byte* const at = room_.bytes.data() + size_;
        std::memcpy(at, &head, sizeof(head));
        std::memcpy(at + CMSG_LEN(0), &value, sizeof(value));
        size_ += CMSG_SPACE(sizeof(value));
    }

    void add_source(const address& from) noexcept {
        if (from.is_v6()) {
            sockaddr_in6 known{};
            std::memcpy(&known, from.data(), sizeof(known));
            in6_pktinfo wanted{};
            wanted.ipi6_addr = known.sin6_addr;
            wanted.ipi6_ifindex = known.sin6_scope_id;
            add(IPPROTO_IPV6, IPV6_PKTINFO, wanted);
        } else if (!from.is_unix()) {
            sockaddr_in known{};
            std::memcpy(&known, from.data(), sizeof(known));
            in_pktinfo wanted{};
            wanted.ipi_spec_dst = known.sin_addr;
            add(IPPROTO_IP, IP_PKTINFO, wanted);
        }
    }

    [[nodiscard]] std::size_t size() const noexcept { return size_; }

private:
    sent_details& room_;
    std::size_t size_ = 0;
};

}  // namespace

void clear_details(arrived_datagram& arrived) noexcept {
    arrived.segment = arrived.size;
    arrived.to.reset();
    arrived.interface = 0;
    arrived.mark = ecn_mark::not_ect;
    arrived.dropped = 0;
}

void read_details(msghdr& message, arrived_datagram& arrived) noexcept {
    clear_details(arrived);
    for (cmsghdr* each = CMSG_FIRSTHDR(&message); each != nullptr;
         each = CMSG_NXTHDR(&message, each)) {
        read_detail(*each, arrived);
    }
}

void write_details(const datagram& sent, std::uint16_t segment, bool is_v6, sent_details& room,
                   msghdr& message) noexcept {
    control_writer to{room};
    if (segment != 0) to.add(IPPROTO_UDP, UDP_SEGMENT, segment);
    if (sent.from != nullptr) to.add_source(*sent.from);
    if (sent.mark != ecn_mark::not_ect) {
        // The system takes that of the version of IP by which the datagram leaves.
        const int mark = static_cast<int>(sent.mark);
        to.add(IPPROTO_IP, IP_TOS, mark);
        if (is_v6) to.add(IPPROTO_IPV6, IPV6_TCLASS, mark);
    }
    if (to.size() == 0) return;
    message.msg_control = &room;
    message.msg_controllen = to.size();
}

}  // namespace fairlead::io::detail
