// An io_uring of the kernel: two queues in memory that both sides see, and three system calls.
//
//     submit:  entry -> submission queue -> io_uring_enter -> the kernel has it
//     pop:     completion queue -> completion
//
// One thread at a time submits, and one at a time pops; the two may be different threads. Each
// entry is given to the kernel at once, so the submission queue never has more than one.
#pragma once

#include <fairlead/detail/sync/atomic.hpp>
#include <fairlead/os/unique_fd.hpp>

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

struct io_uring_cqe;
struct io_uring_sqe;

namespace fairlead::io::detail {

class kernel_ring {
public:
    enum class operation : std::uint8_t { nothing, read, write, cancel };

    // `number`: the completion has it. Of `cancel`, `data` is the number of the operation.
    struct entry {
        operation what = operation::nothing;
        int fd = -1;
        std::uint32_t size = 0;
        std::uint64_t data = 0;  // an address
        std::uint64_t offset = 0;
        std::uint64_t number = 0;
    };
    struct completion {
        std::uint64_t number = 0;
        std::int32_t result = 0;  // negative: an error
    };

    kernel_ring() = default;
    kernel_ring(const kernel_ring&) = delete;
    kernel_ring& operator=(const kernel_ring&) = delete;

    // Makes it, for `entries` operations at once, and tries it. An error of the system, or 0. Once.
    [[nodiscard]] int open(unsigned entries) noexcept;

    // For epoll: readable while there are completions.
    [[nodiscard]] int descriptor() const noexcept { return fd_.get(); }

    // Gives the entry to the kernel: 0; or an error, and the kernel does not know the entry.
    [[nodiscard]] int submit(const entry& given) noexcept;

    // Takes the oldest completion. False: there is none.
    [[nodiscard]] bool pop(completion& into) noexcept;

private:
    using word = sync::atomic<unsigned>;

    // Memory that is shared with the kernel.
    class mapping {
    public:
        mapping() = default;
        mapping(const mapping&) = delete;
        mapping& operator=(const mapping&) = delete;
        ~mapping();
        [[nodiscard]] bool map(int fd, std::size_t size, off_t what) noexcept;
        template <class T>
        [[nodiscard]] T* at(std::size_t offset) const noexcept {
            return reinterpret_cast<T*>(begin_ + offset);
        }

    private:
        std::byte* begin_ = nullptr;
        std::size_t size_ = 0;
    };

    [[nodiscard]] int has_operations() const noexcept;
    [[nodiscard]] int try_it() noexcept;

    os::unique_fd fd_;
    mapping queues_;
    mapping entries_;

    // The submission queue. `sq_head_`: what the kernel has taken; it moves in a call of `submit`.
    word* sq_head_ = nullptr;
    word* sq_tail_ = nullptr;
    word* sq_flags_ = nullptr;
    unsigned sq_mask_ = 0;
    io_uring_sqe* sqes_ = nullptr;

    // The completion queue. The kernel writes completions and then `cq_tail_`; `pop` reads them and
    // then writes `cq_head_`.
    word* cq_head_ = nullptr;
    word* cq_tail_ = nullptr;
    unsigned cq_mask_ = 0;
    const io_uring_cqe* cqes_ = nullptr;
};

}  // namespace fairlead::io::detail
