#include <fairlead/detail/io/datagram_operations.hpp>

#include "io/datagram_details.hpp"
#include "io/socket_calls.hpp"

#include <fairlead/io/datagram_socket.hpp>

#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <bitset>
#include <cerrno>
#include <utility>

namespace fairlead::io::detail {
namespace {

constexpr std::size_t batch_max = datagram_socket::batch_max;
constexpr std::size_t segments_max = 64;      // of one call: UDP_MAX_SEGMENTS
constexpr std::size_t datagram_max = 65'507;  // bytes, of IPv4

using abilities = datagram_abilities;

abilities::cutting cutting_of(int fd) noexcept {
    int size = 0;
    socklen_t length = sizeof(size);
    // An older kernel would take no notice of the size beside the data, and send one datagram.
    return ::getsockopt(fd, IPPROTO_UDP, UDP_SEGMENT, &size, &length) == 0
               ? abilities::cutting::works
               : abilities::cutting::refused;
}

}  // namespace

// --- receiving -----------------------------------------------------------------------------------

bool datagram_receive_operation::receive_into(std::span<arrived_datagram> into) noexcept {
    std::array<mmsghdr, batch_max> messages;
    std::array<iovec, batch_max> data;
    std::array<sockaddr_storage, batch_max> names;
    std::array<received_details, batch_max> controls;
    const std::size_t room = std::min(into.size(), batch_max);
    if (room == 0) return ended(0);
    for (std::size_t i = 0; i != room; ++i) {
        data[i] = {.iov_base = into[i].buffer.data(), .iov_len = into[i].buffer.size()};
        messages[i] = {};
        msghdr& header = messages[i].msg_hdr;
        header.msg_name = &names[i];
        header.msg_namelen = sizeof(names[i]);
        header.msg_iov = &data[i];
        header.msg_iovlen = 1;
        if (!is_detailed_) continue;  // a Unix socket would put descriptors there
        header.msg_control = &controls[i];
        header.msg_controllen = sizeof(controls[i]);
    }
    const std::ptrdiff_t count = repeated([&] {
        return ::recvmmsg(on_->native_handle(), messages.data(), static_cast<unsigned>(room),
                          MSG_DONTWAIT, nullptr);
    });
    if (count < 0) return ended(count);
    count_ = static_cast<std::size_t>(count);
    for (std::size_t i = 0; i != count_; ++i) {
        msghdr& header = messages[i].msg_hdr;
        into[i].size = messages[i].msg_len;
        into[i].is_cut = (header.msg_flags & MSG_TRUNC) != 0;
        into[i].from = {static_cast<const sockaddr*>(header.msg_name), header.msg_namelen};
        if (is_detailed_) {
            read_details(header, into[i]);
        } else {
            clear_details(into[i]);
        }
    }
    return ended(0);
}

std::expected<std::size_t, std::error_code> batch_receive_operation::await_resume() const noexcept {
    if (error_ == 0) return count_;
    return std::unexpected{ended_with(error_).error()};
}

std::expected<arrived_datagram, std::error_code> single_receive_operation::await_resume()
    const noexcept {
    if (error_ != 0) return std::unexpected{ended_with(error_).error()};
    if (one_.is_cut) return std::unexpected{system_error(EMSGSIZE)};
    return one_;
}

// --- sending -------------------------------------------------------------------------------------

// The messages of one call.
class datagram_send_operation::batch {
public:
    [[nodiscard]] bool is_full() const noexcept { return count_ == batch_max; }
    [[nodiscard]] std::size_t size_of(std::size_t index) const noexcept {
        return data_[index].iov_len;
    }
    [[nodiscard]] bool is_cut(std::size_t index) const noexcept { return are_cut_[index]; }

