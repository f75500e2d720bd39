// A worker: a thread that runs tasks while it holds a slot. The loop is `run`; everything that it
// does between two steps is in `next` and `search`. A worker that was made for a slot of another, as that one blocks, is
// a job of the threads for calls that block.
#pragma once

#include "sched/lease.hpp"
#include "sched/slot.hpp"

#include <fairlead/detail/os/thread.hpp>
#include <fairlead/detail/sched/blocking_job.hpp>
#include <fairlead/detail/sync/atomic.hpp>
#include <fairlead/detail/sync/per_thread.hpp>
#include <fairlead/sched/task.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace fairlead::sched {

class core;

class alignas(base::cache_line) worker final : public blocking_job {
public:
    worker(core& owner, slot& own, unsigned index, bool is_spare);
    worker(const worker&) = delete;
    worker& operator=(const worker&) = delete;

    // It is to hold its slot from now on. Before its loop.
    void take_slot() noexcept;

    // Starts the thread. Throws std::system_error, std::bad_alloc.
    void start();
    void join();

    // The loop of the thread: runs tasks until the scheduler halts, or it has lost its slot.
    void run() noexcept override;

    // Without a thread: runs the tasks that are ready now, sleeping at most until `limit` for the
    // first one, and running at most `steps_max`. Returns the number of steps.
    std::size_t run_ready(time_point limit, std::size_t steps_max) noexcept;

    // Without a thread: from now until the next run_ready a foreign main loop sleeps in place of the driver. Returns until when it
    // may: `immediately` if it must not.
    [[nodiscard]] time_point wait_in_loop() noexcept;

    // Posts what a step posts or wakes: newest -> ... -> oldest. Only on this worker's thread.
    void post(basic_task& newest, basic_task& oldest, posted how) noexcept;

    // Likewise, to a group that is not the default one.
    void post_to_group(const group_state& group, basic_task& newest, basic_task& oldest,
                       posted how) noexcept;

    // The worker of the calling thread, or null. Only in functions that are not inlined: a coroutine
    // that moves to another thread must not reuse an address of thread-local memory.
    [[nodiscard]] static worker* current() noexcept { return of_thread::get(); }

    [[nodiscard]] core& owner() const noexcept { return core_; }
    [[nodiscard]] unsigned index() const noexcept { return index_; }

    // Whether the step that runs is to let others have their turn. Only on this worker's thread.
    [[nodiscard]] bool should_yield() noexcept;

    // Wakes another worker for what this one has opened to it. Only on this worker's thread.
    void wake_thief() noexcept;

    // Where the step that runs may offer forks; it keeps the slot from now on. Only on this worker's thread.
    [[nodiscard]] offered_forks& offers() noexcept;

    // The depth of the task that runs. Only on this worker's thread.
    [[nodiscard]] std::uint32_t running_depth() noexcept;

    // The task that runs, if it has a context. Only on this worker's thread.
    [[nodiscard]] basic_task* bearer() const noexcept { return bearer_; }
    void set_bearer(basic_task* running) noexcept { bearer_ = running; }

    // A task is posted to this home: whether the step that runs has what holds the group for it. Only on this worker's
    // thread.
    [[nodiscard]] bool gives_hold(const home& to) noexcept { return lease_.gives_hold(to); }

    // Whether it holds a slot. Only on this worker's thread.
    [[nodiscard]] bool has_slot() const noexcept { return !away_; }

    // Whether its thread has left the loop. Any thread.
    [[nodiscard]] bool ended() const noexcept { return ended_.load(sync::acquire); }

    // The name of the step that runs, or null. Any thread. acquire: it belongs to the step that was published with it, and
    // what its worker did to the slot before.
    [[nodiscard]] const char* step_name() const noexcept { return step_name_.load(sync::acquire); }

    // The thread that runs it, or 0.
    [[nodiscard]] int thread_id() const noexcept { return thread_id_.load(sync::relaxed); }

private:
    using of_thread = sync::per_thread<worker*, class worker_that_runs>;

