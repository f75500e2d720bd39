// A barrier: a number of tasks and threads go on together when all of them have arrived, phase
// after phase.
//
//     fl::barrier meet{4, [&]() noexcept { std::swap(now, next); }};
//     for (int step = 0; step != steps; ++step) {           // in each of four tasks
//         compute(now, next, own_part);
//         if (!co_await meet.arrive_and_wait(deadline)) { meet.drop(); co_return; }
//     }
//
// Any thread. No allocation. An arrival takes a lock for some instructions; the last one is linear
// in the number of waits.
#pragma once

#include <fairlead/detail/wait/phases.hpp>

#include <cstdint>
#include <expected>
#include <type_traits>
#include <utility>

namespace fairlead {

/// `OnPhase`: called without arguments once for each phase, by the last arrival or by the `drop`
/// that ends the phase, on its thread, before any wait of the phase is told. It must not throw, and
/// must not use the barrier.
template <class OnPhase = wait::nothing_at_phase>
class barrier {
    static_assert(std::is_nothrow_invocable_v<OnPhase&>,
                  "the completion function of a barrier must be noexcept");

public:
    /// `parties`: how many arrivals end a phase. At most so many tasks and threads may use the
    /// barrier.
    explicit barrier(std::uint32_t parties, OnPhase on_phase = {})
        : phases_{parties, std::move(on_phase)} {}

    /// Arrives, and waits until all have arrived, until `deadline` at the latest: `waited<void>`,
    /// which may be `stopped` or `expired`. Then the arrival does not count, and the phase still
    /// needs it: arrive again, or `drop`. A wait whose phase has ended gives its success, also if a
    /// stop or the deadline comes before the task goes on. What was done before each arrival is
    /// seen by the completion function, and after the wait. A task that goes on from the last phase
    /// may destroy the barrier at once.
    [[nodiscard]] auto arrive_and_wait(time_point deadline = never) noexcept {
        return coro::task_wait<arrival>{deadline, phases_};
    }

    /// The same on this thread, which must not be a worker's. The deadline is by the clock of the
    /// system.
    [[nodiscard]] waited<void> arrive_and_wait_blocking(time_point deadline = never) {
        return coro::wait_on_thread<arrival>(deadline, phases_);
    }

    /// Arrives if this is the last arrival, which ends the phase. False: it would have to wait, and
    /// has not arrived.
    [[nodiscard]] bool try_arrive() noexcept { return phases_.arrive_if_last(); }

    /// One party fewer is needed for this phase and all later ones: the caller, which has not
    /// arrived, leaves for good. If all that are left have arrived, the phase ends.
    void drop() noexcept { phases_.leave(); }

    /// How many arrivals end a phase. A moment later they may be fewer.
    [[nodiscard]] std::uint32_t parties() noexcept { return phases_.parties(); }
    /// How many have arrived in this phase, for reports.
    [[nodiscard]] std::uint32_t arrived() noexcept { return phases_.arrived(); }

private:
    using arrival = coro::operation_on<wait::phases<OnPhase>>;

    wait::phases<OnPhase> phases_;
};

}  // namespace fairlead
