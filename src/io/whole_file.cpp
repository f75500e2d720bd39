#include <fairlead/io/whole_file.hpp>

#include <fairlead/coro/adapted_wait.hpp>
#include <fairlead/coro/blocking.hpp>
#include <fairlead/detail/io/errors.hpp>

#include "io/file_calls.hpp"

#include <sys/random.h>

#include <algorithm>
#include <span>
#include <utility>

namespace fairlead::io {

using detail::code_of;
using namespace file_calls;

namespace {

system_result read_whole(const std::string& path, std::size_t limit, std::string& into) {
    const auto opened = open_now(path, flags_of({}), 0);
    if (!opened) return opened.error();
    struct stat known {};
    if (::fstat(opened->get(), &known) != 0) return errno;
    // One byte more than is expected: so the end is seen, or that the file has grown meanwhile.
    std::size_t expected = static_cast<std::size_t>(known.st_size);
    for (;;) {
        if (into.size() > limit || expected > limit) return EFBIG;
        const std::size_t begin = into.size();
        into.resize(std::max(begin, expected) + 1);
        const auto room = std::as_writable_bytes(std::span{into}).subspan(begin);
        const transferred more = read_now(opened->get(), room, begin);
        into.resize(begin + more.count);
        if (more.error != 0) return more.error;
        if (more.count != room.size()) return into.size() > limit ? EFBIG : 0;
        expected = 2 * into.size();
        expected = std::min(expected, std::max(limit, into.size()));
    }
}

// The folder of a file, open, and the name that the file has in it. So another working directory
// meanwhile changes nothing, and a long path leaves room for the name of a second file.
struct place {
    explicit place(const std::string& path)
        : name{path.substr(path.rfind('/') + 1)},
          folder{open_fd(path.substr(0, path.size() - name.size()) + ".",
                         O_RDONLY | O_DIRECTORY | O_CLOEXEC)} {}

    std::string name;
    os::unique_fd folder;  // not valid, with errno: it cannot be opened
};

// A new file beside another, which goes away unless it is renamed.
class file_beside {
public:
    // `permissions`: until they are changed, less the umask.
    file_beside(const place& of, unsigned permissions) : place_{of} {
        constexpr int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
        constexpr std::size_t shown_max = 200;  // a name has at most 255 bytes
        do {
            std::uint64_t number = 0;
            if (::getrandom(&number, sizeof(number), 0) < 0) break;
            name_ = of.name.substr(0, shown_max) + "." + std::to_string(number) + ".new";
            fd_ = open_fd(name_, flags, permissions, of.folder.get());
        } while (!fd_.valid() && errno == EEXIST);
        error_ = fd_.valid() ? 0 : errno;
    }
    file_beside(const file_beside&) = delete;
    file_beside& operator=(const file_beside&) = delete;
    ~file_beside() {
        if (fd_.valid()) ::unlinkat(place_.folder.get(), name_.c_str(), 0);
    }

    // 0: it was made.
    [[nodiscard]] int error() const noexcept { return error_; }
    [[nodiscard]] int fd() const noexcept { return fd_.get(); }

    // Takes the place of the other one.
    [[nodiscard]] system_result replace() noexcept {
        const int folder = place_.folder.get();
        if (::renameat(folder, name_.c_str(), folder, place_.name.c_str()) != 0) return errno;
        fd_.reset();
        return 0;
    }

private:
    const place& place_;
    std::string name_;
    os::unique_fd fd_;
    int error_ = 0;
};

system_result replace_whole(const std::string& path, const std::string& data) {
    if (path.contains('\0')) return EINVAL;
    const place where{path};
    if (where.name.empty()) return path.empty() ? ENOENT : EISDIR;
    if (!where.folder.valid()) return errno;
    struct stat old {};
    const bool is_new = ::fstatat(where.folder.get(), where.name.c_str(), &old, 0) != 0;
    if (is_new && errno != ENOENT) return errno;
    // A process that could not read the old file must not open the new one, even before it has its
    // permissions. Without the bits for other rights: the new file may have another owner.
    const unsigned permissions = is_new ? 0644U : old.st_mode & 0777U;
    file_beside made{where, is_new ? permissions : permissions & 0600U};
    if (made.error() != 0) return made.error();
    const int fd = made.fd();
    const auto permit = [&] { return ::fchmod(fd, permissions); };
    if (!is_new) {
        if (const int error = without_interrupts(permit)) return error;
    }
    const auto bytes = std::as_bytes(std::span{data});
    if (const int error = write_now(fd, bytes, 0)) return error;
    if (const int error = without_interrupts([&] { return ::fsync(fd); })) return error;
    if (const int error = made.replace()) return error;
    return without_interrupts([&] { return ::fsync(where.folder.get()); });
}

}  // namespace

task<std::expected<std::string, std::error_code>> read_file(std::string path, std::size_t limit) {
    std::string text;
    const auto error = co_await as_result(blocking([&] { return read_whole(path, limit, text); }));
    if (!error) co_return std::unexpected{code_of(error.error())};
    if (*error != 0) co_return std::unexpected{system_error(*error)};
    co_return text;
}

task<std::expected<void, std::error_code>> replace_file(std::string path, std::string data) {
    const auto error = co_await as_result(blocking([&] { return replace_whole(path, data); }));
    if (!error) co_return std::unexpected{code_of(error.error())};
    co_return done_or(*error);
}

}  // namespace fairlead::io