    // Inline is what is done between any two steps: a hop from task to task takes as long as a few calls.
    inline basic_task* next() noexcept;
    basic_task* next_behind_arrivals() noexcept;
    inline basic_task* look() noexcept;
    basic_task* look_beside_others() noexcept;
    basic_task* look_elsewhere() noexcept;
    basic_task* search() noexcept;
    basic_task* claim() noexcept;
    basic_task* steal() noexcept;
    basic_task* steal_fork(slot& victim) noexcept;
    basic_task* steal_open(slot& victim) noexcept;
    basic_task* take_open() noexcept;
    basic_task* take_older() noexcept;
    void post_from_slot(basic_task& newest, basic_task& oldest, posted how) noexcept;
    void post_with_care(basic_task& newest, basic_task& oldest, posted how) noexcept;
    inline void post_at_slot(lane to, basic_task& newest, basic_task& oldest, posted how,
                             std::uint64_t step, bool leased = false) noexcept;
    void post_to_inbox(lane to, basic_task& newest, basic_task& oldest, std::uint64_t step,
                       unsigned rather) noexcept;
    [[nodiscard]] inline bool goes_to_inbox(lane to, std::uint64_t step) const noexcept;
    [[nodiscard]] inline bool goes_to_thieves(const basic_task& task, posted how) const noexcept;
    inline basic_task* take_own_posts(bool shared) noexcept;
    [[nodiscard]] inline bool own_posts_are_next() const noexcept;
    [[nodiscard]] bool older_posts_come_first() const noexcept;
    [[nodiscard]] bool others_keep_older_posts() const noexcept;
    inline basic_task* take_due_posts(bool shared, lane from = lane::everyone) noexcept;
    void put_due_into_run(basic_task::chain tasks) noexcept;
    template <bool Shared>
    basic_task* admit_own_posts() noexcept;
    struct admitted {
        basic_task* first = nullptr;
        std::size_t behind = 0;
    };
    inline admitted admit_into_run(basic_task::chain tasks) noexcept;
    [[nodiscard]] bool lease_goes_on() const noexcept;
    basic_task* take_leased_posts() noexcept;
    basic_task* admit_leased_posts(lane from) noexcept;
    void put_into_run(std::span<basic_task* const> tasks) noexcept;
    void spin() noexcept;
    void sleep() noexcept;
    void rescue_posts() noexcept;
    // The clock is read less often while runs are short, and each time once one was long.
    [[nodiscard]] bool time_to_look_for_stuck() noexcept {
        const std::uint64_t steps = slot_.finished.value() - looked_at_step_;
        if (steps < run_queue::capacity && --looks_to_clock_ != 0) return false;
        return clock_says_to_look_for_stuck();
    }
    [[nodiscard]] bool clock_says_to_look_for_stuck() noexcept;
    basic_task* take_over_stuck() noexcept;
    basic_task* take_from(slot& victim) noexcept;
    void look_at_clock() noexcept;
    inline void release_role() noexcept;
    inline void release_after_own_posts() noexcept;
    [[nodiscard]] bool has_timed_posts() const noexcept;
    bool round_if_free(occasion why = occasion::working) noexcept;
    void wake_another() noexcept;
    void wake_bound() noexcept;
    enum class in_driver : std::uint8_t { not_entered, found_task, leaves, stays };
    [[nodiscard]] in_driver enter_driver(time_point limit) noexcept;
    bool sleep_in_driver(time_point limit) noexcept;
    void return_from_loop() noexcept;
    void park(time_point limit) noexcept;
    void answer_drain() noexcept;
    [[nodiscard]] inline bool execute(basic_task& task) noexcept;
    [[nodiscard]] bool execute_with_more(basic_task& task) noexcept;
    [[nodiscard]] bool leave_queue(basic_task& task, home& of) noexcept;
    inline void begin_step(basic_task& task, bool stopping = false) noexcept;
    void begin_at_slot_of_another() noexcept;
    [[nodiscard]] inline bool is_back() noexcept;
    inline void end_step() noexcept;
    [[nodiscard]] bool end_away(home& of) noexcept;
    [[nodiscard]] bool still_has_slot() noexcept;
    void begin_measuring() noexcept;
    [[nodiscard]] duration time_used() noexcept;
    void account(group_state& group) noexcept;
    [[nodiscard]] bool begin_in_lease(home& of) noexcept;
    void take_lease() noexcept;
    void end_in_lease() noexcept;
    // Before a round, which gives turns by what was used; and before the worker looks for something else.
    void end_lease() noexcept {
        if (lease_.is_open() || slot_.turn.has_lease) [[unlikely]]
            end_open_lease();
    }
    void end_open_lease() noexcept;

