// A slot: the right to run tasks, with what belongs to it. A worker (a thread) holds one while it
// runs; the slot stays when the thread blocks or ends, and goes to another worker: see handover.hpp.
#pragma once

#include "sched/arrivals.hpp"

#include <fairlead/detail/lockfree/block_queue.hpp>
#include <fairlead/detail/lockfree/fork_deque.hpp>
#include <fairlead/detail/lockfree/run_queue.hpp>
#include <fairlead/detail/sched/forks.hpp>
#include <fairlead/sched/task.hpp>

#include <cstddef>
#include <cstdint>

namespace fairlead::sched {

using ready_queue = lockfree::block_queue<basic_task>;
using run_queue = lockfree::run_queue<basic_task>;
using local_deque = lockfree::fork_deque<basic_task>;

// A number that its owner alone writes and others read.
class counter {
public:
    void add(std::uint64_t more) noexcept { publish(value() + more); }
    // release: who reads the number sees what was done up to it. Relaxed read: the owner's own.
    void publish(std::uint64_t value) noexcept { value_.store(value, sync::release); }
    [[nodiscard]] std::uint64_t value() const noexcept { return value_.load(sync::relaxed); }
    [[nodiscard]] std::uint64_t read() const noexcept { return value_.load(sync::acquire); }

private:
    sync::atomic<std::uint64_t> value_{0};
};

class group_state;
class worker;

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

struct alignas(base::cache_line) slot {
    slot(ready_queue& ready, unsigned its_index, std::size_t others)
        : ready_consumer{ready}, offers{others}, index{its_index} {}

    run_queue runs;
    ready_queue::consumer ready_consumer;

    // What the step forks that runs now; empty between two steps.
    offered_forks offers;

    // The owner's alone: what it runs next, before its run. Set by a round that it holds, and gone
    // before the next step.
    basic_task* next = nullptr;

    const unsigned index;

    // The owner's alone, too: since when `next`, or the step that runs, is a late sleeper that has overtaken the run.
    // Otherwise `never`.
    time_point overtakes_since = never;

    // The owner's alone, too, while turns are given: see turns.hpp. Its turn, of what it holds the group; and from when on
    // the time of the step that runs is measured, and in which turns that was.
    struct {
        group_state* of = nullptr;
        duration expected{};  // to be used, which was charged
        time_point until{};
        std::uint32_t number = 0;
    } turn;
    time_point measured_from{};
    std::uint32_t measured_in = 0;

    // What steps on this slot post or wake: a front of its own, which the role empties like the
    // shared one, so that workers do not meet on one word. With a single worker the plain list
    // serves instead, while the shared front is empty: its tasks are older than any in the front.
    front_queue posted;
    basic_task::chain posted_alone;

    // The owner's alone: what is in `posted`, or `posted_alone`: the last kind that occurs, and with several workers how
    // many posts there are, and how many tasks of them are due, where a batch counts as two. And in which step the worker
    // posted to the shared front last, by the number of those before it.
    struct {
        post_kind kind = post_kind::plain;
        unsigned posts = 0;
        unsigned due = 0;
        std::uint64_t front_step = ~std::uint64_t{0};
    } tally;

    // Likewise, with several workers, of groups but for the default one. What is said of `posted` below is said of both.
    front_queue posted_to_groups;

    // With policy::stealing: plain posts of steps on this slot, all of them open to thieves. Each is counted in
    // `direct` before it is opened.
    local_deque local{0};

    // Whether what is in `posted` and `local` is one task to run at most, and others that go to sleep. The
    // owner will look at them when its step ends, so nobody was woken for them. Written by the owner: before
    // the push, and again before it parks.
    sync::atomic<bool> keeps_post{false};

    // How many steps had finished when the oldest of them was posted. Written by the owner, before the push.
    counter kept_after;

    [[nodiscard]] bool nothing_posted() const noexcept {
        return posted.empty() && posted_to_groups.empty();
    }

    // Whether its worker is to run a round for a group that is bound to it.
    [[nodiscard]] bool has_bound_work() const noexcept { return bound_wait.load(sync::relaxed); }

    // Whether there is a post from before the step that runs now. A hint.
    [[nodiscard]] bool has_older_posts() const noexcept {
        return !nothing_posted() &&
               (!keeps_post.load(sync::relaxed) || kept_after.read() != finished.read());
    }

    // Whether others should see to `posted`.
    [[nodiscard]] bool has_open_posts() const noexcept {
        // Relaxed: not older than the push that was seen.
        return !nothing_posted() && !keeps_post.load(sync::relaxed);
    }
    // Whether thieves should take from `local`.
    [[nodiscard]] bool has_open_local() const noexcept {
        return !local.empty() && !keeps_post.load(sync::relaxed);  // in this order, as above
    }
    // Whether its owner has kept a post, which others should not forget.
    [[nodiscard]] bool has_kept_post() const noexcept {
        return !nothing_posted() && keeps_post.load(sync::relaxed);  // likewise
    }
    [[nodiscard]] bool has_kept_local() const noexcept {
        return !local.empty() && keeps_post.load(sync::relaxed);  // likewise
    }

    // Written by the owner, read by others, on a line of their own.
    alignas(base::cache_line) counter finished;  // steps, each counted after what it posted
    // Tasks that need no round, counted before the owner takes them, or opens them in `local`.
    counter direct;
    counter rounds;
    counter wakeups;
    counter stolen;
    // The number of the step that is to let others have their turn: how many were before it. A hint, by the monitor.
    sync::atomic<std::uint64_t> asked_to_yield{~std::uint64_t{0}};
    // Who holds it, or did last. Changes under the mutex of the hand-over.
    sync::atomic<worker*> holder{nullptr};
    counter passed_on;  // so often it went from a step that goes on to another worker; likewise
    std::size_t bound_groups =
        0;  // to its worker, whose thread it stays with; guarded by that mutex
    // Whether a group that is bound to it waits for a turn. Written by the holder of the role; who reads `true` is the
    // worker of the slot, or somebody who wakes it. Relaxed: ordered by [ID1], [RL1].
    sync::atomic<bool> bound_wait{false};
    sync::atomic<bool> held{false};  // its worker is in the loop
};

}  // namespace fairlead::sched
