#include "io/child.hpp"

#include <fairlead/detail/io/errors.hpp>
#include <fairlead/detail/os/thread.hpp>

#include <signal.h>
#include <sys/eventfd.h>
extern "C" {  // which glibc 2.36 forgets
#include <sys/pidfd.h>
}

#include <cerrno>
#include <mutex>
#include <new>

namespace fairlead::io {
namespace {

bool is_shortage(int error) noexcept {
    return error == EMFILE || error == ENFILE || error == ENOMEM || error == ENODEV;
}

exit_status status_of(const siginfo_t& told) noexcept {
    if (told.si_code == CLD_EXITED) return exit_status::of_code(told.si_status);
    return exit_status::of_signal(told.si_status, told.si_code == CLD_DUMPED);
}

}  // namespace

int child::watch_end(pid_t id) noexcept {
    id_ = id;
    ended_ = os::unique_fd{::pidfd_open(id_, 0)};
    if (!ended_.valid() && is_shortage(errno)) return errno;
    by_pidfd_ = ended_.valid();
    siginfo_t told{};
    // A kernel may know pidfds and not how to wait for one; and where the program itself takes the
    // status of each child, the number may have become another process's before it was opened.
    if (by_pidfd_ && wait_for(told, WEXITED | WNOHANG | WNOWAIT) == 0) return 0;
    by_pidfd_ = false;
    ended_ = os::unique_fd{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    if (!ended_.valid()) return errno;
    try {
        return start_keeper().value();
    } catch (const std::bad_alloc&) {
        return ENOMEM;
    }
}

// 0, or an error of the system. After 0, `si_pid` is 0 if nothing is to be told.
int child::wait_for(siginfo_t& into, int how) const noexcept {
    for (;;) {
        const int failed = by_pidfd_
                               ? ::waitid(P_PIDFD, static_cast<id_t>(ended_.get()), &into, how)
                               : ::waitid(P_PID, static_cast<id_t>(id_), &into, how);
        if (failed == 0) return 0;
        if (errno != EINTR) return errno;
    }
}

std::optional<child::outcome> child::take_status_locked() noexcept {
    if (status_) return status_;
    siginfo_t told{};
    if (const int error = wait_for(told, WEXITED | WNOHANG)) {
        status_.emplace(std::unexpected{detail::system_error(error)});
    } else if (told.si_pid != 0) {
        status_.emplace(status_of(told));
    }
    return status_;
}

std::optional<child::outcome> child::take_status() noexcept {
    const std::lock_guard lock{mutex_};
    return take_status_locked();
}

// Whether its number is still its own: other code may have taken its status.
bool child::is_there_locked() const noexcept {
    siginfo_t told{};
    return !status_ && wait_for(told, WEXITED | WNOHANG | WNOWAIT) == 0;
}

int child::send(int signal) noexcept {
    const std::lock_guard lock{mutex_};
    if (!is_there_locked()) return ESRCH;
    if (by_pidfd_ && !leads_group_) {
        return ::pidfd_send_signal(ended_.get(), signal, nullptr, 0) == 0 ? 0 : errno;
    }
    return ::kill(leads_group_ ? -id_ : id_, signal) == 0 ? 0 : errno;
}

std::error_code child::start_keeper() {
    auto started = os::start_thread("child", [self = shared_from_this()] { self->keep(); });
    if (!started) return started.error();
    started->detach();
    has_keeper_ = true;
    return {};
}

void child::keep() noexcept {
    siginfo_t told{};
    static_cast<void>(wait_for(told, WEXITED | WNOWAIT));  // an error is told as an end, below
    const std::lock_guard lock{mutex_};
    if (!by_pidfd_) static_cast<void>(!::eventfd_write(ended_.get(), 1));
    if (is_given_up_) static_cast<void>(take_status_locked());
}

std::error_code child::give_up() {
    const std::lock_guard lock{mutex_};
    if (take_status_locked()) return {};
    if (!has_keeper_) {
        if (const std::error_code failed = start_keeper()) return failed;
    }
    is_given_up_ = true;
    return {};
}

void child::kill_and_give_up() noexcept {
    const int not_sent = send(SIGKILL);
    try {
        if (!give_up()) return;
    } catch (const std::bad_alloc&) {
        // The same as no thread.
    }
    if (not_sent != 0) return;  // it would be waited for without an end
    siginfo_t told{};
    static_cast<void>(wait_for(told, WEXITED | WNOWAIT));
    static_cast<void>(take_status());
}

}  // namespace fairlead::io
