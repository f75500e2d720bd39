// What the system tells beside a datagram, and is told (control messages).
#pragma once

#include <fairlead/io/datagram.hpp>

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace fairlead::io::detail {

// The control messages of one datagram. Each is aligned as its header.
template <std::size_t Size>
struct control_buffer {
    alignas(cmsghdr) std::array<std::byte, Size> bytes;
};

// Room for the length of a segment, the destination, the mark, and the count of drops.
using received_details =
    control_buffer<2 * CMSG_SPACE(sizeof(int)) + CMSG_SPACE(sizeof(in6_pktinfo)) +
                   CMSG_SPACE(sizeof(std::uint32_t))>;
// Room for the length of a segment, the source, and the mark as both versions of IP take it.
using sent_details = control_buffer<CMSG_SPACE(sizeof(std::uint16_t)) +
                                    CMSG_SPACE(sizeof(in6_pktinfo)) + 2 * CMSG_SPACE(sizeof(int))>;

// Reads the control messages of `message` into `arrived`, whose size is known. What does not come
// is as if it had not been asked for.
void read_details(msghdr& message, arrived_datagram& arrived) noexcept;

// The same for a socket with none.
void clear_details(arrived_datagram& arrived) noexcept;

// Writes those of `sent` into `room`, for `message`. `segment`: what the kernel cuts it into; 0: it
// is one datagram. `is_v6`: of the socket.
void write_details(const datagram& sent, std::uint16_t segment, bool is_v6, sent_details& room,
                   msghdr& message) noexcept;

}  // namespace fairlead::io::detail
