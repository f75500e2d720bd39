// A worker: a thread that runs tasks while it holds a slot. The loop is `run`; everything that it
// does between two steps is in `next` and `search`. A worker that was made for a slot of another,
// as that one blocks, is a job of the threads for calls that block.
//
//     next, look ---> own_posts, ready, a round of the role, thief   where the next task comes from
//     execute    ---> seat, charging                                 its step
//     search     ---> sleeper                                        there is no task
#pragma once

#include "sched/slot/slot.hpp"
#include "sched/worker/charging.hpp"
#include "sched/worker/clock_looks.hpp"
#include "sched/worker/deque_turns.hpp"
#include "sched/worker/own_posts.hpp"
#include "sched/worker/seat.hpp"
#include "sched/worker/sleeper.hpp"
#include "sched/worker/stuck_search.hpp"
#include "sched/worker/thief.hpp"

#include <fairlead/detail/os/thread.hpp>
#include <fairlead/detail/sched/blocking_job.hpp>
#include <fairlead/detail/sync/atomic.hpp>
#include <fairlead/detail/sync/per_thread.hpp>
#include <fairlead/sched/task.hpp>

#include <cstddef>
#include <cstdint>

namespace fairlead::sched {

class core;

class alignas(base::cache_line) worker final {
    // First: the address of a worker is that of its seat, which each post asks for.
    sched::seat seat_;

public:
    worker(core& owner, slot& own, bool is_spare);
    worker(const worker&) = delete;
    worker& operator=(const worker&) = delete;

    // Starts the thread. Throws std::system_error, std::bad_alloc.
    void start();
    void join() {
        if (thread_.joinable()) thread_.join();
    }

    // The loop of the thread: runs tasks until the scheduler halts, or it has lost its slot.
    void run() noexcept;

    // Without a thread: sleeps until `limit` at most if none is ready; then runs tasks until none
    // is ready, or `steps_max` steps have run. Returns the number of steps.
    std::size_t run_ready(time_point limit, std::size_t steps_max) noexcept;

    // Without a thread: from now until the next run_ready a foreign main loop sleeps in place of
    // the driver. Returns until when it may: `immediately` if it must not.
    [[nodiscard]] time_point wait_in_loop() noexcept { return sleeper_.wait_in_loop(); }

    // The worker of the calling thread, or null. Only in functions that are not inlined: a
    // coroutine that moves to another thread must not reuse an address of thread-local memory.
    [[nodiscard]] static worker* current() noexcept { return of_thread::get(); }

    [[nodiscard]] core& owner() const noexcept { return core_; }
    [[nodiscard]] unsigned index() const noexcept { return slot_.index; }
    [[nodiscard]] bool is_alone() const noexcept { return alone_; }

    // --- the step that runs: only on this worker's thread, but for a hand-over -------------------

    [[nodiscard]] sched::seat& seat() noexcept { return seat_; }
    [[nodiscard]] const sched::seat& seat() const noexcept { return seat_; }
    [[nodiscard]] sched::charging& charges() noexcept { return charges_; }

    // Whether the step is to let other tasks have their turn.
    [[nodiscard]] bool should_yield() noexcept;

    // The task that runs, if it has a context.
    [[nodiscard]] basic_task* bearer() const noexcept { return seat_.context().bearer; }
    void set_bearer(basic_task* running) noexcept { seat_.context().bearer = running; }

    // --- the hand-over, under its mutex ----------------------------------------------------------

    // Runs a spare worker on a thread of the pool.
    struct spare_job final : blocking_job {
        explicit spare_job(worker& of) noexcept : of_{of} {}
        void run() noexcept override { of_.run(); }

    private:
        worker& of_;
    };
    [[nodiscard]] blocking_job& job() noexcept { return job_; }

    struct links {
        worker* next = nullptr;       // that rests, or is in a step without a slot
        worker* next_made = nullptr;  // of all spare workers
    } of_handover;
    [[nodiscard]] slot& own_slot() const noexcept { return slot_; }

    // --- any thread ------------------------------------------------------------------------------

    // Whether its thread has left the loop.
    [[nodiscard]] bool ended() const noexcept { return ended_.load(sync::acquire); }

private:
    using of_thread = sync::per_thread<worker*, class worker_that_runs>;

    // What runs between any two steps is inline: a hop from task to task takes as long as a few
    // calls.
    inline basic_task* next() noexcept;
    basic_task* next_behind_arrivals() noexcept;
    inline basic_task* look() noexcept;
    basic_task* look_beside_others() noexcept;
    basic_task* look_elsewhere() noexcept;
    basic_task* search() noexcept;
    basic_task* claim() noexcept;
    basic_task* take_open() noexcept;
    basic_task* take_from_elsewhere() noexcept;
    basic_task* take_over_stuck() noexcept;
    void look_at_clock() noexcept;
    [[nodiscard]] bool groups_want_round(time_point now) const noexcept;
    bool round_if_free(occasion why = occasion::working) noexcept;
    [[nodiscard]] inline bool execute(basic_task& task) noexcept;
    [[nodiscard]] bool execute_with_more(basic_task& task) noexcept;
    [[nodiscard]] bool leave_queue(basic_task& task, home& of) noexcept;
    inline void begin_step(basic_task& task, bool stopping = false) noexcept;
    inline void end_step() noexcept;
    [[nodiscard]] bool end_away(home& of) noexcept;
    void begin_at_slot_of_another() noexcept;

    core& core_;
    slot& slot_;
    const bool is_spare_;          // made for a slot that another had
    const bool alone_;             // the only slot
    const std::size_t claim_min_;  // so many tasks it claims at least, if they are there
    bool searches_ = false;        // it has nothing to do
    clock_looks looks_;
    sched::charging charges_{core_, slot_, looks_};
    stuck_search stuck_;
    own_posts own_{core_, slot_, charges_, stuck_};
    deque_turns turns_;
    thief thief_{core_, slot_};
    sleeper sleeper_{core_, slot_, thief_};

    // Without a monitor, on the caller: the last step that asked should_yield; when it asked first.
    std::uint64_t asked_in_step_ = ~std::uint64_t{0};
    time_point asked_first_{};

    spare_job job_{*this};
    sync::atomic<bool> ended_{true};
    os::thread thread_;
};

}  // namespace fairlead::sched
