#include "io/socket_file.hpp"

#include "io/socket_calls.hpp"

#include <fairlead/detail/io/errors.hpp>
#include <fairlead/io/unix_address.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

namespace fairlead::io {

using detail::last_failure;
using detail::system_error;

namespace {

// Valid: no other process looks for stale sockets there meanwhile.
std::expected<os::unique_fd, std::error_code> locked(std::string_view path) noexcept {
    static constexpr std::string_view ending = ".lock";
    std::array<char, unix_address::size_max + ending.size() + 1> name{};
    std::memcpy(name.data(), path.data(), path.size());
    std::memcpy(name.data() + path.size(), ending.data(), ending.size());
    os::unique_fd held{::openat(AT_FDCWD, name.data(),
                                O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600)};
    if (!held.valid()) return last_failure();
    if (::flock(held.get(), LOCK_EX | LOCK_NB) == 0) return held;
    return std::unexpected{system_error(errno == EWOULDBLOCK ? EADDRINUSE : errno)};
}

// Whether there is the file of a socket that no process has.
std::expected<bool, std::error_code> is_stale(int type, const address& where,
                                              const char* path) noexcept {
    struct stat known {};
    if (::fstatat(AT_FDCWD, path, &known, AT_SYMLINK_NOFOLLOW) != 0) {
        if (errno == ENOENT) return false;
        return last_failure();
    }
    if (!S_ISSOCK(known.st_mode)) return false;
    const os::unique_fd probe = make_socket(AF_UNIX, type);
    if (!probe.valid()) return last_failure();
    return ::connect(probe.get(), where.data(), where.size()) != 0 && errno == ECONNREFUSED;
}

}  // namespace

std::expected<bound_file, std::error_code> bind_to_file(int fd, int type, const address& where,
                                                        const unix_file_options& options) noexcept {
    const unix_address name{where};
    const auto bound = [&] { return ::bind(fd, where.data(), where.size()) == 0; };
    if (!name.is_path()) {
        if (!bound()) return last_failure();
        return bound_file{};
    }
    const char* const path = name.name().data();
    os::unique_fd held;
    if (options.replace_stale) {
        auto lock_file = locked(name.name());
        if (!lock_file) return std::unexpected{lock_file.error()};
        held = std::move(*lock_file);
        const auto stale = is_stale(type, where, path);
        if (!stale) return std::unexpected{stale.error()};
        if (*stale && ::unlinkat(AT_FDCWD, path, 0) != 0) return last_failure();
    }
    // The permissions of the socket, less the umask, are those of its file at first.
    if (::fchmod(fd, options.permissions) != 0) return last_failure();
    if (!bound()) return last_failure();
    detail::owned_socket_file file{name};
    if (::fchmodat(AT_FDCWD, path, options.permissions, 0) != 0) return last_failure();
    return bound_file{std::move(held), std::move(file)};
}

namespace detail {

owned_socket_file::owned_socket_file(const unix_address& where) noexcept : where_{where} {
    struct stat known {};
    if (!where.is_path() || ::fstatat(AT_FDCWD, path(), &known, AT_SYMLINK_NOFOLLOW) != 0) return;
    device_ = known.st_dev;
    inode_ = known.st_ino;
}

void owned_socket_file::remove() noexcept {
    const auto inode = std::exchange(inode_, 0);
    if (inode == 0) return;
    // Another program may have put its own there.
    struct stat known {};
    if (::fstatat(AT_FDCWD, path(), &known, AT_SYMLINK_NOFOLLOW) != 0) return;
    if (known.st_dev == device_ && known.st_ino == inode) ::unlinkat(AT_FDCWD, path(), 0);
}

}  // namespace detail

}  // namespace fairlead::io
