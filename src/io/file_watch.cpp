#include <fairlead/io/file_watch.hpp>

#include <fairlead/coro/adapted_wait.hpp>
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/blocking.hpp>
#include <fairlead/detail/io/errors.hpp>
#include <fairlead/detail/io/system_turn.hpp>
#include <fairlead/io/watch.hpp>
#include <fairlead/os/unique_fd.hpp>
#include <fairlead/sched/scheduler.hpp>

#include "io/inotify_queue.hpp"

#include <linux/magic.h>
#include <poll.h>
#include <sys/inotify.h>
#include <sys/vfs.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <utility>

namespace fairlead::io {

using detail::code_of;
using detail::system_error;

namespace {

std::uint32_t mask_of(const file_watch_options& options) noexcept {
    std::uint32_t mask = 0;
    if (options.names) mask |= IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_MOVE_SELF;
    if (options.written) mask |= IN_CLOSE_WRITE;
    if (options.each_write) mask |= IN_MODIFY;
    if (options.attributes) mask |= IN_ATTRIB;
    return mask;
}

// Whether the kernel takes a watch of a file there, and then does not tell what changes.
bool keeps_silent(const struct statfs& of, bool is_shared_known) noexcept {
    switch (static_cast<std::uint32_t>(of.f_type)) {
        case PROC_SUPER_MAGIC:
            return true;
        case NFS_SUPER_MAGIC:
        case SMB_SUPER_MAGIC:
        case CIFS_SUPER_MAGIC:
        case SMB2_SUPER_MAGIC:
        case AFS_SUPER_MAGIC:
        case AFS_FS_MAGIC:
        case CODA_SUPER_MAGIC:
        case CEPH_SUPER_MAGIC:
        case V9FS_MAGIC:
            return !is_shared_known;
        default:
            return false;
    }
}

// The number of the watch, or an error of the system. On a thread.
std::expected<int, int> add_now(int to, const std::string& path,
                                const file_watch_options& options) {
    if (path.contains('\0')) return std::unexpected{EINVAL};
    struct statfs known {};
    while (::statfs(path.c_str(), &known) != 0) {
        if (errno != EINTR) return std::unexpected{errno};
    }
    if (keeps_silent(known, options.shared)) return std::unexpected{EOPNOTSUPP};
    const int made = ::inotify_add_watch(to, path.c_str(), mask_of(options));
    if (made < 0) return std::unexpected{errno};
    return made;
}

}  // namespace

struct file_watch::state {
    explicit state(watch of) noexcept : waits{std::move(of)}, queue{waits.fd()} {}

    watch waits;  // has the descriptor
    inotify_queue queue;
};

file_watch::file_watch(std::unique_ptr<state> made) noexcept : state_{std::move(made)} {}
file_watch::file_watch(file_watch&&) noexcept = default;
file_watch& file_watch::operator=(file_watch&&) noexcept = default;
file_watch::~file_watch() = default;

void file_watch::close() noexcept { state_.reset(); }

std::expected<file_watch, std::error_code> file_watch::make(epoll_driver& driver) {
    os::unique_fd made{::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)};
    if (!made.valid()) return detail::last_failure();
    auto waits = watch::make(driver, std::move(made));
    if (!waits) return std::unexpected{waits.error()};
    return file_watch{std::make_unique<state>(std::move(*waits))};
}

task<std::expected<watched_id, std::error_code>> file_watch::add(std::string path,
                                                                 file_watch_options options) {
    if (!is_open()) co_return std::unexpected{system_error(EBADF)};
    const int to = state_->waits.fd();
    const auto call = [&] { return add_now(to, path, options); };
    const auto added = co_await as_result(blocking(std::ref(call)));
    if (!added) co_return std::unexpected{code_of(added.error())};
    if (!*added) co_return std::unexpected{system_error(added->error())};
    co_return watched_id{**added};
}

std::expected<void, std::error_code> file_watch::remove(watched_id which) {
    if (!is_open()) return std::unexpected{system_error(EBADF)};
    if (const int error = state_->queue.forget(which)) return std::unexpected{system_error(error)};
    return {};
}

task<std::expected<file_event, std::error_code>> file_watch::next(time_point deadline) {
    if (!is_open()) co_return std::unexpected{system_error(EBADF)};
    state& of = *state_;
    const scheduler& home = co_await current_scheduler();
    for (;;) {
        if (const auto ended = co_await detail::system_turn{}) {
            co_return std::unexpected{code_of(*ended)};
        }
        auto taken = of.queue.take(home.now());
        if (taken.event) co_return std::move(*taken.event);
        if (taken.error != 0) co_return std::unexpected{system_error(taken.error)};
        const auto there = co_await of.waits.until(POLLIN, std::min(deadline, taken.until));
        const bool is_decided = !there && there.error() == std::errc::timed_out;
        if (!there && !(is_decided && taken.until < deadline)) {
            co_return std::unexpected{there.error()};
        }
    }
}

}  // namespace fairlead::io
