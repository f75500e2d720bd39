#include "faults/meet.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <net/if.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/random.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <new>
#include <optional>

namespace fairlead::test {
namespace {

// One or two plans for the process. Written while no fault is armed and no thread reads them; any
// thread writes the counters.
std::array<planned_fault, 2> plans{};
std::array<std::atomic<std::int64_t>, 2> calls{};
std::atomic<std::size_t> armed_count{0};
std::atomic<std::size_t> readers{0};  // the threads inside meet()
std::atomic<std::size_t> met{0};      // the number of met faults, which are met in order

std::atomic<std::int64_t> live{0};

struct reading {
    reading() noexcept { ++readers; }
    reading(const reading&) = delete;
    reading& operator=(const reading&) = delete;
    ~reading() { --readers; }
};

// A detached thread of an earlier test may be about to end, and no join tells of its end.
void wait_for_readers() noexcept {
    while (readers != 0) ::sched_yield();
}

}  // namespace

std::optional<fault> meet(const char* name) noexcept {
    const reading now;
    const std::size_t count = armed_count;
    const std::size_t current = met;
    for (std::size_t i = 0; i != count && i <= current; ++i) {
        const auto& [what, when] = plans[i];
        if (std::strcmp(what.call, name) != 0) continue;
        const std::int64_t n = ++calls[i];
        if (n < when.first || n > when.last) continue;
        std::size_t before = i;
        met.compare_exchange_strong(before, i + 1);
        errno = what.error;
        return what;
    }
    return {};
}

namespace {

// "operator new of 600 bytes" is a fault of what is as large or larger: there may be memory for
// small objects alone.
void* allocate(std::size_t size, std::size_t alignment) noexcept {
    if (meet("operator new").has_value()) return nullptr;
    if (size >= 600 && meet("operator new of 600 bytes").has_value()) return nullptr;
    const std::size_t rounded = (std::max<std::size_t>(size, 1) + alignment - 1) / alignment;
    void* const memory = std::aligned_alloc(alignment, rounded * alignment);
    if (memory != nullptr) ++live;
    return memory;
}

void* allocate_or_throw(std::size_t size, std::size_t alignment) {
    void* const memory = allocate(size, alignment);
    if (memory == nullptr) throw std::bad_alloc{};
    return memory;
}

void release(void* memory) noexcept {
    if (memory != nullptr) --live;
    std::free(memory);
}

}  // namespace

armed::armed(const fault& what, call_range when) {
    wait_for_readers();
    plans[0] = {what, when};
    calls[0] = 0;
    met = 0;
    armed_count = 1;
}

armed::armed(const planned_fault& first, const planned_fault& second) {
    wait_for_readers();
    plans = {first, second};
    calls[0] = calls[1] = 0;
    met = 0;
    armed_count = 2;
}

armed::~armed() { armed_count = 0; }

std::size_t armed::hits() const { return met; }

std::size_t faults_met() { return met; }

std::int64_t live_allocations() { return live; }

int open_descriptors() {
    DIR* const folder = ::opendir("/proc/self/fd");
    int count = -1;  // without the descriptor of the folder itself
    while (const dirent* const each = ::readdir(folder)) {
        if (each->d_name[0] != '.') ++count;
    }
    ::closedir(folder);
    return count;
}

}  // namespace fairlead::test

// --- memory --------------------------------------------------------------------------------------

using fairlead::test::allocate;
using fairlead::test::allocate_or_throw;
using fairlead::test::release;

constexpr std::size_t usual = __STDCPP_DEFAULT_NEW_ALIGNMENT__;

