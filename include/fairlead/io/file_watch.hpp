// Waits for changes of files and folders (inotify).
//
//     auto changes = fl::io::file_watch::make(fl::io::epoll_driver::of(scheduler));
//     auto folder = co_await changes->add("/etc/service");
//     auto event = co_await changes->next();
//     if (event && (event->name == "service.toml" || event->what == overflow)) reload();
//
// Watch the folder of a file, not the file: programs that save a file put a new one in its place,
// and the watch of a file goes with the old one. Folders in a folder are not watched with it.
//
// What the kernel does not tell: writes through a mapping (mmap), and changes by other machines of
// a file system that they share. Each program gets the events at its own pace. When it does not
// read them for so long that more than fs.inotify.max_queued_events are waiting (16,384), the
// kernel drops what comes then, and says so: `file_event::kind::overflow`.
#pragma once

#include <fairlead/base/time.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/io/epoll_driver.hpp>
#include <fairlead/io/file_event.hpp>

#include <expected>
#include <memory>
#include <string>
#include <system_error>

namespace fairlead::io {

/// What is told of a file or a folder.
struct file_watch_options {
    bool names = true;        ///< names that come, go and change, and moves of what is watched
    bool written = true;      ///< `written`, once for each program that has written
    bool each_write = false;  ///< `modified`: equal ones in a row are told once
    bool attributes = false;  ///< `attributes`
    /// Also on a file system of a network, where only changes by this machine are told.
    bool shared = false;
};

/// Watches any number of files and folders. One task at a time waits for the next event; any task
/// may add and remove meanwhile.
class file_watch {
public:
    /// For how long the second half of a move is awaited, when the queue ends behind the first one:
    /// so much later comes a `moved_out`.
    static constexpr duration move_patience = std::chrono::milliseconds{10};

    /// A `file_watch` of nothing yet. Errors: `too_many_files_open`, also for more than
    /// fs.inotify.max_user_instances (128) of one user; `function_not_supported` for a kernel
    /// without inotify; those of `watch::make`. Any thread. Throws `std::bad_alloc`.
    [[nodiscard]] static std::expected<file_watch, std::error_code> make(epoll_driver& driver);

    /// Takes over what `other` watches, which is closed then. No task may use either.
    file_watch(file_watch&& other) noexcept;
    /// The same; its own watches end.
    file_watch& operator=(file_watch&& other) noexcept;
    /// Ends all watches. No task may wait: that is asserted.
    ~file_watch();

    /// Watches what is at `path` from now on: what a symbolic link leads to. The same file again
    /// gives the same number, and from then on `options` are those of the second call. The system
    /// may have to read a disk, so a thread does it, as with `file::open`. Errors:
    /// `no_such_file_or_directory`, `permission_denied` and the rest of those of a path;
    /// `no_space_on_device` for more than fs.inotify.max_user_watches; `operation_not_supported`
    /// for /proc, where nothing would be told, and for file systems of a network without
    /// `options.shared`; `invalid_argument` if nothing is to be told; `operation_canceled`,
    /// `stream_timeout` before it has begun. After an error nothing is watched.
    [[nodiscard]] task<std::expected<watched_id, std::error_code>> add(
        std::string path, file_watch_options options = {});

    /// Watches it no longer: no event of it is told afterwards. Errors: `invalid_argument` if it
    /// has ended. Any thread. Throws `std::bad_alloc`; then it is watched still.
    std::expected<void, std::error_code> remove(watched_id which);

    /// The next event, in the order in which they happened. Errors: `timed_out`,
    /// `operation_canceled`, `stream_timeout`, as of a stream; those of read. No event is lost by
    /// an error. On the scheduler of the driver. Allocates a frame, and long names.
    [[nodiscard]] task<std::expected<file_event, std::error_code>> next(
        time_point deadline = never);

    /// Ends all watches. No task may use it. Later calls give `bad_file_descriptor`.
    void close() noexcept;
    /// Whether it can be used: not after `close`, nor after it was moved from.
    [[nodiscard]] bool is_open() const noexcept { return state_ != nullptr; }

private:
    struct state;

    explicit file_watch(std::unique_ptr<state> made) noexcept;

    std::unique_ptr<state> state_;  // tasks refer to it
};

}  // namespace fairlead::io
