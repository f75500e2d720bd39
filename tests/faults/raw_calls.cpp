// mmap64() and syscall(), by which the library asks the kernel what the C library has no function
// for: waits on a futex, barriers, io_uring.
#include "faults/meet.hpp"

#include <fcntl.h>
#include <linux/futex.h>
#include <linux/io_uring.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdarg>
#include <cstddef>
#include <cstdint>

using fairlead::test::fault;
using fairlead::test::meet;
using fairlead::test::next;

namespace {

// The newest ring, as the library sees it: to end an operation otherwise than the kernel would.
struct seen_ring {
    io_uring_params made{};
    std::byte* queues = nullptr;
    io_uring_sqe* entries = nullptr;

    [[nodiscard]] unsigned word(unsigned offset) const {
        return __atomic_load_n(reinterpret_cast<unsigned*>(queues + offset), __ATOMIC_ACQUIRE);
    }
    [[nodiscard]] io_uring_sqe& newest() const {
        return entries[(word(made.sq_off.tail) - 1) & word(made.sq_off.ring_mask)];
    }
    // The newest completion of `number` that was not taken.
    void change(std::uint64_t number, std::int32_t result) const {
        auto* const all = reinterpret_cast<io_uring_cqe*>(queues + made.cq_off.cqes);
        const unsigned mask = word(made.cq_off.ring_mask);
        for (unsigned at = word(made.cq_off.tail); at != word(made.cq_off.head); --at) {
            io_uring_cqe& each = all[(at - 1) & mask];
            if (each.user_data != number) continue;
            each.res = result;
            return;
        }
    }
};
seen_ring ring;

// Gives the newest entry to the kernel. "ring read" and "ring write" are faults of the operation
// itself: a cut one moves one byte, any other one does nothing, and has the error as its result; a
// fault without an error has moved nothing. One worker: no other may take the completion before it
// is changed.
template <class Call>
long give_to_kernel(Call real) noexcept {
    io_uring_sqe& newest = ring.newest();
    const char* const name = newest.opcode == IORING_OP_READ    ? "ring read"
                             : newest.opcode == IORING_OP_WRITE ? "ring write"
                                                                : "ring other";
    const auto met_here = meet(name);
    if (!met_here) return real();
    if (met_here->manner == fault::how::cut) {
        newest.len = std::min(newest.len, 1U);
        return real();
    }
    const std::uint64_t number = newest.user_data;
    newest = {};
    newest.opcode = IORING_OP_NOP;
    newest.user_data = number;
    const long result = real();
    ring.change(number, -met_here->error);
    return result;
}

}  // namespace

extern "C" void* mmap64(void* where, size_t size, int protection, int flags, int fd,
                        off_t from) noexcept {
    using function = void*(void*, size_t, int, int, int, off_t);
    static function* const real = next<function>("mmap64");
    if (meet("mmap64").has_value()) return MAP_FAILED;
    void* const mapped = real(where, size, protection, flags, fd, from);
    if (mapped == MAP_FAILED || (flags & MAP_POPULATE) == 0) return mapped;
    if (from == IORING_OFF_SQ_RING) ring.queues = static_cast<std::byte*>(mapped);
    if (from == IORING_OFF_SQES) ring.entries = static_cast<io_uring_sqe*>(mapped);
    return mapped;
}

// Waits on a futex, barriers, and what io_uring is asked can fail here; other system calls of the
// library cannot. The function reads six arguments, as the kernel does, though callers pass fewer:
// the address sanitizer must not look.
extern "C" __attribute__((no_sanitize("address"))) long syscall(long number, ...) noexcept {
    using function = long(long, ...);
    static function* const real = next<function>("syscall");
    std::va_list list;
    va_start(list, number);
    long given[6];
    for (long& each : given) each = va_arg(list, long);
    va_end(list);
    const auto call = [&] {
        return real(number, given[0], given[1], given[2], given[3], given[4], given[5]);
    };
    const bool waits = number == SYS_futex && (given[1] & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET;
    if (waits && meet("futex").has_value()) return -1;
    if (number == SYS_membarrier && meet("membarrier").has_value()) return -1;
    if (number == SYS_io_uring_setup) {
        if (meet("io_uring_setup").has_value()) return -1;
        const long made = call();
        ring.made = *reinterpret_cast<io_uring_params*>(given[1]);
        return made;
    }
    if (number == SYS_io_uring_register && meet("io_uring_register").has_value()) return -1;
    if (number == SYS_io_uring_enter && given[1] != 0) {
        if (meet("io_uring_enter").has_value()) return -1;
        return give_to_kernel(call);
    }
    return call();
}