// The sanitizers have all of these, so all are replaced.
void* operator new(std::size_t size) { return allocate_or_throw(size, usual); }
void* operator new[](std::size_t size) { return allocate_or_throw(size, usual); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
    return allocate(size, usual);
}
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
    return allocate(size, usual);
}
void* operator new(std::size_t size, std::align_val_t alignment) {
    return allocate_or_throw(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
    return allocate_or_throw(size, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
    return allocate(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
    return allocate(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { release(memory); }
void operator delete[](void* memory) noexcept { release(memory); }
void operator delete(void* memory, std::size_t) noexcept { release(memory); }
void operator delete[](void* memory, std::size_t) noexcept { release(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { release(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { release(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { release(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { release(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { release(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { release(memory); }

// --- the system ----------------------------------------------------------------------------------

using fairlead::test::answer;
using fairlead::test::fault;
using fairlead::test::meet;
using fairlead::test::next;

// Defines the function of the C library that has this name, these parameters and arguments.
#define FAIRLEAD_TEST_FALLIBLE(name, parameters, arguments)              \
    extern "C" int name parameters {                                     \
        using function = int parameters;                                 \
        static function* const real = next<function>(#name);             \
        return answer(#name, [&]() noexcept { return real arguments; }); \
    }

// One macro for functions that glibc declares with __THROW, and one for the rest.
#define FAIRLEAD_TEST_FALLIBLE_NOEXCEPT(name, parameters, arguments) \
    FAIRLEAD_TEST_FALLIBLE(name, parameters noexcept, arguments)

FAIRLEAD_TEST_FALLIBLE_NOEXCEPT(epoll_create1, (int flags), (flags))
FAIRLEAD_TEST_FALLIBLE(epoll_wait, (int in, epoll_event* events, int size, int timeout),
                       (in, events, size, timeout))
FAIRLEAD_TEST_FALLIBLE_NOEXCEPT(eventfd, (unsigned count, int flags), (count, flags))
FAIRLEAD_TEST_FALLIBLE_NOEXCEPT(timerfd_create, (clockid_t clock, int flags), (clock, flags))
FAIRLEAD_TEST_FALLIBLE_NOEXCEPT(socket, (int domain, int type, int protocol),
                                (domain, type, protocol))
FAIRLEAD_TEST_FALLIBLE_NOEXCEPT(bind, (int fd, const sockaddr* to, socklen_t size), (fd, to, size))
FAIRLEAD_TEST_FALLIBLE_NOEXCEPT(listen, (int fd, int backlog), (fd, backlog))
FAIRLEAD_TEST_FALLIBLE_NOEXCEPT(setsockopt,
                                (int fd, int level, int name, const void* value, socklen_t size),
                                (fd, level, name, value, size))
FAIRLEAD_TEST_FALLIBLE_NOEXCEPT(getsockopt,
                                (int fd, int level, int name, void* value, socklen_t* size),
                                (fd, level, name, value, size))
FAIRLEAD_TEST_FALLIBLE_NOEXCEPT(getsockname, (int fd, sockaddr* to, socklen_t* size),
                                (fd, to, size))
FAIRLEAD_TEST_FALLIBLE_NOEXCEPT(getpeername, (int fd, sockaddr* to, socklen_t* size),
                                (fd, to, size))
FAIRLEAD_TEST_FALLIBLE_NOEXCEPT(shutdown, (int fd, int how), (fd, how))
FAIRLEAD_TEST_FALLIBLE_NOEXCEPT(sched_getaffinity, (pid_t of, size_t size, cpu_set_t* set),
                                (of, size, set))
FAIRLEAD_TEST_FALLIBLE(poll, (pollfd * asked, nfds_t count, int timeout), (asked, count, timeout))
FAIRLEAD_TEST_FALLIBLE(connect, (int fd, const sockaddr* to, socklen_t size), (fd, to, size))
FAIRLEAD_TEST_FALLIBLE(accept4, (int fd, sockaddr* from, socklen_t* size, int flags),
                       (fd, from, size, flags))
FAIRLEAD_TEST_FALLIBLE(close, (int fd), (fd))
FAIRLEAD_TEST_FALLIBLE(fdatasync, (int fd), (fd))
FAIRLEAD_TEST_FALLIBLE(fsync, (int fd), (fd))
FAIRLEAD_TEST_FALLIBLE_NOEXCEPT(fstat, (int fd, struct stat* known), (fd, known))
FAIRLEAD_TEST_FALLIBLE_NOEXCEPT(fstatat,
                                (int folder, const char* path, struct stat* known, int flags),
                                (folder, path, known, flags))
FAIRLEAD_TEST_FALLIBLE_NOEXCEPT(ftruncate, (int fd, off_t size), (fd, size))
FAIRLEAD_TEST_FALLIBLE_NOEXCEPT(fchmod, (int fd, mode_t permissions), (fd, permissions))
FAIRLEAD_TEST_FALLIBLE_NOEXCEPT(fchmodat,
                                (int folder, const char* path, mode_t permissions, int flags),
                                (folder, path, permissions, flags))
FAIRLEAD_TEST_FALLIBLE_NOEXCEPT(uname, (struct utsname * system), (system))
FAIRLEAD_TEST_FALLIBLE_NOEXCEPT(pipe2, (int* ends, int flags), (ends, flags))
FAIRLEAD_TEST_FALLIBLE_NOEXCEPT(kill, (pid_t to, int number), (to, number))
FAIRLEAD_TEST_FALLIBLE(waitid, (idtype_t kind, id_t of, siginfo_t* told, int how),
                       (kind, of, told, how))
FAIRLEAD_TEST_FALLIBLE_NOEXCEPT(pidfd_open, (pid_t of, unsigned flags), (of, flags))
FAIRLEAD_TEST_FALLIBLE_NOEXCEPT(pidfd_send_signal,
                                (int to, int number, siginfo_t* told, unsigned flags),
                                (to, number, told, flags))
FAIRLEAD_TEST_FALLIBLE(sigtimedwait, (const sigset_t* of, siginfo_t* told, const timespec* limit),
                       (of, told, limit))
FAIRLEAD_TEST_FALLIBLE_NOEXCEPT(flock, (int fd, int operation), (fd, operation))
FAIRLEAD_TEST_FALLIBLE_NOEXCEPT(inotify_init1, (int flags), (flags))
FAIRLEAD_TEST_FALLIBLE_NOEXCEPT(inotify_add_watch, (int to, const char* path, uint32_t mask),
                                (to, path, mask))
FAIRLEAD_TEST_FALLIBLE_NOEXCEPT(inotify_rm_watch, (int from, int watch), (from, watch))
FAIRLEAD_TEST_FALLIBLE_NOEXCEPT(statfs, (const char* path, struct statfs* known), (path, known))
FAIRLEAD_TEST_FALLIBLE_NOEXCEPT(socketpair, (int domain, int type, int protocol, int* ends),
                                (domain, type, protocol, ends))
FAIRLEAD_TEST_FALLIBLE_NOEXCEPT(renameat,
                                (int from_folder, const char* from, int to_folder, const char* to),
                                (from_folder, from, to_folder, to))
FAIRLEAD_TEST_FALLIBLE_NOEXCEPT(unlinkat, (int folder, const char* path, int flags),
                                (folder, path, flags))

// "epoll_ctl request" is a fault of what is added or changed: the kernel never refuses to remove
// what is there.
extern "C" int epoll_ctl(int in, int what, int fd, epoll_event* event) noexcept {
    using function = int(int, int, int, epoll_event*);
    static function* const real = next<function>("epoll_ctl");
    const auto call = [&] {
        return answer("epoll_ctl", [&] { return real(in, what, fd, event); });
    };
    return what == EPOLL_CTL_DEL ? call() : answer("epoll_ctl request", call);
}

extern "C" ssize_t recv(int fd, void* buffer, size_t size, int flags) {
    using function = ssize_t(int, void*, size_t, int);
    static function* const real = next<function>("recv");
    return answer("recv", [&] { return real(fd, buffer, size, flags); });
}

extern "C" ssize_t send(int fd, const void* data, size_t size, int flags) {
    using function = ssize_t(int, const void*, size_t, int);
    static function* const real = next<function>("send");
    const auto met_here = meet("send");
    if (!met_here) return real(fd, data, size, flags);
    if (met_here->manner == fault::how::cut) {
        return real(fd, data, std::min<size_t>(size, 1), flags);
    }
    return -1;
}

extern "C" ssize_t recvmsg(int fd, msghdr* into, int flags) {
    using function = ssize_t(int, msghdr*, int);
    static function* const real = next<function>("recvmsg");
    return answer("recvmsg", [&] { return real(fd, into, flags); });
}

extern "C" ssize_t sendmsg(int fd, const msghdr* from, int flags) {
    using function = ssize_t(int, const msghdr*, int);
    static function* const real = next<function>("sendmsg");
    const auto met_here = meet("sendmsg");
    if (!met_here) return real(fd, from, flags);
    if (met_here->manner != fault::how::cut) return -1;
    iovec first = *from->msg_iov;
    first.iov_len = std::min<size_t>(first.iov_len, 1);
    msghdr shorter = *from;
    shorter.msg_iov = &first;
    shorter.msg_iovlen = 1;
    return real(fd, &shorter, flags);
}

// A cut one moves one message.
extern "C" int recvmmsg(int fd, mmsghdr* into, unsigned count, int flags, timespec* limit) {
    using function = int(int, mmsghdr*, unsigned, int, timespec*);
    static function* const real = next<function>("recvmmsg");
    const auto met_here = meet("recvmmsg");
    if (!met_here) return real(fd, into, count, flags, limit);
    if (met_here->manner == fault::how::cut) return real(fd, into, 1, flags, limit);
    return -1;
}

extern "C" int sendmmsg(int fd, mmsghdr* from, unsigned count, int flags) {
    using function = int(int, mmsghdr*, unsigned, int);
    static function* const real = next<function>("sendmmsg");
    const auto met_here = meet("sendmmsg");
    if (!met_here) return real(fd, from, count, flags);
    if (met_here->manner == fault::how::cut) return real(fd, from, 1, flags);
    return -1;
}

extern "C" ssize_t read(int fd, void* buffer, size_t size) {
    using function = ssize_t(int, void*, size_t);
    static function* const real = next<function>("read");
    return answer("read", [&] { return real(fd, buffer, size); });
}

extern "C" ssize_t write(int fd, const void* data, size_t size) {
    using function = ssize_t(int, const void*, size_t);
    static function* const real = next<function>("write");
    return answer("write", [&] { return real(fd, data, size); });
}

// The result of a call that moves bytes, or of its fault: a cut one moves one byte.
template <class Call>
ssize_t answer_for(const char* name, std::size_t size, Call real) noexcept {
    const auto met_here = meet(name);
    if (!met_here) return real(size);
    if (met_here->manner == fault::how::cut) return real(std::min<std::size_t>(size, 1));
    return -1;
}

extern "C" ssize_t sendfile(int to, int from, off_t* offset, size_t size) noexcept {
    using function = ssize_t(int, int, off_t*, size_t);
    static function* const real = next<function>("sendfile");
    return answer_for("sendfile", size, [&](size_t some) { return real(to, from, offset, some); });
}

extern "C" ssize_t splice(int from, off64_t* from_offset, int to, off64_t* to_offset, size_t size,
                          unsigned flags) {
    using function = ssize_t(int, off64_t*, int, off64_t*, size_t, unsigned);
    static function* const real = next<function>("splice");
    return answer_for("splice", size, [&](size_t some) {
        return real(from, from_offset, to, to_offset, some, flags);
    });
}

extern "C" ssize_t pread(int fd, void* buffer, size_t size, off_t from) {
    using function = ssize_t(int, void*, size_t, off_t);
    static function* const real = next<function>("pread");
    return answer_for("pread", size, [&](size_t some) { return real(fd, buffer, some, from); });
}

extern "C" ssize_t pwrite(int fd, const void* data, size_t size, off_t to) {
    using function = ssize_t(int, const void*, size_t, off_t);
    static function* const real = next<function>("pwrite");
    return answer_for("pwrite", size, [&](size_t some) { return real(fd, data, some, to); });
}

// Of several buffers a cut call moves a byte of the first.
template <class Call>
ssize_t answer_for_buffers(const char* name, const iovec* all, int count, Call real) noexcept {
    const auto met_here = meet(name);
    if (!met_here) return real(all, count);
    if (met_here->manner == fault::how::nothing) return 0;
    if (met_here->manner != fault::how::cut) return -1;
    const iovec cut{all->iov_base, std::min<std::size_t>(all->iov_len, 1)};
    return real(&cut, 1);
}

extern "C" ssize_t preadv2(int fd, const iovec* to, int count, off_t from, int flags) {
    using function = ssize_t(int, const iovec*, int, off_t, int);
    static function* const real = next<function>("preadv2");
    return answer_for_buffers("preadv2", to, count, [&](const iovec* parts, int some) {
        return real(fd, parts, some, from, flags);
    });
}

extern "C" ssize_t pwritev2(int fd, const iovec* from, int count, off_t to, int flags) {
    using function = ssize_t(int, const iovec*, int, off_t, int);
    static function* const real = next<function>("pwritev2");
    return answer_for_buffers("pwritev2", from, count, [&](const iovec* parts, int some) {
        return real(fd, parts, some, to, flags);
    });
}

extern "C" ssize_t readv(int fd, const iovec* to, int count) {
    using function = ssize_t(int, const iovec*, int);
    static function* const real = next<function>("readv");
    return answer_for_buffers("readv", to, count,
                              [&](const iovec* parts, int some) { return real(fd, parts, some); });
}

extern "C" ssize_t writev(int fd, const iovec* from, int count) {
    using function = ssize_t(int, const iovec*, int);
    static function* const real = next<function>("writev");
    return answer_for_buffers("writev", from, count,
                              [&](const iovec* parts, int some) { return real(fd, parts, some); });
}

extern "C" ssize_t getrandom(void* buffer, size_t size, unsigned flags) {
    using function = ssize_t(void*, size_t, unsigned);
    static function* const real = next<function>("getrandom");
    return answer("getrandom", [&] { return real(buffer, size, flags); });
}

// It returns its error.
extern "C" int posix_fadvise(int fd, off_t from, off_t size, int advice) noexcept {
    using function = int(int, off_t, off_t, int);
    static function* const real = next<function>("posix_fadvise");
    if (const auto met_here = meet("posix_fadvise")) return met_here->error;
    return real(fd, from, size, advice);
}

// So do these.
#define FAIRLEAD_TEST_FALLIBLE_WITH_RESULT(name, parameters, arguments) \
    extern "C" int name parameters {                                    \
        using function = int parameters;                                \
        static function* const real = next<function>(#name);            \
        if (const auto met_here = meet(#name)) return met_here->error;  \
        return real arguments;                                          \
    }

FAIRLEAD_TEST_FALLIBLE_WITH_RESULT(posix_spawn_file_actions_addopen,
                                   (posix_spawn_file_actions_t * to, int fd, const char* path,
                                    int flags, mode_t permissions) noexcept,
                                   (to, fd, path, flags, permissions))
FAIRLEAD_TEST_FALLIBLE_WITH_RESULT(posix_spawn_file_actions_adddup2,
                                   (posix_spawn_file_actions_t * to, int from, int fd) noexcept,
                                   (to, from, fd))
FAIRLEAD_TEST_FALLIBLE_WITH_RESULT(posix_spawn_file_actions_addchdir_np,
                                   (posix_spawn_file_actions_t * to, const char* path) noexcept,
                                   (to, path))
FAIRLEAD_TEST_FALLIBLE_WITH_RESULT(posix_spawn_file_actions_addclosefrom_np,
                                   (posix_spawn_file_actions_t * to, int from) noexcept, (to, from))
FAIRLEAD_TEST_FALLIBLE_WITH_RESULT(posix_spawnp,
                                   (pid_t * made, const char* program,
                                    const posix_spawn_file_actions_t* actions,
                                    const posix_spawnattr_t* with, char* const* arguments,
                                    char* const* variables),
                                   (made, program, actions, with, arguments, variables))

extern "C" ssize_t process_vm_readv(pid_t of, const iovec* to, unsigned long to_count,
                                    const iovec* from, unsigned long from_count,
                                    unsigned long flags) noexcept {
    using function =
        ssize_t(pid_t, const iovec*, unsigned long, const iovec*, unsigned long, unsigned long);
    static function* const real = next<function>("process_vm_readv");
    return answer("process_vm_readv",
                  [&] { return real(of, to, to_count, from, from_count, flags); });
}

// Only the wall clock fails.
extern "C" int clock_gettime(clockid_t clock, timespec* now) noexcept {
    using function = int(clockid_t, timespec*);
    static function* const real = next<function>("clock_gettime");
    if (clock == CLOCK_REALTIME && meet("clock_gettime").has_value()) return -1;
    return real(clock, now);
}

// These two functions return their error.
extern "C" int pthread_create(pthread_t* made, const pthread_attr_t* with, void* (*body)(void*),
                              void* given) noexcept {
    using function = int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
    static function* const real = next<function>("pthread_create");
    if (const auto met_here = meet("pthread_create")) return met_here->error;
    return real(made, with, body, given);
}

extern "C" int pthread_setname_np(pthread_t of, const char* name) noexcept {
    using function = int(pthread_t, const char*);
    static function* const real = next<function>("pthread_setname_np");
    if (const auto met_here = meet("pthread_setname_np")) return met_here->error;
    return real(of, name);
}

extern "C" int prctl(int option, ...) noexcept {
    using function = int(int, unsigned long);
    static function* const real = next<function>("prctl");
    if (meet("prctl").has_value()) return -1;
    std::va_list rest;
    va_start(rest, option);
    const unsigned long argument = va_arg(rest, unsigned long);  // the library passes one argument
    va_end(rest);
    return real(option, argument);
}

// The result 0 means that there is no such interface.
extern "C" unsigned if_nametoindex(const char* name) noexcept {
    using function = unsigned(const char*);
    static function* const real = next<function>("if_nametoindex");
    return meet("if_nametoindex").has_value() ? 0 : real(name);
}

// The function by which libstdc++ opens a file.
extern "C" FILE* fopen64(const char* path, const char* mode) {
    using function = FILE*(const char*, const char*);
    static function* const real = next<function>("fopen64");
    return meet("fopen64").has_value() ? nullptr : real(path, mode);
}

extern "C" int open(const char* path, int flags, ...) {
    using function = int(const char*, int, ...);
    static function* const real = next<function>("open");
    mode_t permissions = 0;
    if ((flags & O_CREAT) != 0) {
        std::va_list rest;
        va_start(rest, flags);
        permissions = va_arg(rest, mode_t);
        va_end(rest);
    }
    return answer("open", [&] { return real(path, flags, permissions); });
}

extern "C" int openat(int folder, const char* path, int flags, ...) {
    using function = int(int, const char*, int, ...);
    static function* const real = next<function>("openat");
    mode_t permissions = 0;
    if ((flags & O_CREAT) != 0) {
        std::va_list rest;
        va_start(rest, flags);
        permissions = va_arg(rest, mode_t);
        va_end(rest);
    }
    return answer("openat", [&] { return real(folder, path, flags, permissions); });
}

extern "C" int fcntl(int fd, int command, ...) {
    using function = int(int, int, ...);
    static function* const real = next<function>("fcntl");
    std::va_list rest;
    va_start(rest, command);
    const unsigned long argument = va_arg(rest, unsigned long);  // not looked at if there is none
    va_end(rest);
    return answer("fcntl", [&] { return real(fd, command, argument); });
}
