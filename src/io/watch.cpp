#include <fairlead/io/watch.hpp>

#include <fairlead/detail/io/errors.hpp>

#include <fcntl.h>
#include <poll.h>

#include <cerrno>
#include <utility>

namespace fairlead::io {

static_assert(POLLIN == EPOLLIN && POLLOUT == EPOLLOUT && POLLPRI == EPOLLPRI &&
              POLLRDHUP == EPOLLRDHUP && POLLERR == EPOLLERR && POLLHUP == EPOLLHUP);

namespace detail {

bool ready_operation::attempt() noexcept {
    pollfd asked{.fd = fd_, .events = events_, .revents = 0};
    int count = 0;
    do {
        count = ::poll(&asked, 1, 0);
    } while (count < 0 && errno == EINTR);
    if (count < 0) {
        error_ = errno;
        return true;
    }
    if (count > 0) {
        error_ = (asked.revents & POLLNVAL) != 0 ? EBADF : 0;
        found_ = asked.revents;
        return true;
    }
    // 1. The poll finds nothing. 2. Data come. 3. This call: the kernel looks again, and tells of
    // them at once. The source remembers an event that comes before the role arms it. An event
    // that an earlier wait asked for, and did not stay for, costs one more attempt.
    const int failure = driver_.tell_once(
        fd_, entry_, static_cast<std::uint32_t>(static_cast<unsigned short>(events_)));
    if (failure == 0) return false;
    error_ = failure;
    return true;
}

std::expected<short, std::error_code> ready_operation::await_resume() const noexcept {
    if (error_ == 0) return found_;
    return std::unexpected{ended_with(error_).error()};
}

}  // namespace detail

watch::watch(watch&& other) noexcept
    : driver_{std::exchange(other.driver_, nullptr)},
      registration_{std::exchange(other.registration_, nullptr)},
      own_{std::move(other.own_)},
      fd_{std::exchange(other.fd_, -1)} {}

watch& watch::operator=(watch&& other) noexcept {
    if (this != &other) {
        end();
        driver_ = std::exchange(other.driver_, nullptr);
        registration_ = std::exchange(other.registration_, nullptr);
        own_ = std::move(other.own_);
        fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
}

std::expected<watch, std::error_code> watch::make(epoll_driver& of, int fd) {
    os::unique_fd duplicate{::fcntl(fd, F_DUPFD_CLOEXEC, 0)};
    if (!duplicate.valid()) return detail::last_failure();
    auto made = make(of, std::move(duplicate));
    if (made) made->fd_ = fd;
    return made;
}

std::expected<watch, std::error_code> watch::make(epoll_driver& of, os::unique_fd opened) {
    const auto entry = of.add(opened.get(), epoll_driver::telling::when_asked);
    if (!entry) return std::unexpected{entry.error()};
    watch made;
    made.driver_ = &of;
    made.registration_ = *entry;
    made.fd_ = opened.get();
    made.own_ = std::move(opened);
    return made;
}

void watch::end() noexcept {
    if (!valid()) return;
    registration_->readable_.close();
    registration_->writable_.close();
    driver_->remove(own_.get(), *std::exchange(registration_, nullptr));
    own_.reset();
    fd_ = -1;
}

}  // namespace fairlead::io
