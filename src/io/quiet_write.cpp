#include "io/quiet_write.hpp"

#include "io/socket_calls.hpp"

#include <pthread.h>
#include <time.h>

#include <cerrno>

namespace fairlead::io {
namespace {

constexpr int rwf_nosignal = 0x100;  // RWF_NOSIGNAL of Linux 6.18, which <linux/fs.h> may not have

}  // namespace

sigpipe_block::sigpipe_block() noexcept {
    sigset_t pending{};
    ::sigemptyset(&pipe_);
    ::sigaddset(&pipe_, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
    was_blocked_ = ::sigismember(&before_, SIGPIPE) == 1;
    was_pending_ =
        was_blocked_ && ::sigpending(&pending) == 0 && ::sigismember(&pending, SIGPIPE) == 1;
}

sigpipe_block::~sigpipe_block() {
    if (!was_blocked_) ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

void sigpipe_block::take_back() noexcept {
    constexpr timespec at_once{};
    if (was_pending_) return;
    while (::sigtimedwait(&pipe_, nullptr, &at_once) < 0 && errno == EINTR) {
    }
}

std::ptrdiff_t quiet_writer::write(int fd, std::span<const iovec> parts) noexcept {
    if (kernel_can_) {
        constexpr off_t where_it_is = -1;
        const std::ptrdiff_t count = repeated([&] {
            return ::pwritev2(fd, parts.data(), static_cast<int>(parts.size()), where_it_is,
                              rwf_nosignal);
        });
        // A device without such writes says so, too. So each descriptor is asked once.
        if (count != -EOPNOTSUPP && count != -ENOSYS) return count;
        kernel_can_ = false;
    }
    return without_sigpipe(
        [&] { return ::writev(fd, parts.data(), static_cast<int>(parts.size())); });
}

}  // namespace fairlead::io
