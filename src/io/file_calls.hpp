// Calls of the system on files, which may wait for a disk: for a thread that may block.
#pragma once

#include <fairlead/detail/io/errors.hpp>
#include <fairlead/io/file.hpp>
#include <fairlead/os/unique_fd.hpp>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace fairlead::io::file_calls {

using detail::system_error;

// What a call on a thread gives: an error of the system, or 0.
using system_result = int;

inline std::expected<void, std::error_code> done_or(system_result error) {
    if (error != 0) return std::unexpected{system_error(error)};
    return {};
}

template <class Call>
int without_interrupts(Call call) {
    for (;;) {
        if (call() == 0) return 0;
        if (errno != EINTR) return errno;
    }
}

inline int flags_of(const open_options& options) {
    int flags = O_CLOEXEC | O_NOCTTY | O_NONBLOCK;  // a pipe must not keep the thread
    switch (options.use) {
        case file_use::read:
            flags |= O_RDONLY;
            break;
        case file_use::write:
            flags |= O_WRONLY;
            break;
        case file_use::read_write:
            flags |= O_RDWR;
            break;
    }
    if (options.create) flags |= O_CREAT;
    if (options.create && options.must_be_new) flags |= O_EXCL;
    if (options.truncate) flags |= O_TRUNC;
    if (options.direct) flags |= O_DIRECT;
    return flags;
}

// Not valid, with errno: it cannot be opened. `folder`: from where a relative path leads.
inline os::unique_fd open_fd(const std::string& path, int flags, unsigned permissions = 0,
                             int folder = AT_FDCWD) {
    for (;;) {
        os::unique_fd opened{::openat(folder, path.c_str(), flags, permissions)};
        if (opened.valid() || errno != EINTR) return opened;
    }
}

inline std::expected<os::unique_fd, int> open_now(const std::string& path, int flags,
                                                  unsigned permissions) {
    if (path.contains('\0')) return std::unexpected{EINVAL};
    os::unique_fd opened = open_fd(path, flags, permissions);
    if (!opened.valid()) return std::unexpected{errno};
    struct stat known {};
    if (::fstat(opened.get(), &known) != 0) return std::unexpected{errno};
    if (S_ISDIR(known.st_mode)) return std::unexpected{EISDIR};
    if (!S_ISREG(known.st_mode) && !S_ISBLK(known.st_mode)) return std::unexpected{EINVAL};
    return opened;
}

struct transferred {
    std::size_t count = 0;
    int error = 0;
};

// Until all is read, or the file ends. On a thread.
inline transferred read_now(int fd, std::span<std::byte> buffer, std::uint64_t offset) {
    transferred all;
    while (all.count != buffer.size()) {
        const auto rest = buffer.subspan(all.count);
        const ssize_t count =
            ::pread(fd, rest.data(), rest.size(), static_cast<off_t>(offset + all.count));
        if (count == 0) break;
        if (count > 0) {
            all.count += static_cast<std::size_t>(count);
        } else if (errno != EINTR) {
            all.error = errno;
            break;
        }
    }
    return all;
}

inline system_result write_now(int fd, std::span<const std::byte> data, std::uint64_t offset) {
    while (!data.empty()) {
        const ssize_t count = ::pwrite(fd, data.data(), data.size(), static_cast<off_t>(offset));
        if (count > 0) {
            data = data.subspan(static_cast<std::size_t>(count));
            offset += static_cast<std::uint64_t>(count);
        } else if (count == 0) {
            return ENOSPC;  // a device that has ended
        } else if (errno != EINTR) {
            return errno;
        }
    }
    return 0;
}

}  // namespace fairlead::io::file_calls
