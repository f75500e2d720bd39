#include <fairlead/io/pipe_stream.hpp>

#include <fairlead/detail/io/errors.hpp>

#include "io/quiet_write.hpp"
#include "io/socket_calls.hpp"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <memory>
#include <string>
#include <utility>

namespace fairlead::io {

using detail::last_failure;
using detail::system_error;

namespace {

// A pipe for the operations of streams. Its sources are those of the registration, which outlives
// it: an operation that was made before the close finds them.
class pipe_end final : public network::socket {
public:
    explicit pipe_end(io::descriptor of) noexcept
        : socket{&of.driver(), of.readable(), of.writable()}, of_{std::move(of)} {
        // A terminal gives a line at a time. A pipe gives a packet at a time if its writer has
        // O_DIRECT, of which the reader's end does not tell.
        set_short_reads(true);
    }

    [[nodiscard]] std::ptrdiff_t receive(std::span<std::byte> into) noexcept override {
        return repeated([&] { return ::read(of_.fd(), into.data(), into.size()); });
    }
    [[nodiscard]] std::ptrdiff_t receive_into(
        std::span<const std::span<std::byte>> parts) noexcept override {
        const gathered to{parts, 0};
        return repeated([&] {
            return ::readv(of_.fd(), to.parts.data(), static_cast<int>(to.message.msg_iovlen));
        });
    }
    [[nodiscard]] std::ptrdiff_t send(std::span<const std::byte> data) noexcept override {
        return send_from({&data, 1}, 0);
    }
    [[nodiscard]] std::ptrdiff_t send_from(std::span<const std::span<const std::byte>> parts,
                                           std::size_t skipped) noexcept override {
        const gathered from{parts, skipped};
        return writer_.write(of_.fd(), std::span{from.parts}.first(from.message.msg_iovlen));
    }
    [[nodiscard]] int accept(socket*&, const stream_options&) noexcept override {
        return -ENOTSOCK;
    }
    [[nodiscard]] int connected() noexcept override { return -ENOTSOCK; }
    [[nodiscard]] int shutdown_send() noexcept override { return -ENOTSOCK; }
    [[nodiscard]] int shutdown_receive() noexcept override { return -ENOTSOCK; }
    void close() noexcept override { delete this; }
    [[nodiscard]] int native_handle() const noexcept override { return of_.fd(); }
    [[nodiscard]] std::expected<address, std::error_code> local_address() const noexcept override {
        return std::unexpected{system_error(ENOTSOCK)};
    }
    [[nodiscard]] std::expected<address, std::error_code> peer_address() const noexcept override {
        return std::unexpected{system_error(ENOTSOCK)};
    }

private:
    io::descriptor of_;
    quiet_writer writer_;
};

}  // namespace

std::expected<pipe_stream, std::error_code> pipe_stream::adopt(epoll_driver& driver,
                                                               os::unique_fd opened) {
    const int flags = ::fcntl(opened.get(), F_GETFL);
    if (flags < 0) return last_failure();
    if ((flags & O_NONBLOCK) == 0 && ::fcntl(opened.get(), F_SETFL, flags | O_NONBLOCK) != 0) {
        return last_failure();
    }
    auto of = descriptor::make(driver, std::move(opened));
    if (!of) return std::unexpected{of.error()};
    return pipe_stream{socket_handle{*std::make_unique<pipe_end>(std::move(*of)).release()}};
}

std::expected<pipe_stream, std::error_code> pipe_stream::adopt_again(epoll_driver& driver, int fd) {
    const int flags = ::fcntl(fd, F_GETFL);
    if (flags < 0) return last_failure();
    const std::string path = "/proc/self/fd/" + std::to_string(fd);
    const int use = (flags & O_ACCMODE) | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    os::unique_fd again;
    do {
        again = os::unique_fd{::openat(AT_FDCWD, path.c_str(), use)};
    } while (!again.valid() && errno == EINTR);
    if (!again.valid()) return last_failure();
    return adopt(driver, std::move(again));
}

std::expected<pipe_ends, std::error_code> make_pipe(epoll_driver& driver) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) return last_failure();
    os::unique_fd to_read{ends[0]};
    os::unique_fd to_write{ends[1]};
    auto reader = pipe_stream::adopt(driver, std::move(to_read));
    if (!reader) return std::unexpected{reader.error()};
    auto writer = pipe_stream::adopt(driver, std::move(to_write));
    if (!writer) return std::unexpected{writer.error()};
    return pipe_ends{std::move(*reader), std::move(*writer)};
}

}  // namespace fairlead::io
