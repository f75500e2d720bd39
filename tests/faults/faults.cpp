#include "faults/faults.hpp"

#include <dirent.h>
#include <dlfcn.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdarg>
#include <cstdlib>
#include <ctime>
#include <new>

namespace fairlead::test {
namespace {

// One plan for the process. Written while it is not armed; the counters by any thread.
fault planned;
call_range range{};
std::atomic<bool> is_armed{false};
std::atomic<std::int64_t> calls{0};
std::atomic<bool> has_hit{false};

std::atomic<std::int64_t> live{0};

// Whether this call of `name` is to fail; errno is set then.
bool fails(const char* name) noexcept {
    if (!is_armed.load(std::memory_order_acquire) || std::strcmp(planned.call, name) != 0) {
        return false;
    }
    const std::int64_t n = ++calls;
    if (n < range.first || n > range.last) return false;
    has_hit = true;
    errno = planned.error;
    return true;
}

// What the call answers.
template <class Call>
auto answer(const char* name, Call real) noexcept -> decltype(real()) {
    if (!fails(name)) return real();
    if (planned.manner == fault::how::after) {
        static_cast<void>(real());
        errno = planned.error;
    }
    return -1;
}

template <class Function>
Function* next(const char* name) noexcept {
    return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

void* allocate(std::size_t size, std::size_t alignment) noexcept {
    if (fails("operator new")) return nullptr;
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
    planned = what;
    range = when;
    calls = 0;
    has_hit = false;
    is_armed.store(true, std::memory_order_release);
}

armed::~armed() { is_armed = false; }

bool armed::hit() const { return has_hit; }

std::int64_t live_allocations() { return live; }

int open_descriptors() {
    DIR* const folder = ::opendir("/proc/self/fd");
    int count = -1;  // that of the folder itself
    while (const dirent* const each = ::readdir(folder)) {
        if (each->d_name[0] != '.') ++count;
    }
    ::closedir(folder);
    return count;
}

}  // namespace fairlead::test

// --- memory ---------------------------------------------------------------------------------------

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

// --- the system -----------------------------------------------------------------------------------

using fairlead::test::answer;
using fairlead::test::fails;
using fairlead::test::next;

// Defines the function of the C library that has this name, these parameters and arguments.
#define FAIRLEAD_TEST_FALLIBLE(name, parameters, arguments)              \
    extern "C" int name parameters {                                     \
        using function = int parameters;                                 \
        static function* const real = next<function>(#name);             \
        return answer(#name, [&]() noexcept { return real arguments; }); \
    }

// Those that glibc declares with __THROW, and those that it does not.
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
    if (fairlead::test::planned.manner == fairlead::test::fault::how::cut) {
        return real(fd, data, fails("send") ? std::min<size_t>(size, 1) : size, flags);
    }
    return answer("send", [&] { return real(fd, data, size, flags); });
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

// Only the wall clock fails.
extern "C" int clock_gettime(clockid_t clock, timespec* now) noexcept {
    using function = int(clockid_t, timespec*);
    static function* const real = next<function>("clock_gettime");
    if (clock == CLOCK_REALTIME && fails("clock_gettime")) return -1;
    return real(clock, now);
}

// Its error is its result.
extern "C" int pthread_create(pthread_t* made, const pthread_attr_t* with, void* (*body)(void*),
                              void* given) noexcept {
    using function = int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
    static function* const real = next<function>("pthread_create");
    if (fails("pthread_create")) return errno;
    return real(made, with, body, given);
}

// Only waits on a futex fail: everything else that goes this way cannot.
extern "C" long syscall(long number, ...) noexcept {
    using function = long(long, ...);
    static function* const real = next<function>("syscall");
    std::va_list list;
    va_start(list, number);
    long given[6];
    for (long& each : given) each = va_arg(list, long);
    va_end(list);
    const bool waits = number == SYS_futex && (given[1] & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET;
    if (waits && fails("futex")) return -1;
    return real(number, given[0], given[1], given[2], given[3], given[4], given[5]);
}
