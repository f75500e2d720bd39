// A child process, from its start until its status was taken from the system.
//
// 1. The status is taken once, under the mutex. Until then the system gives the number of the child
//    to no other process, so a signal that is sent under the mutex, before that, reaches the child.
// 2. `ended` is readable from the end of the child on: a pidfd; or, where there are none, an
//    eventfd that the keeper writes.
// 3. The status of a child that was given up is taken by a keeper, a thread; the keeper of a child
//    without a pidfd starts with it. Two threads, both under the mutex:
//        the keeper, after the end           give_up
//        1. tells of the end                 1. takes the status, if the child has ended
//        2. takes the status, if given up    2. else says that the child was given up
//    The second thread sees what the first has done, so exactly one of them takes the status.
#pragma once

#include <fairlead/detail/sync/mutex.hpp>
#include <fairlead/io/exit_status.hpp>
#include <fairlead/os/unique_fd.hpp>

#include <sys/types.h>
#include <sys/wait.h>

#include <expected>
#include <memory>
#include <optional>
#include <system_error>

namespace fairlead::io {

class child : public std::enable_shared_from_this<child> {
public:
    using outcome = std::expected<exit_status, std::error_code>;

    explicit child(bool leads_group) noexcept : leads_group_{leads_group} {}

    // It is the process `id`. Makes `ended`. 0, or an error of the system. Once, before all else.
    [[nodiscard]] int watch_end(pid_t id) noexcept;

    [[nodiscard]] pid_t id() const noexcept { return id_; }
    [[nodiscard]] int ended() const noexcept { return ended_.get(); }

    // How it has ended; none: it has not. Any thread.
    [[nodiscard]] std::optional<outcome> take_status() noexcept;
    // 0, or an error of the system. Any thread.
    [[nodiscard]] int send(int signal) noexcept;
    // Sends SIGKILL, and sees to it that the status is taken. The caller forgets the child.
    void kill_and_give_up() noexcept;
    // The same without the signal. An error: it was not given up.
    [[nodiscard]] std::error_code give_up();

private:
    [[nodiscard]] std::optional<outcome> take_status_locked() noexcept;
    [[nodiscard]] bool is_there_locked() const noexcept;
    [[nodiscard]] int wait_for(siginfo_t& into, int how) const noexcept;
    [[nodiscard]] std::error_code start_keeper();
    void keep() noexcept;

    // Not changed after `watch_end`:
    pid_t id_ = 0;
    const bool leads_group_;
    bool by_pidfd_ = false;
    os::unique_fd ended_;

    sync::mutex mutex_;
    // Guarded by mutex_:
    std::optional<outcome> status_;
    bool is_given_up_ = false;
    bool has_keeper_ = false;
};

}  // namespace fairlead::io