    static constexpr unsigned claim_max = 128;
    static constexpr unsigned stride_max = 16;
    static constexpr unsigned open_turns = 64;
    static constexpr int relaxed_between_looks = 8;  // each some 40 cycles
    static constexpr duration stuck_after = std::chrono::microseconds{100};
    static constexpr unsigned direct_max = run_queue::capacity;
    static constexpr duration watch_min = std::chrono::microseconds{100};
    static constexpr duration watch_max = std::chrono::milliseconds{1};

    friend class handover;

    // The step is at its slot, until it leaves it. False: it has none any more.
    [[nodiscard]] bool enter_slot() noexcept { return enter_slot_at_once() || still_has_slot(); }
    // Likewise, or it is not sure.
    [[nodiscard]] bool enter_slot_at_once() noexcept {
        at_slot_.store(true, sync::relaxed);
        sync::light_barrier();  // [HO1]
        // acquire: who has relieved it in vain has looked at the slot.
        return !relieved_.load(sync::acquire);
    }
    // release: who takes the slot sees what was done to it.
    void leave_slot() noexcept { at_slot_.store(false, sync::release); }

    core& core_;
    slot& slot_;
    const unsigned index_;  // of the slot
    const bool is_spare_;   // made for a slot that another had
    const bool alone_;      // the only slot
    // No other worker takes the slot from a step unless the step gives it up: the only slot of a
    // scheduler without a monitor, with policy::fair.
    const bool keeps_slot_;

    // What others look at who may take the slot: handover.hpp [HO1].
    sync::atomic<const char*> step_name_{nullptr};  // of the step that runs; null between two
    sync::atomic<bool> at_slot_{false};             // the step is at the slot
    bool away_ = false;                             // it has seen that it has lost the slot
    basic_task* bearer_ = nullptr;                  // of a context, which runs
    counter forked_in_;                   // the number of the last step that has forked, plus one
    sync::atomic<bool> relieved_{false};  // it may have lost the slot
    sync::atomic<int> thread_id_{0};

    // With policy::stealing: how many tasks it has taken of its deque in a row, and about what has its turn next.
    unsigned open_turn_ = 0;
    bool oldest_next_ = false;
    time_point took_oldest_{};
    time_point last_turn_{};        // of what came from elsewhere
    std::size_t size_at_turn_ = 0;  // of the local deque then

    // When the clock is looked at: every `stride_` steps, which adapts to their length.
    unsigned stride_ = 1;
    unsigned steps_to_look_ = 1;
    bool short_steps_ = true;  // since the look before the last
    time_point last_look_{};

    lease lease_;
    unsigned lease_steps_to_look_ = 1;  // at the clock, whether the turn is over

    const basic_task* running_ = nullptr;  // may be gone already
    bool searches_ = false;                // it has nothing to do
    bool in_loop_ = false;                 // a foreign main loop sleeps in place of the driver

    // Of one that has lost its slot, or has none. Guarded by the mutex of the hand-over.
    bool lost_ = false;
    duration used_{};               // by its step before that, to be charged
    worker* next_ = nullptr;        // in one list of the hand-over
    worker* next_made_ = nullptr;   // likewise
    offered_forks offers_away_{0};  // of its step since then: nobody takes these

    // Without a monitor, on the caller: in which step should_yield was asked first, and when.
    std::uint64_t asked_in_step_ = ~std::uint64_t{0};
    time_point asked_first_{};
    unsigned victim_ = 0;  // whom to steal from first

    // How many tasks of its own it may still take before it runs a round, with several workers.
    unsigned direct_left_ = direct_max;

    // As a watcher: for how long it sleeps, and how many steps each slot had run when it began.
    duration watch_interval_ = watch_min;
    std::vector<std::uint64_t> watched_finished_;

    // The search for stuck runs. The stride is 1 while steps are long.
    [[nodiscard]] bool steps_are_long() const noexcept { return look_stride_ == 1; }
    unsigned look_stride_ = 1;
    unsigned looks_to_clock_ = 1;
    time_point stuck_clock_{};
    std::uint64_t looked_at_step_ = 0;
    time_point looked_at_{};
    std::vector<std::uint64_t> seen_finished_;  // of each slot, when it looked last

    sync::atomic<bool> ended_{true};
    os::thread thread_;
};

}  // namespace fairlead::sched
