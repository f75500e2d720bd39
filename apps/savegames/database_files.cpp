#include "savegames/database_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace savegames {
namespace {

// Behind every page that SQLite can have, and behind the bytes that SQLite locks (from 2^30 on).
constexpr off_t locked_byte = off_t{1} << 60;

std::string system_message() { return std::error_code{errno, std::system_category()}.message(); }

// The databases that this process has open.
class claimed_files {
public:
    std::mutex mutex;

    // Require the mutex.
    [[nodiscard]] bool has(const struct stat& status) const {
        return std::ranges::find(files_, key_of(status)) != files_.end();
    }
    void add(const struct stat& status) { files_.push_back(key_of(status)); }
    void remove(dev_t device, ino_t inode) { std::erase(files_, std::pair{device, inode}); }

private:
    static std::pair<dev_t, ino_t> key_of(const struct stat& status) {
        return {status.st_dev, status.st_ino};
    }

    std::vector<std::pair<dev_t, ino_t>> files_;
};

claimed_files& claimed() {
    static claimed_files all;
    return all;
}

std::string in_use(const std::string& path) {
    return fmt::format("another server uses the database {}; stop it, or give another file", path);
}

// The kernel releases the lock when the process ends.
std::expected<void, std::string> take_lock(const fairlead::os::unique_fd& file,
                                           const std::string& path) {
    struct flock wanted {};
    wanted.l_type = F_WRLCK;
    wanted.l_whence = SEEK_SET;
    wanted.l_start = locked_byte;
    wanted.l_len = 1;
    if (::fcntl(file.get(), F_OFD_SETLK, &wanted) == 0) return {};
    if (errno == EAGAIN || errno == EACCES) return std::unexpected(in_use(path));
    return std::unexpected(fmt::format("cannot lock {}: {}", path, system_message()));
}

}  // namespace

std::expected<std::unique_ptr<database_files>, std::string> database_files::claim(
    const std::string& path) {
    const std::lock_guard guard{claimed().mutex};
    struct stat status {};
    if (::stat(path.c_str(), &status) == 0 && claimed().has(status)) {
        return std::unexpected(in_use(path));
    }
    // Only the user of this process may read saves. SQLite gives the log the same permissions.
    fairlead::os::unique_fd opened{::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)};
    if (opened.get() < 0 || ::fstat(opened.get(), &status) != 0) {
        return std::unexpected(
            fmt::format("cannot open the database {}: {}", path, system_message()));
    }
    if (auto locked = take_lock(opened, path); !locked)
        return std::unexpected(std::move(locked.error()));
    if (status.st_nlink != 1) {
        return std::unexpected(
            fmt::format("the database {} has {} hard links, but each would have its own log: "
                        "leave one name, or use symbolic links",
                        path, status.st_nlink));
    }
    std::unique_ptr<database_files> made{
        new database_files{{.gone = "the database was deleted, moved or replaced",
                            .linked = "the database has a hard link",
                            .path = path,
                            .opened = std::move(opened),
                            .device = status.st_dev,
                            .inode = status.st_ino,
                            .size_min = static_cast<std::uint64_t>(status.st_size)}}};
    claimed().add(status);
    return made;
}

database_files::~database_files() {
    const std::lock_guard guard{claimed().mutex};
    claimed().remove(database_.device, database_.inode);
    database_.opened =
        fairlead::os::unique_fd{};  // under the mutex: the next claim() finds no lock
}

std::expected<void, std::string> database_files::open_log(std::uint64_t log_end) {
    // SQLite follows the symbolic links of the database, and names the log after the real path.
    std::error_code failure;
    const auto real = std::filesystem::canonical(database_.path, failure);
    const std::string path = real.string() + "-wal";
    fairlead::os::unique_fd opened{failure ? -1 : ::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
    struct stat status {};
    if (opened.get() < 0 || ::fstat(opened.get(), &status) != 0) {
        return std::unexpected(fmt::format("cannot open the log {}: {}", path, system_message()));
    }
    {
        const std::lock_guard guard{mutex_};
        log_ = {.gone = "the log of the database was deleted, moved or replaced",
                .linked = "the log of the database has a hard link",
                .path = path,
                .opened = std::move(opened),
                .device = status.st_dev,
                .inode = status.st_ino,
                .size_min = log_end};
    }
    note_size();
    if (const intact found = check(); !found) {
        return std::unexpected(std::string{found.error()});
    }
    return {};
}

std::expected<void, std::string> database_files::flush_names() const {
    std::filesystem::path folder = std::filesystem::path{database_.path}.parent_path();
    if (folder.empty()) folder = ".";
    const fairlead::os::unique_fd opened{
        ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    if (opened.get() >= 0 && ::fsync(opened.get()) == 0) return {};
    return std::unexpected(fmt::format("cannot flush {}: {}", folder.string(), system_message()));
}

database_files::intact database_files::begin_write() {
    const std::lock_guard guard{mutex_};
    auto result = check_both();
    writing_ = result.has_value();
    return result;
}

database_files::intact database_files::end_write(std::uint64_t log_end) {
    const std::lock_guard guard{mutex_};
    // A commit appends where the log ended. If the log was cut after `begin_write`, the kernel has
    // filled the gap with a hole, so the size looks right.
    const bool appended = log_end > log_.size_min;
    if (appended && has_hole_before(log_.size_min)) cut_ = true;
    log_.size_min = log_end;
    writing_ = false;
    return check_both();
}

void database_files::abandon_write() {
    const std::lock_guard guard{mutex_};
    writing_ = false;
}

void database_files::note_size() {
    const std::lock_guard guard{mutex_};
    struct stat status {};
    if (::fstat(database_.opened.get(), &status) != 0) return;
    database_.size_min = std::max(database_.size_min, static_cast<std::uint64_t>(status.st_size));
}

database_files::intact database_files::check() const {
    const std::lock_guard guard{mutex_};
    return check_both();
}

bool database_files::is_cut() const {
    const std::lock_guard guard{mutex_};
    return cut_;
}

database_files::intact database_files::check_both() const {
    const auto cut = [](const watched_file& each) {
        struct stat status {};
        return ::fstat(each.opened.get(), &status) != 0 ||
               static_cast<std::uint64_t>(status.st_size) < each.size_min;
    };
    cut_ = cut_ || cut(database_) || (!writing_ && cut(log_));
    if (cut_) {
        return std::unexpected(
            "a part of the database or of its log was cut off: restart the service");
    }
    intact result = check_name(database_);
    return result ? check_name(log_) : result;
}

database_files::intact database_files::check_name(const watched_file& each) const {
    struct stat status {};
    if (::stat(each.path.c_str(), &status) != 0 || status.st_dev != each.device ||
        status.st_ino != each.inode) {
        return std::unexpected(each.gone);
    }
    if (status.st_nlink != 1) return std::unexpected(each.linked);
    return {};
}

// Looks at the last byte of the block before the block that has `end`: the block with `end` may
// just have been written. A file system without holes reports none.
bool database_files::has_hole_before(std::uint64_t end) const {
    struct stat status {};
    if (::fstat(log_.opened.get(), &status) != 0) return true;
    const auto block = static_cast<std::uint64_t>(std::max<blksize_t>(status.st_blksize, 1));
    if (end < block) return false;
    const auto last = static_cast<off_t>(end / block * block - 1);
    const off_t found = ::lseek(log_.opened.get(), last, SEEK_DATA);
    return found < 0 ? errno == ENXIO : found != last;
}

}  // namespace savegames
