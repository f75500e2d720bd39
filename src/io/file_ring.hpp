// Reads and writes of files by io_uring: what is not in memory, without a thread.
//
//     begin -> the kernel, or, if it has enough, a queue
//       the kernel ends it -> epoll tells of the ring -> the role reaps -> the task goes on
//
// 1. An operation is a source of the task that awaits it. The role arms it and fires it, as it does
//    with edges, so an end before the task sleeps is remembered, and each await ends exactly once.
// 2. The buffer is the kernel's until the operation has ended. A stop or a deadline asks the kernel
//    to cancel it, and the task waits on. The destructor of a scheduler waits, too.
// 3. An operation that fails, or was cancelled, has done nothing that counts. The caller tries it
//    on a thread, and its error is that of the thread. So nothing depends on what a kernel or a
//    file system does with a ring.
// 4. The kernel has at most as many operations as there are entries, so completions always have
//    room: each operation has one, and one if it is cancelled.
//
// The submission side is under a mutex, as any worker begins operations. The completion side
// belongs to the role. Design, and what was measured: ADR 47.
#pragma once

#include "io/kernel_ring.hpp"

#include <fairlead/detail/base/list.hpp>
#include <fairlead/detail/coro/awaited_operation.hpp>
#include <fairlead/detail/coro/foreign_wait.hpp>
#include <fairlead/detail/coro/root.hpp>
#include <fairlead/detail/sync/atomic.hpp>
#include <fairlead/detail/sync/mutex.hpp>
#include <fairlead/io/epoll_driver.hpp>
#include <fairlead/sched/driver.hpp>

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <span>

namespace fairlead::io::detail {

class file_ring;

// A read or a write of a part of a file, awaited. It gives how many bytes were moved; 0: the end of
// the file; negative: nothing is done, try it on a thread.
class ring_transfer final : public coro::awaited_operation, private wait_source {
public:
    ring_transfer(int fd, std::span<std::byte> into, std::uint64_t offset) noexcept
        : ring_transfer{kernel_ring::operation::read, fd, into.data(), into.size(), offset} {}
    ring_transfer(int fd, std::span<const std::byte> from, std::uint64_t offset) noexcept
        : ring_transfer{kernel_ring::operation::write, fd, from.data(), from.size(), offset} {}
    ring_transfer(const ring_transfer&) = delete;
    ring_transfer& operator=(const ring_transfer&) = delete;

    [[nodiscard]] bool await_ready() const noexcept { return false; }
    template <coro::on_a_root Promise>
    [[nodiscard]] bool await_suspend(std::coroutine_handle<Promise> leaf) noexcept {
        coro::root& bottom = *leaf.promise().bottom;
        if (!begin(bottom)) return false;
        bottom.wait_at(leaf, leaf.promise(), coro::root::until::agreement, never);
        bottom.await_operation(*this);
        bottom.wait_for(*this);
        return true;
    }
    [[nodiscard]] std::int32_t await_resume() const noexcept { return result_; }

private:
    friend class file_ring;

    ring_transfer(kernel_ring::operation what, int fd, const void* data, std::size_t size,
                  std::uint64_t offset) noexcept;

    // False: there is no ring, or the task must not wait.
    [[nodiscard]] bool begin(coro::root& bottom) noexcept;
    void end(std::int32_t result, event_sink* sink) noexcept;
    [[nodiscard]] bool has_ended() const noexcept {
        return has_ended_.load(sync::acquire);  // [UR1] the result is there
    }

    [[nodiscard]] bool arm(basic_task& task) noexcept override;
    void disarm(basic_task& task) noexcept override;
    [[nodiscard]] bool is_woken() noexcept override;
    [[nodiscard]] bool interrupt(coro::interruption why) noexcept override;
    [[nodiscard]] bool withdraw() noexcept override;

    const kernel_ring::entry entry_;
    file_ring* ring_ = nullptr;
    coro::root* waiting_ = nullptr;
    basic_task* armed_ = nullptr;  // the role's
    bool is_cancelled_ = false;    // asked for once: that makes one completion more
    std::int32_t result_ = -1;
    // The role sets it, after the result; the task asks when it was woken for another reason.
    sync::atomic<bool> has_ended_{false};
    base::list_links<ring_transfer> links_;  // while it is queued, under the mutex of the ring
};

// That of one driver. Made at the first operation, so a program without such files has none.
class file_ring {
public:
    // Events of the ring come to `epoll` with `mark`. `sources` counts what is awaited.
    file_ring(const epoll_driver_options& options, int epoll, void* mark,
              sync::atomic<std::size_t>& sources) noexcept
        : operations_max_{options.file_ring ? options.file_operations_max : 0},
          epoll_{epoll},
          mark_{mark},
          sources_{sources} {}
    file_ring(const file_ring&) = delete;
    file_ring& operator=(const file_ring&) = delete;

    // True: it will end. Any thread.
    [[nodiscard]] bool begin(ring_transfer& operation) noexcept;

    // Takes back an operation that the kernel does not have yet: true; or asks the kernel to cancel
    // it. On the worker of its task.
    [[nodiscard]] bool take_back_or_cancel(ring_transfer& operation) noexcept;

    // Ends what the kernel has ended. Without a sink it fires no task. The role.
    void reap(event_sink* sink) noexcept;

    // Takes the operation back, or cancels it and waits for its end. The role.
    void await_end(ring_transfer& operation) noexcept;

    [[nodiscard]] file_ring_stats stats() noexcept;

private:
    using queue = base::list<ring_transfer, &ring_transfer::links_>;

    [[nodiscard]] bool make_if_needed() noexcept;
    [[nodiscard]] bool give(ring_transfer& operation) noexcept;
    void give_queued(std::size_t ended, event_sink* sink) noexcept;

    const unsigned operations_max_;  // 0: there is none
    const int epoll_;
    void* const mark_;
    sync::atomic<std::size_t>& sources_;

    sync::mutex mutex_;
    // Guarded by mutex_, as is the submission side of ring_.
    enum class state : std::uint8_t { untried, open, refused } state_ = state::untried;
    int refusal_ = 0;
    std::size_t in_flight_ = 0;  // what the kernel has
    queue queued_;               // the rest, the oldest first
    file_ring_stats counts_;

    kernel_ring ring_;
};

}  // namespace fairlead::io::detail
