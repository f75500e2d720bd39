#include <fairlead/io/tcp.hpp>

#include <fairlead/coro/adapted_wait.hpp>
#include <fairlead/coro/awaits.hpp>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace fairlead::io {
namespace {

std::error_code system_error(int error) noexcept { return {error, std::system_category()}; }

std::unexpected<std::error_code> last_failure() noexcept {
    return std::unexpected{system_error(errno)};
}

bool would_block(int error) noexcept { return error == EAGAIN || error == EWOULDBLOCK; }

// There is no room for another descriptor now, but there may be later.
bool out_of_descriptors(int error) noexcept {
    return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

// There is no memory to watch another descriptor, or too many are watched.
bool out_of_watches(int error) noexcept { return error == ENOMEM || error == ENOSPC; }

// accept4 also reports errors of the connection that it would have returned: those of the peer.
bool peers_fault(int error) noexcept {
    switch (error) {
        case ECONNABORTED:
        case EPROTO:
        case ENETDOWN:
        case ENOPROTOOPT:
        case EHOSTDOWN:
        case ENONET:
        case EHOSTUNREACH:
        case EOPNOTSUPP:
        case ENETUNREACH:
        case ETIMEDOUT:
        case ECONNRESET:
            return true;
        default:
            return false;
    }
}

std::errc code_of(wait_error why) noexcept {
    if (why == wait_error::stopped) return std::errc::operation_canceled;
    return why == wait_error::overdue ? std::errc::stream_timeout : std::errc::timed_out;
}

// False: it is no socket. A socket without the option works all the same.
bool set_flag(int fd, int level, int option, bool on) noexcept {
    const int value = on ? 1 : 0;
    return ::setsockopt(fd, level, option, &value, sizeof(value)) == 0 || errno != ENOTSOCK;
}

template <int (*Get)(int, sockaddr*, socklen_t*)>
std::expected<address, std::error_code> address_of(int fd) noexcept {
    sockaddr_storage storage{};
    socklen_t size = sizeof(storage);
    if (Get(fd, reinterpret_cast<sockaddr*>(&storage), &size) != 0) return last_failure();
    return address{reinterpret_cast<const sockaddr*>(&storage), size};
}

int local_name(int fd, sockaddr* to, socklen_t* size) noexcept {
    return ::getsockname(fd, to, size);
}
int peer_name(int fd, sockaddr* to, socklen_t* size) noexcept {
    return ::getpeername(fd, to, size);
}

os::unique_fd make_socket(int family) noexcept {
    return os::unique_fd{::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
}

}  // namespace

// --- operations ----------------------------------------------------------------------------------

namespace detail {

std::error_code waiting_operation::cut_short() const noexcept {
    return std::make_error_code(code_of(bottom_->ends_waits().value_or(wait_error::expired)));
}

void waiting_operation::check_driver(const coro::root& bottom) const noexcept {
    FAIRLEAD_ASSERT(&bottom.home().driver() == &on_.driver(),
                    "a stream is used on another scheduler than it was made for");
}

bool read_operation::attempt() noexcept {
    if (buffer_.empty()) {
        error_ = 0;
        return true;
    }
    for (;;) {
        const ssize_t count = ::recv(on_.fd(), buffer_.data(), buffer_.size(), MSG_DONTWAIT);
        if (count >= 0) {
            size_ = static_cast<std::size_t>(count);
            // An end stays readable.
            drained_ = count != 0 && size_ < buffer_.size() && on_.short_read_is_last();
            error_ = 0;
            return true;
        }
        if (errno == EINTR) continue;
        drained_ = false;
        if (would_block(errno)) return false;
        error_ = errno;
        return true;
    }
}

std::expected<std::size_t, std::error_code> read_operation::await_resume() const noexcept {
    if (error_ == 0) return size_;
    // A deadline or a stop ended the wait: an edge may have come without an attempt after it.
    if (error_ < 0) drained_ = false;
    return std::unexpected{error_ > 0 ? system_error(error_) : cut_short()};
}

bool write_operation::attempt() noexcept {
    while (!rest_.empty()) {
        const ssize_t count =
            ::send(on_.fd(), rest_.data(), rest_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (count >= 0) {
            rest_ = rest_.subspan(static_cast<std::size_t>(count));
            continue;
        }
        if (errno == EINTR) continue;
        if (would_block(errno)) return false;
        error_ = errno;
        return true;
    }
    error_ = 0;
    return true;
}

std::expected<void, std::error_code> write_operation::await_resume() const noexcept {
    if (error_ == 0) return {};
    return std::unexpected{error_ > 0 ? system_error(error_) : cut_short()};
}

bool connect_operation::attempt() noexcept {
    // Writable, or failed: SO_ERROR is 0 in the first case, but also while it still connects.
    int error = 0;
    socklen_t size = sizeof(error);
    if (::getsockopt(on_.fd(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
    if (error == 0) {
        const auto peer = address_of<peer_name>(on_.fd());
        if (!peer && peer.error().value() == ENOTCONN) return false;
        // The state of the connection is unknown, and no further edge need come to ask again.
        if (!peer) error = peer.error().value();
    }
    error_ = error;
    return true;
}

std::expected<void, std::error_code> connect_operation::await_resume() const noexcept {
    if (error_ == 0) return {};
    return std::unexpected{error_ > 0 ? system_error(error_) : cut_short()};
}

bool accept_operation::attempt() noexcept {
    for (;;) {
        accepted_ =
            os::unique_fd{::accept4(on_.fd(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)};
        if (accepted_.valid()) {
            error_ = 0;
            return true;
        }
        if (errno == EINTR || peers_fault(errno)) continue;
        if (would_block(errno)) return false;
        if (out_of_descriptors(errno)) starved_.add();
        error_ = errno;
        return true;
    }
}

std::expected<os::unique_fd, std::error_code> accept_operation::await_resume() noexcept {
    if (error_ == 0) return std::move(accepted_);
    return std::unexpected{error_ > 0 ? system_error(error_) : cut_short()};
}

}  // namespace detail

// --- streams -------------------------------------------------------------------------------------

std::expected<tcp_stream, std::error_code> tcp_stream::adopt(epoll_driver& driver,
                                                             os::unique_fd connected,
                                                             stream_options options) {
    set_flag(connected.get(), IPPROTO_TCP, TCP_NODELAY, options.no_delay);
    if (!set_flag(connected.get(), SOL_SOCKET, SO_KEEPALIVE, options.keep_alive)) {
        return last_failure();
    }
    auto socket = descriptor::make(driver, std::move(connected));
    if (!socket) return std::unexpected{socket.error()};
    return tcp_stream{std::move(*socket)};
}

task<std::expected<tcp_stream, std::error_code>> tcp_stream::connect(address peer,
                                                                     time_point deadline,
                                                                     stream_options options) {
    scheduler& home = co_await current_scheduler();
    os::unique_fd fd = make_socket(peer.data()->sa_family);
    if (!fd.valid()) co_return last_failure();
    // An interrupted connect goes on in the kernel, as a connect in progress does.
    const int started = ::connect(fd.get(), peer.data(), peer.size());
    const bool in_progress = started != 0 && (errno == EINPROGRESS || errno == EINTR);
    if (started != 0 && !in_progress) co_return last_failure();
    auto stream = adopt(epoll_driver::of(home), std::move(fd), options);
    if (!stream) co_return std::unexpected{stream.error()};
    if (in_progress) {
        const auto connected = co_await detail::connect_operation{stream->socket_, deadline};
        if (!connected) co_return std::unexpected{connected.error()};
    }
    co_return std::move(*stream);
}

std::expected<void, std::error_code> tcp_stream::shutdown_send() noexcept {
    if (::shutdown(socket_.fd(), SHUT_WR) != 0) return last_failure();
    return {};
}

std::expected<void, std::error_code> tcp_stream::shutdown_receive() noexcept {
    if (::shutdown(socket_.fd(), SHUT_RD) != 0) return last_failure();
    return {};
}

std::expected<address, std::error_code> tcp_stream::local_address() const noexcept {
    return address_of<local_name>(socket_.fd());
}

std::expected<address, std::error_code> tcp_stream::peer_address() const noexcept {
    return address_of<peer_name>(socket_.fd());
}

// --- listeners -----------------------------------------------------------------------------------

std::expected<tcp_listener, std::error_code> tcp_listener::bind(scheduler& home,
                                                                const address& where,
                                                                listener_options options) {
    os::unique_fd fd = make_socket(where.data()->sa_family);
    if (!fd.valid()) return last_failure();
    set_flag(fd.get(), SOL_SOCKET, SO_REUSEADDR, options.reuse_address);
    if (where.is_v6()) set_flag(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, options.v6_only);
    if (::bind(fd.get(), where.data(), where.size()) != 0) return last_failure();
    if (::listen(fd.get(), options.backlog) != 0) return last_failure();
    auto socket = descriptor::make(epoll_driver::of(home), std::move(fd));
    if (!socket) return std::unexpected{socket.error()};
    return tcp_listener{std::move(*socket), options};
}

task<std::expected<tcp_stream, std::error_code>> tcp_listener::accept(time_point deadline) {
    scheduler& home = co_await current_scheduler();
    for (;;) {
        auto fd = co_await detail::accept_operation{socket_, starved_, deadline};
        if (fd) {
            auto peer = tcp_stream::adopt(epoll_driver::of(home), std::move(*fd), options_.stream);
            if (peer || !out_of_watches(peer.error().value())) co_return peer;
            starved_.add();  // closed; there may be memory for the next connection
        } else if (!out_of_descriptors(fd.error().value())) {
            co_return std::unexpected{fd.error()};  // a deadline or a stop has other error numbers
        }
        // No edge comes when another part of the process frees a descriptor.
        const time_point again = std::min(deadline, after(home.now(), starved_retry));
        const auto slept = co_await as_result(sleep_until(again));
        if (!slept) {
            co_return std::unexpected{std::make_error_code(code_of(slept.error()))};
        }
        if (home.now() >= deadline) {
            co_return std::unexpected{std::make_error_code(std::errc::timed_out)};
        }
    }
}

std::expected<address, std::error_code> tcp_listener::local_address() const noexcept {
    return address_of<local_name>(socket_.fd());
}

}  // namespace fairlead::io
