// A latch: tasks and threads wait until a number of things has happened, once.
//
//     fl::latch loaded{3};
//     for (auto& each : shards) fl::spawn(scheduler, load(each, loaded)).detach();  // arrive()
//     co_await loaded.wait();
//
// To await tasks that the caller owns, use a scope or `when_all`: these carry failures, too.
//
// Any thread. No allocation. An arrival before the last one is one exchange of a word; the last one
// is linear in the number of waits.
#pragma once

#include <fairlead/detail/wait/line_operations.hpp>

#include <cstdint>
#include <expected>

namespace fairlead {

/// A line of as many permits as there are arrivals. Each is taken until its arrival; a wait needs
/// all of them, and takes none.
class latch {
public:
    /// `arrivals`: how many are awaited.
    explicit latch(std::uint32_t arrivals) noexcept
        : arrivals_{arrivals}, line_{arrivals, arrivals} {}

    /// So many arrivals, of which there must be no more than are left. What was done before is seen
    /// by what goes on. The last arrival is the last touch of the latch: the last task that goes on
    /// may destroy it at once.
    void arrive(std::uint32_t count = 1) noexcept {
        FAIRLEAD_ASSERT(line_.taken() >= count, "more arrived at a latch than it was made for");
        line_.give_back(count);
    }

    /// Whether all have arrived.
    [[nodiscard]] bool is_open() const noexcept { return line_.has_free(arrivals_); }

    /// How many have not arrived. A moment later they may be fewer.
    [[nodiscard]] std::uint32_t left() const noexcept {
        return static_cast<std::uint32_t>(line_.taken());
    }

    /// Waits for the last arrival, until `deadline` at the latest: `waited<void>`, which may be
    /// `stopped` or `expired`.
    [[nodiscard]] wait::signal_wait wait(time_point deadline = never) noexcept {
        return wait::signal_wait{deadline, line_, arrivals_, 0U};
    }

    /// Arrives once, now, and waits when it is awaited. The arrival counts also if the wait ends
    /// early. The latch must live until all such waits are over.
    [[nodiscard]] wait::signal_wait arrive_and_wait(time_point deadline = never) noexcept {
        arrive();
        return wait(deadline);
    }

    /// The same as `wait` on this thread, which must not be a worker's. The deadline is by the
    /// clock of the system.
    [[nodiscard]] waited<void> wait_blocking(time_point deadline = never) {
        return coro::wait_on_thread<wait::signal_operation>(deadline, line_, arrivals_, 0U);
    }

private:
    const std::uint32_t arrivals_;
    sync::line line_;
};

}  // namespace fairlead
