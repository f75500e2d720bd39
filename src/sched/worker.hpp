// A worker: a thread that runs tasks while it holds a slot. The loop is `run`; everything that it
// does between two steps is in `next` and `search`.
#pragma once

#include "sched/slot.hpp"

#include <fairlead/os/thread.hpp>
#include <fairlead/sched/task.hpp>
#include <fairlead/sync/per_thread.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace fairlead::sched {

class core;

// Posts, by how much must be done before their tasks run or sleep. Nothing: up to `again`. The holder of
// the role takes it from the sleepers, or puts it there: up to `sleeps`. A round: the others.
enum class post_kind : std::uint8_t {
    plain,   // a fresh task, due at once
    again,   // likewise, but it goes on: it has had its turn
    woken,   // a sleeper
    sleeps,  // without a deadline and a source
    timed,   // with one of them
    batch,   // several that are due at once
};

// What is known of a post.
struct posted {
    post_kind kind;
    bool last;  // the step ends with it
};

class worker {
public:
    worker(core& owner, slot& own, unsigned index);
    worker(const worker&) = delete;
    worker& operator=(const worker&) = delete;

    // Starts the thread. Throws std::system_error, std::bad_alloc.
    void start();
    void join();

    // The loop of the thread: runs tasks until the scheduler halts.
    void run() noexcept;

    // Without a thread: runs the tasks that are ready now, sleeping at most until `limit` for the
    // first one, and running at most `steps_max`. Returns the number of steps.
    std::size_t run_ready(time_point limit, std::size_t steps_max) noexcept;

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

    [[nodiscard]] offered_forks& offers() noexcept { return slot_.offers; }

    // The depth of the task that runs. Only on this worker's thread.
    [[nodiscard]] std::uint32_t running_depth() const noexcept { return slot_.offers.depth(); }

    // Whether its thread has left the loop. Any thread.
    [[nodiscard]] bool ended() const noexcept { return ended_.load(sync::acquire); }

private:
    using of_thread = sync::per_thread<worker*, class worker_that_runs>;

    // Inline is what is done between any two steps: a hop from task to task takes as long as a few calls.
    inline basic_task* next() noexcept;
    basic_task* next_behind_arrivals() noexcept;
    inline basic_task* look() noexcept;
    basic_task* look_elsewhere() noexcept;
    basic_task* search() noexcept;
    basic_task* claim() noexcept;
    basic_task* steal() noexcept;
    basic_task* steal_fork(slot& victim) noexcept;
    basic_task* steal_local(slot& victim) noexcept;
    basic_task* take_local() noexcept;
    basic_task* take_older() noexcept;
    inline void post_to_slot(basic_task& newest, basic_task& oldest, posted how,
                             unsigned due_in_local) noexcept;
    void post_stealing(basic_task& newest, basic_task& oldest, posted how) noexcept;
    inline void begin_posts() noexcept;
    inline bool count_post(post_kind kind, unsigned due_in_local) noexcept;
    inline basic_task* take_own_posts() noexcept;
    inline basic_task* take_own_post() noexcept;
    basic_task* take_other_own_posts() noexcept;
    basic_task* admit_own_posts() noexcept;
    bool others_keep_older_posts() const noexcept;
    basic_task* move_own_posts_to_run() noexcept;
    basic_task* admit_own_posts_to_run() noexcept;
    void put_into_run(std::span<basic_task* const> tasks) noexcept;
    void spin() noexcept;
    void sleep() noexcept;
    void rescue_posts() noexcept;
    bool time_to_look_for_stuck() noexcept;
    basic_task* take_over_stuck() noexcept;
    basic_task* take_from(slot& victim) noexcept;
    void look_at_clock() noexcept;
    bool round_if_free() noexcept;
    void wake_another() noexcept;
    bool sleep_in_driver(time_point limit) noexcept;
    void park(time_point limit) noexcept;
    void answer_drain() noexcept;
    inline void execute(basic_task& task) noexcept;
    void execute_with_more(basic_task& task) noexcept;
    inline void begin_step(basic_task& task) noexcept;
    inline void end_step() noexcept;
    void begin_measuring() noexcept;
    void account(group_state& group) noexcept;

    static constexpr unsigned claim_max = 128;
    static constexpr unsigned stride_max = 16;
    static constexpr unsigned local_turns = 64;
    static constexpr int relaxed_between_looks = 8;  // each some 40 cycles
    static constexpr duration stuck_after = std::chrono::microseconds{100};
    static constexpr unsigned direct_max = run_queue::capacity;
    static constexpr duration watch_min = std::chrono::microseconds{100};
    static constexpr duration watch_max = std::chrono::milliseconds{1};

    core& core_;
    slot& slot_;
    const unsigned index_;
    const bool alone_;     // the only worker
    const bool stealing_;  // the policy

    // With policy::stealing: how many steps it has taken of `local` in a row, and about what has its turn next.
    unsigned local_turn_ = 0;
    bool oldest_next_ = false;
    time_point took_oldest_{};

    // When the clock is looked at: every `stride_` steps, which adapts to their length.
    unsigned stride_ = 1;
    unsigned steps_to_look_ = 1;
    time_point last_look_{};

    const basic_task* running_ = nullptr;  // may be gone already

    // Without a monitor, on the caller: in which step should_yield was asked first, and when.
    std::uint64_t asked_in_step_ = ~std::uint64_t{0};
    time_point asked_first_{};
    unsigned victim_ = 0;  // whom to steal from first

    // What is in the slot's own front: the last kind that occurs, and with several workers how many posts
    // there are, and how many tasks of them are due, where a batch counts as two.
    post_kind own_kind_ = post_kind::plain;
    unsigned own_posts_ = 0;
    unsigned own_due_ = 0;
    // In which step it posted to the shared front last, by the number of those before it.
    std::uint64_t front_step_ = ~std::uint64_t{0};
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
