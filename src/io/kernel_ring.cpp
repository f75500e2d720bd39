#include "io/kernel_ring.hpp"

#include <linux/io_uring.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace fairlead::io::detail {

namespace {

// Linux 5.12. Before it a full completion queue loses completions (5.5), the memory of an entry
// must stay (5.5), or operations run on threads of the kernel that count against other limits.
constexpr unsigned needed_features = IORING_FEAT_SINGLE_MMAP | IORING_FEAT_NODROP |
                                     IORING_FEAT_SUBMIT_STABLE | IORING_FEAT_EXT_ARG |
                                     IORING_FEAT_NATIVE_WORKERS;
// By `kernel_ring::operation`.
constexpr std::array operations = {IORING_OP_NOP, IORING_OP_READ, IORING_OP_WRITE,
                                   IORING_OP_ASYNC_CANCEL};

int enter(int ring, unsigned submitted, unsigned flags) noexcept {
    return static_cast<int>(::syscall(SYS_io_uring_enter, ring, submitted, 0, flags, nullptr, 0));
}

}  // namespace

kernel_ring::mapping::~mapping() {
    if (begin_ != nullptr) ::munmap(begin_, size_);
}

bool kernel_ring::mapping::map(int fd, std::size_t size, off_t what) noexcept {
    void* const mapped =
        ::mmap64(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, what);
    if (mapped == MAP_FAILED) return false;
    begin_ = static_cast<std::byte*>(mapped);
    size_ = size;
    return true;
}

int kernel_ring::open(unsigned entries) noexcept {
    static_assert(sizeof(word) == sizeof(unsigned) && word::is_always_lock_free);
    io_uring_params made{};
    made.flags = IORING_SETUP_CLAMP;
    fd_ = os::unique_fd{static_cast<int>(::syscall(SYS_io_uring_setup, entries, &made))};
    if (!fd_.valid()) return errno;
    if ((made.features & needed_features) != needed_features) return EOPNOTSUPP;
    if (const int error = has_operations()) return error;

    const std::size_t sq_size = made.sq_off.array + made.sq_entries * sizeof(unsigned);
    const std::size_t cq_size = made.cq_off.cqes + made.cq_entries * sizeof(io_uring_cqe);
    if (!queues_.map(fd_.get(), std::max(sq_size, cq_size), IORING_OFF_SQ_RING) ||
        !entries_.map(fd_.get(), made.sq_entries * sizeof(io_uring_sqe), IORING_OFF_SQES)) {
        return errno;
    }
    sq_head_ = queues_.at<word>(made.sq_off.head);
    sq_tail_ = queues_.at<word>(made.sq_off.tail);
    sq_flags_ = queues_.at<word>(made.sq_off.flags);
    sq_mask_ = *queues_.at<unsigned>(made.sq_off.ring_mask);
    sqes_ = entries_.at<io_uring_sqe>(0);
    cq_head_ = queues_.at<word>(made.cq_off.head);
    cq_tail_ = queues_.at<word>(made.cq_off.tail);
    cq_mask_ = *queues_.at<unsigned>(made.cq_off.ring_mask);
    cqes_ = queues_.at<io_uring_cqe>(made.cq_off.cqes);
    // The kernel finds entries through this array: each place has the entry of its number.
    auto* const places = queues_.at<unsigned>(made.sq_off.array);
    for (unsigned i = 0; i != made.sq_entries; ++i) places[i] = i;
    return try_it();
}

// 0: the kernel knows all operations.
int kernel_ring::has_operations() const noexcept {
    constexpr unsigned asked = 64;
    constexpr std::size_t size = sizeof(io_uring_probe) + asked * sizeof(io_uring_probe_op);
    alignas(io_uring_probe) std::array<std::byte, size> memory{};
    auto* const probe = reinterpret_cast<io_uring_probe*>(memory.data());
    if (::syscall(SYS_io_uring_register, fd_.get(), IORING_REGISTER_PROBE, probe, asked) != 0) {
        return errno;
    }
    const bool all = std::ranges::all_of(operations, [&](unsigned each) {
        return each <= probe->last_op && (probe->ops[each].flags & IO_URING_OP_SUPPORTED) != 0;
    });
    return all ? 0 : EOPNOTSUPP;
}

// A filter of system calls may let a ring be made, and refuse to use it.
int kernel_ring::try_it() noexcept {
    if (const int error = submit({.what = operation::nothing})) return error;
    completion end;
    return pop(end) && end.result == 0 ? 0 : EOPNOTSUPP;
}

int kernel_ring::submit(const entry& given) noexcept {
    const unsigned tail = sq_tail_->load(sync::relaxed);  // only this side writes it
    io_uring_sqe& next = sqes_[tail & sq_mask_];
    std::memset(&next, 0, sizeof(next));
    next.opcode = static_cast<std::uint8_t>(operations[std::to_underlying(given.what)]);
    next.fd = given.fd;
    next.addr = given.data;
    next.len = given.size;
    next.off = given.offset;
    next.user_data = given.number;
    // release: the kernel reads the entry after the tail. It does so in the call below only.
    sq_tail_->store(tail + 1, sync::release);
    int error = 0;
    do {
        error = enter(fd_.get(), 1, 0) < 0 ? errno : 0;
        // acquire: pairs with the kernel, which has read the entry when it has moved the head.
        if (sq_head_->load(sync::acquire) == tail + 1) return 0;
    } while (error == EINTR);
    sq_tail_->store(tail, sync::release);  // as before: no other call is under way
    return error != 0 ? error : EAGAIN;
}

bool kernel_ring::pop(completion& into) noexcept {
    const unsigned head = cq_head_->load(sync::relaxed);  // only this side writes it
    // acquire, twice: pairs with the kernel, which writes completions before the tail.
    if (cq_tail_->load(sync::acquire) == head) {
        // What there was no room for the kernel keeps, until it is asked. Relaxed: a flag that is
        // set a moment later comes with an event of its own.
        if ((sq_flags_->load(sync::relaxed) & IORING_SQ_CQ_OVERFLOW) == 0) return false;
        static_cast<void>(enter(fd_.get(), 0, IORING_ENTER_GETEVENTS));
        if (cq_tail_->load(sync::acquire) == head) return false;
    }
    const io_uring_cqe& oldest = cqes_[head & cq_mask_];
    into = {.number = oldest.user_data, .result = oldest.res};
    cq_head_->store(head + 1, sync::release);  // the kernel may write there now
    return true;
}

}  // namespace fairlead::io::detail
