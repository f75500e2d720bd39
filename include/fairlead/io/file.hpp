// Files as coroutines: no call keeps a worker waiting for a disk.
//
//     const fl::io::open_options appends{.use = fl::io::file_use::write, .create = true};
//     auto log = co_await fl::io::file::open("events.log", appends);
//     co_await log->write_at(bytes, end);
//     co_await log->sync();
//
// A read or a write is tried within the step (RWF_NOWAIT): what is in the page cache costs no more
// than the system call. What would wait for the disk goes to the io_uring of the `epoll_driver`, if
// the kernel gives one, or else to a thread, as `fl::blocking` does.
//
// Results are `std::expected<..., std::error_code>`. The errors are those of the system, and
//     std::errc::operation_canceled   the task was asked to stop first
//     std::errc::stream_timeout       a deadline of the task's context has passed first
// A stop or a deadline ends an operation only before it has begun, between two pieces of 256 KiB,
// or if the io_uring gives it up: the kernel does not give up the work of a disk. So buffers must
// stay until the await ends, and no operation has a deadline of its own.
//
// Any number of tasks, on any schedulers, may use one file at the same time, but for `close`. Each
// operation allocates a frame.
#pragma once

#include <fairlead/coro/task.hpp>
#include <fairlead/os/unique_fd.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <span>
#include <string>
#include <system_error>

namespace fairlead::io {

/// What a file is opened for.
enum class file_use : std::uint8_t { read, write, read_write };

/// How a file is opened.
struct open_options {
    file_use use = file_use::read;  ///< what it is opened for
    bool create = false;            ///< make the file if there is none
    bool must_be_new = false;       ///< with `create`: `file_exists` if there is one
    bool truncate = false;          ///< forget what is in it
    bool direct = false;            ///< past the page cache; the system asks for aligned buffers
    unsigned permissions = 0644;    ///< of a file that is made, less the process's umask
};

/// What `sync` makes durable.
enum class sync_kind : std::uint8_t {
    data,  ///< the bytes, and the size if it has changed (fdatasync)
    all,   ///< also times and permissions (fsync)
};

/// What the system knows of a file.
struct file_status {
    std::uint64_t size = 0;  ///< in bytes
    /// When its content was changed last, by the clock of the system.
    std::chrono::sys_time<std::chrono::nanoseconds> modified;
    unsigned permissions = 0;  ///< the lowest twelve bits of its mode
};

/// How a part of a file will be used.
enum class file_advice : std::uint8_t { normal, sequential, random, will_need, will_not_need };

/// An open file: a regular one or a block device. Closed when destroyed, on the spot; `close` tells
/// of an error and keeps no worker.
class file {
public:
    /// Opens the file at `path`. A directory gives `is_a_directory`; a pipe or a terminal gives
    /// `invalid_argument`; a socket, or a pipe to write that has no reader, gives
    /// `no_such_device_or_address`.
    [[nodiscard]] static task<std::expected<file, std::error_code>> open(std::string path,
                                                                         open_options options = {});

    /// Takes over an open file. Throws `std::bad_alloc`.
    [[nodiscard]] static file adopt(os::unique_fd opened);

    /// Takes over the file of `other`, which is not open then. Operations that are under way go on.
    file(file&& other) noexcept;
    /// The same; its own file is closed. No operation of that may be under way.
    file& operator=(file&& other) noexcept;
    ~file();

    /// Reads from `offset` on until `buffer` is full or the file ends. Gives how many bytes: fewer
    /// than asked for only at the end of the file. An offset above 2^63 - 1 gives
    /// `invalid_argument`, here and in `write_at`.
    [[nodiscard]] task<std::expected<std::size_t, std::error_code>> read_at(
        std::span<std::byte> buffer, std::uint64_t offset);

    /// Writes all of `data` at `offset`; the file grows if it ends before. After an error, a part
    /// of `data` may have been written.
    [[nodiscard]] task<std::expected<void, std::error_code>> write_at(
        std::span<const std::byte> data, std::uint64_t offset);

    /// Returns when what was written before is durable. After a failure the system may have
    /// forgotten what was to be written, and a second call would succeed without it: so the file
    /// keeps the error, and each later `sync` and `write_at` gives it again. Write a new file.
    /// Those that sync at the same time do so one after the other, each on its thread.
    [[nodiscard]] task<std::expected<void, std::error_code>> sync(sync_kind kind = sync_kind::data);

    /// What the system knows of it now.
    [[nodiscard]] task<std::expected<file_status, std::error_code>> status();

    /// Makes the file `size` bytes long; new bytes are 0.
    [[nodiscard]] task<std::expected<void, std::error_code>> truncate(std::uint64_t size);

    /// Tells the system how `size` bytes from `offset` on will be used; 0: up to the end.
    [[nodiscard]] task<std::expected<void, std::error_code>> advise(file_advice advice,
                                                                    std::uint64_t offset = 0,
                                                                    std::uint64_t size = 0);

    /// Closes it, while no other operation is under way. Errors: those of close; the file is closed
    /// all the same, unless the task was asked to stop before.
    [[nodiscard]] task<std::expected<void, std::error_code>> close();

    /// Whether it is open: not after `close`, nor after it was moved from.
    [[nodiscard]] bool is_open() const noexcept;
    /// The descriptor, for what is not here. The file still owns it. -1 when it is closed.
    [[nodiscard]] int native_handle() const noexcept;

private:
    struct state;

    explicit file(std::unique_ptr<state> opened) noexcept;

    std::unique_ptr<state> state_;  // stays in its place when the file is moved
};

}  // namespace fairlead::io
