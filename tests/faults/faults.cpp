#include "faults/faults.hpp"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <net/if.h>
#include <pthread.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <new>

namespace fairlead::test {
namespace {

// One or two plans for the process. Written while no fault is armed; any thread writes the
// counters.
std::array<planned_fault, 2> plans{};
std::array<std::atomic<std::int64_t>, 2> calls{};
std::atomic<std::size_t> armed_count{0};
std::atomic<std::size_t> met{0};  // the number of met faults, which are met in order

std::atomic<std::int64_t> live{0};

// Returns the fault that this call of `name` meets, and sets errno; null if it meets none.
const fault* meet(const char* name) noexcept {
    const std::size_t count = armed_count.load(std::memory_order_acquire);
    const std::size_t current = met;
    for (std::size_t i = 0; i != count && i <= current; ++i) {
        const auto& [what, when] = plans[i];
        if (std::strcmp(what.call, name) != 0) continue;
        const std::int64_t n = ++calls[i];
        if (n < when.first || n > when.last) continue;
        std::size_t before = i;
        met.compare_exchange_strong(before, i + 1);
        errno = what.error;
        return &what;
    }
    return nullptr;
}

// The result of the call, or of its fault.
template <class Call>
auto answer(const char* name, Call real) noexcept -> decltype(real()) {
    const fault* const met_here = meet(name);
    if (met_here == nullptr) return real();
    if (met_here->manner == fault::how::after) {
        static_cast<void>(real());
        errno = met_here->error;
    }
    return -1;
}

template <class Function>
Function* next(const char* name) noexcept {
    return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

void* allocate(std::size_t size, std::size_t alignment) noexcept {
    if (meet("operator new") != nullptr) return nullptr;
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
    plans[0] = {what, when};
    calls[0] = 0;
    met = 0;
    armed_count.store(1, std::memory_order_release);
}

armed::armed(const planned_fault& first, const planned_fault& second) {
    plans = {first, second};
    calls[0] = calls[1] = 0;
    met = 0;
    armed_count.store(2, std::memory_order_release);
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
FAIRLEAD_TEST_FALLIBLE_NOEXCEPT(epoll_ctl, (int in, int what, int fd, epoll_event* event),
                                (in, what, fd, event))
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
FAIRLEAD_TEST_FALLIBLE(connect, (int fd, const sockaddr* to, socklen_t size), (fd, to, size))
FAIRLEAD_TEST_FALLIBLE(accept4, (int fd, sockaddr* from, socklen_t* size, int flags),
                       (fd, from, size, flags))
FAIRLEAD_TEST_FALLIBLE(close, (int fd), (fd))

extern "C" ssize_t recv(int fd, void* buffer, size_t size, int flags) {
    using function = ssize_t(int, void*, size_t, int);
    static function* const real = next<function>("recv");
    return answer("recv", [&] { return real(fd, buffer, size, flags); });
}

extern "C" ssize_t send(int fd, const void* data, size_t size, int flags) {
    using function = ssize_t(int, const void*, size_t, int);
    static function* const real = next<function>("send");
    const fault* const met_here = meet("send");
    if (met_here == nullptr) return real(fd, data, size, flags);
    if (met_here->manner == fault::how::cut) {
        return real(fd, data, std::min<size_t>(size, 1), flags);
    }
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
    if (clock == CLOCK_REALTIME && meet("clock_gettime") != nullptr) return -1;
    return real(clock, now);
}

// These two functions return their error.
extern "C" int pthread_create(pthread_t* made, const pthread_attr_t* with, void* (*body)(void*),
                              void* given) noexcept {
    using function = int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
    static function* const real = next<function>("pthread_create");
    if (const fault* const met_here = meet("pthread_create")) return met_here->error;
    return real(made, with, body, given);
}

extern "C" int pthread_setname_np(pthread_t of, const char* name) noexcept {
    using function = int(pthread_t, const char*);
    static function* const real = next<function>("pthread_setname_np");
    if (const fault* const met_here = meet("pthread_setname_np")) return met_here->error;
    return real(of, name);
}

extern "C" int prctl(int option, ...) noexcept {
    using function = int(int, unsigned long);
    static function* const real = next<function>("prctl");
    if (meet("prctl") != nullptr) return -1;
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
    return meet("if_nametoindex") != nullptr ? 0 : real(name);
}

// The function by which libstdc++ opens a file.
extern "C" FILE* fopen64(const char* path, const char* mode) {
    using function = FILE*(const char*, const char*);
    static function* const real = next<function>("fopen64");
    return meet("fopen64") != nullptr ? nullptr : real(path, mode);
}

extern "C" int open(const char* path, int flags, ...) {
    using function = int(const char*, int, ...);
    static function* const real = next<function>("open");
    return answer("open", [&] { return real(path, flags); });  // the library makes no files
}

// Only waits on a futex and barriers can fail here; other system calls of the library cannot. The
// function reads six arguments, as the kernel does, though callers pass fewer: the address
// sanitizer must not look.
extern "C" __attribute__((no_sanitize("address"))) long syscall(long number, ...) noexcept {
    using function = long(long, ...);
    static function* const real = next<function>("syscall");
    std::va_list list;
    va_start(list, number);
    long given[6];
    for (long& each : given) each = va_arg(list, long);
    va_end(list);
    const bool waits = number == SYS_futex && (given[1] & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET;
    if (waits && meet("futex") != nullptr) return -1;
    if (number == SYS_membarrier && meet("membarrier") != nullptr) return -1;
    return real(number, given[0], given[1], given[2], given[3], given[4], given[5]);
}