    // `data`: all of `what`, or a part. `segment`: what the kernel cuts it into; 0: it is one
    // datagram.
    void add(const datagram& what, std::span<const std::byte> data, std::uint16_t segment,
             bool is_v6) noexcept {
        data_[count_] = {.iov_base = const_cast<std::byte*>(data.data()), .iov_len = data.size()};
        messages_[count_] = {};
        msghdr& header = messages_[count_].msg_hdr;
        header.msg_iov = &data_[count_];
        header.msg_iovlen = 1;
        if (what.to != nullptr) {
            header.msg_name = const_cast<sockaddr*>(what.to->data());
            header.msg_namelen = what.to->size();
        }
        are_cut_[count_] = segment != 0;
        write_details(what, segment, is_v6, details_[count_], header);
        ++count_;
    }

    // How many were sent, at least one, or an error.
    [[nodiscard]] std::ptrdiff_t send(int fd) noexcept {
        return repeated(
            [&] { return ::sendmmsg(fd, messages_.data(), count_, MSG_NOSIGNAL | MSG_DONTWAIT); });
    }

private:
    std::array<mmsghdr, batch_max> messages_;
    std::array<iovec, batch_max> data_;
    std::array<sent_details, batch_max> details_;
    std::bitset<batch_max> are_cut_;
    unsigned count_ = 0;
};

// Whether the kernel cuts the datagrams of this index.
bool datagram_send_operation::may_cut(std::size_t index) noexcept {
    if (with_.segments == abilities::cutting::unknown) {
        with_.segments = cutting_of(on_->native_handle());
    }
    return with_.segments == abilities::cutting::works && index != uncut_;
}

// Whether the kernel has refused to cut, and not to send.
bool datagram_send_operation::goes_on_in_pieces(int error) noexcept {
    switch (error) {
        case EIO:  // the device makes no checksums
        case EOPNOTSUPP:
            with_.segments = abilities::cutting::refused;
            return true;
        case EINVAL:  // the segments are too long for the way, or too many
        case EMSGSIZE:
            uncut_ = sent_;
            return true;
        default:
            return false;
    }
}

bool datagram_send_operation::send_all(std::span<const datagram> all) noexcept {
    while (sent_ != all.size()) {
        batch next;
        std::size_t offset = offset_;
        for (std::size_t index = sent_; index != all.size() && !next.is_full();) {
            const datagram& each = all[index];
            std::span<const std::byte> rest = each.data.subspan(offset);
            std::uint16_t segment = each.segment;
            if (segment == 0 || rest.size() <= segment) {
                segment = 0;
            } else if (may_cut(index)) {
                // A segment that is too long is sent alone, and refused.
                const std::size_t at_once =
                    std::clamp<std::size_t>(datagram_max / segment, 1, segments_max);
                rest = rest.first(std::min(rest.size(), at_once * segment));
                if (rest.size() <= segment) segment = 0;
            } else {
                rest = rest.first(std::exchange(segment, 0));
            }
            next.add(each, rest, segment, with_.is_v6);
            offset += rest.size();
            if (offset == each.data.size()) {
                offset = 0;
                ++index;
            }
        }
        const std::ptrdiff_t count = next.send(on_->native_handle());
        if (count < 0) {
            if (next.is_cut(0) && goes_on_in_pieces(static_cast<int>(-count))) continue;
            // No edge tells of room at a receiver that is not the peer.
            if (count == -EAGAIN && !with_.tells_of_room && all[sent_].to != nullptr) {
                error_ = EAGAIN;
                return true;
            }
            return ended(count);
        }
        for (std::ptrdiff_t i = 0; i != count; ++i) {
            offset_ += next.size_of(static_cast<std::size_t>(i));
            if (offset_ != all[sent_].data.size()) continue;
            offset_ = 0;
            ++sent_;
        }
    }
    return ended(0);
}

std::expected<void, unfinished_send> batch_send_operation::await_resume() const noexcept {
    if (error_ == 0) return {};
    return std::unexpected{unfinished_send{sent_, ended_with(error_).error()}};
}

}  // namespace fairlead::io::detail
