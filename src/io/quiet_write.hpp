// Writes that raise no SIGPIPE.
#pragma once

#include "io/socket_calls.hpp"

#include <signal.h>
#include <sys/uio.h>

#include <cerrno>
#include <cstddef>
#include <span>

namespace fairlead::io {

// The kernel sends the signal to the thread that writes. So the thread blocks it, writes, and takes
// it back before it lets the signal through again. Another SIGPIPE for the process, which was sent
// by a program, stays: the kernel gives a thread its own signals first.
class sigpipe_block {
public:
    sigpipe_block() noexcept;
    sigpipe_block(const sigpipe_block&) = delete;
    sigpipe_block& operator=(const sigpipe_block&) = delete;
    ~sigpipe_block();

    // A call has failed with EPIPE.
    void take_back() noexcept;

private:
    sigset_t pipe_;
    sigset_t before_;
    bool was_blocked_ = false;
    // A signal that waited already is the program's, and the kernel keeps no second one beside it.
    bool was_pending_ = false;
};

// The result of `call`, which is repeated when it was interrupted; an error is negated. It raises
// no SIGPIPE.
template <class Call>
std::ptrdiff_t without_sigpipe(Call call) noexcept {
    sigpipe_block blocked;
    const std::ptrdiff_t count = repeated(call);
    if (count == -EPIPE) blocked.take_back();
    return count;
}

/// Writes to descriptors that are no sockets. One task at a time.
class quiet_writer {
public:
    /// Writes some of `parts` to `fd`: how many bytes, or an error, negated. Interrupted calls are
    /// repeated. A descriptor without a reader gives -EPIPE, and the signal of it is never seen.
    [[nodiscard]] std::ptrdiff_t write(int fd, std::span<const iovec> parts) noexcept;

private:
    bool kernel_can_ = true;  // until it has said that it cannot
};

}  // namespace fairlead::io
