#include "io/file_ring.hpp"

#include <fairlead/detail/io/errors.hpp>
#include <fairlead/sched/scheduler.hpp>

#include <poll.h>
#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <utility>

namespace fairlead::io::detail {

namespace {

constexpr std::size_t size_max = std::size_t{1} << 30U;  // the kernel takes at most 2 GiB at once
constexpr std::uint64_t of_cancel = 0;  // what a completion says that is of no operation

}  // namespace

// --- one operation -------------------------------------------------------------------------------

ring_transfer::ring_transfer(kernel_ring::operation what, int fd, const void* data,
                             std::size_t size, std::uint64_t offset) noexcept
    : entry_{.what = what,
             .fd = fd,
             .size = static_cast<std::uint32_t>(std::min(size, size_max)),
             .data = reinterpret_cast<std::uint64_t>(data),
             .offset = offset,
             .number = reinterpret_cast<std::uint64_t>(this)} {}

bool ring_transfer::begin(coro::root& bottom) noexcept {
    auto* const driver = dynamic_cast<epoll_driver*>(&bottom.home().driver());
    if (driver == nullptr || bottom.ends_waits()) return false;
    waiting_ = &bottom;
    ring_ = &driver->files();
    return ring_->begin(*this);
}

// The last touch, but for a task that is armed: it goes on after the round.
void ring_transfer::end(std::int32_t result, event_sink* sink) noexcept {
    basic_task* const armed = armed_;
    result_ = result;
    has_ended_.store(true, sync::release);  // [UR1] after the result
    if (armed != nullptr && sink != nullptr) sink->fire(*armed);
}

bool ring_transfer::arm(basic_task& task) noexcept {
    if (has_ended()) return false;
    armed_ = &task;
    return true;
}

void ring_transfer::disarm(basic_task&) noexcept { armed_ = nullptr; }

bool ring_transfer::is_woken() noexcept {
    if (has_ended()) return true;
    waiting_->wait_for(*this);  // a post uses it up
    return false;
}

bool ring_transfer::interrupt(coro::interruption) noexcept {
    return ring_->take_back_or_cancel(*this) || is_woken();
}

bool ring_transfer::withdraw() noexcept {
    ring_->await_end(*this);
    return true;
}

// --- the ring ------------------------------------------------------------------------------------

// Under the mutex. A ring that is refused once is not tried again.
bool file_ring::make_if_needed() noexcept {
    if (state_ != state::untried) return state_ == state::open;
    state_ = state::refused;
    if (operations_max_ == 0) return false;
    refusal_ = ring_.open(operations_max_);
    if (refusal_ != 0) return false;
    epoll_event edge{.events = EPOLLIN | EPOLLET, .data = {.ptr = mark_}};
    if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, ring_.descriptor(), &edge) != 0) {
        refusal_ = errno;
        return false;
    }
    state_ = state::open;
    return true;
}

bool file_ring::begin(ring_transfer& operation) noexcept {
    const std::lock_guard lock{mutex_};
    if (!make_if_needed()) return false;
    // [UR2] Before the kernel has it: what the task has written into the operation precedes what
    // the role does with it. The kernel is between them, which tools do not know.
    sources_.fetch_add(1, sync::acq_rel);
    if (in_flight_ == operations_max_) {
        queued_.push_back(operation);
        return true;
    }
    if (give(operation)) return true;
    sources_.fetch_sub(1, sync::acq_rel);
    return false;
}

// Under the mutex.
bool file_ring::give(ring_transfer& operation) noexcept {
    if (ring_.submit(operation.entry_) != 0) {
        ++counts_.refused_operations;
        return false;
    }
    ++counts_.operations;
    ++in_flight_;
    return true;
}

// When the call returns the kernel has looked for the operation: so it does not take a later one
// at the same address for it. If it is too late, or the call fails, the operation ends by itself.
bool file_ring::take_back_or_cancel(ring_transfer& operation) noexcept {
    const std::lock_guard lock{mutex_};
    if (queue::has(operation)) {
        queued_.erase(operation);
        sources_.fetch_sub(1, sync::acq_rel);
        return true;
    }
    if (operation.has_ended() || std::exchange(operation.is_cancelled_, true)) return false;
    const kernel_ring::entry cancel{.what = kernel_ring::operation::cancel,
                                    .data = operation.entry_.number,
                                    .number = of_cancel};
    if (ring_.submit(cancel) == 0) ++counts_.cancels;
    return false;
}

void file_ring::reap(event_sink* sink) noexcept {
    std::size_t ended = 0;
    kernel_ring::completion each;
    while (ring_.pop(each)) {
        if (each.number == of_cancel) continue;
        // [UR2] After each pop: the operation may have begun while this loop went on.
        static_cast<void>(sources_.load(sync::acquire));
        reinterpret_cast<ring_transfer*>(each.number)->end(each.result, sink);
        ++ended;
    }
    if (ended != 0) give_queued(ended, sink);
}

// Those that wait, in the place of those that have ended.
void file_ring::give_queued(std::size_t ended, event_sink* sink) noexcept {
    const std::lock_guard lock{mutex_};
    in_flight_ -= ended;
    while (in_flight_ != operations_max_) {
        ring_transfer* const next = queued_.pop_front();
        if (next == nullptr) break;
        if (give(*next)) continue;
        next->end(-EAGAIN, sink);  // for a thread
        ++ended;
    }
    sources_.fetch_sub(ended, sync::acq_rel);
}

void file_ring::await_end(ring_transfer& operation) noexcept {
    if (operation.has_ended() || take_back_or_cancel(operation)) return;
    for (;;) {
        reap(nullptr);
        if (operation.has_ended()) return;
        pollfd asked{.fd = ring_.descriptor(), .events = POLLIN, .revents = 0};
        ::poll(&asked, 1, -1);
    }
}

file_ring_stats file_ring::stats() noexcept {
    const std::lock_guard lock{mutex_};
    file_ring_stats now = counts_;
    now.is_open = state_ == state::open;
    if (refusal_ != 0) now.refused = system_error(refusal_);
    return now;
}

}  // namespace fairlead::io::detail
