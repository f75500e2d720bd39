// A group for the role and the workers. It lives while a handle, a task or the role holds it.
#pragma once

#include "sched/groups/group_queue.hpp"
#include "sched/groups/rate_limit.hpp"
#include "sched/groups/shares.hpp"
#include "sched/sleep/idle.hpp"
#include "sched/slot/slot.hpp"
#include "sched/task/task_access.hpp"

#include <fairlead/detail/sync/line.hpp>
#include <fairlead/sched/executor.hpp>
#include <fairlead/sched/group.hpp>
#include <fairlead/sched/task.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace fairlead::sched {

class group_state final : public home, public share {
public:
    static constexpr unsigned weight_max = 10'000;
    group_state(core& its_core, lane by, group_options options,
                group_state* gives_dropped_to = nullptr) noexcept;
    // --- any thread: holds -----------------------------------------------------------------------

    // Requires that the group is held already.
    void hold() noexcept { holders_.fetch_add(1, sync::relaxed); }
    void let_go() noexcept { let_go_of(1); }  // the last touch

    // The same for a task that is posted.
    void hold_for_task() noexcept { holders_.fetch_add(one_task, sync::relaxed); }
    void let_task_go() noexcept { let_tasks_go(1); }
    void let_tasks_go(std::size_t count) noexcept { let_go_of(count * one_task); }
    [[nodiscard]] std::size_t tasks() const noexcept {
        return holders_.load(sync::relaxed) / one_task;
    }

    // `most` 0: without a bound.
    [[nodiscard]] static constexpr std::uint64_t bound_of_queue(std::size_t most) noexcept {
        return most == 0 ? sync::line::unbounded
                         : std::min<std::uint64_t>(most, sync::line::unbounded);
    }

    core& in;
    const std::string name;
    const std::size_t level;
    group_state* const drops_to;  // gives back the tasks that this group drops; null: it drops none

    // A post with a permit has it until its first step begins. A post that waits asks for one.
    sync::line permits;
    sync::atomic<std::uint64_t> refused{0};  // permits; for reports

    // --- workers: steps of its tasks -------------------------------------------------------------

    // A step has run for so long. Relaxed: published by what follows.
    void charge(duration time) noexcept {
        used_.fetch_add(static_cast<std::uint64_t>(time.count()), sync::relaxed);
    }

    // Whether the number of its steps that run at once is limited.
    [[nodiscard]] bool has_limit() const noexcept { return most() != 0; }

    // Whether its steps run one after the other, in order.
    [[nodiscard]] bool is_strand() const noexcept { return most() == 1; }

    // Whether it is bound to a worker.
    [[nodiscard]] bool is_bound() const noexcept { return bound_to.load(sync::relaxed) != nobody; }

    // A step begins that was not dealt: a fork that a thief took.
    void begin_stolen_step() noexcept { stolen_.fetch_add(1, sync::relaxed); }

    // A step has ended. True: the role waits for that, and the caller must tell it, once.
    [[nodiscard]] bool end_step() noexcept {
        // [GR1] the role says that the group is held back, and then reads this number once more.
        ended_.fetch_add(1, sync::seq_cst);
        return take_held_back();
    }

    // A lease has ended: how many steps it began that no turn had dealt, and how many have ended.
    // Returns what `end_step` does.
    [[nodiscard]] bool end_lease(std::uint64_t begun, std::uint64_t ended_steps) noexcept {
        if (begun != 0) stolen_.fetch_add(begun, sync::relaxed);  // published by what follows
        ended_.fetch_add(ended_steps, sync::release);             // pairs with `running`
        ended_leases_.fetch_add(1, sync::seq_cst);                // [GR1] as `end_step` does
        return take_held_back();
    }

    [[nodiscard]] duration used() const noexcept {
        return duration{static_cast<std::int64_t>(used_.load(sync::relaxed))};
    }
    [[nodiscard]] std::uint64_t ended() const noexcept { return ended_.load(sync::acquire); }

    // --- any thread: settings --------------------------------------------------------------------

    sync::atomic<unsigned> weight_wanted;
    static constexpr unsigned nobody = idle::anybody;
    sync::atomic<unsigned> running_max;  // 0: any number
    sync::atomic<double> rate_wanted;    // of tasks with permits, a second
    // The worker whose thread runs its steps, or `nobody`. Changes under the mutex of the
    // hand-over. Relaxed: published by the notice, and by what is posted after it.
    sync::atomic<unsigned> bound_to{nobody};
    sync::atomic<bool> paused{false};
    sync::atomic<std::size_t> queued{0};  // for reports

    // The list of groups that the role is to look at; whether the group is in it.
    group_state* next_noticed = nullptr;
    sync::atomic<bool> noticed{false};

    // --- the holder of the role ------------------------------------------------------------------

    // How many of its steps have been dealt, or begun without that, and have not ended.
    [[nodiscard]] std::uint64_t running() const noexcept {
        const std::uint64_t ended_now = ended_.load(sync::seq_cst);  // [GR1], and before `stolen_`
        return begun_ + stolen_.load(sync::relaxed) - ended_now;
    }
    // How many more steps may begin. None under a lease: it is not known how many run.
    [[nodiscard]] std::size_t room() const noexcept {
        const unsigned may = most();
        if (may == 0) return SIZE_MAX;
        if (has_open_lease()) return 0;
        const std::uint64_t now = running();
        return now >= may ? 0 : may - now;
    }
    // The server of `shares` that is to serve the group.
    [[nodiscard]] std::size_t server_wanted() const noexcept {
        const unsigned worker = bound_to.load(sync::relaxed);
        return worker == nobody ? shares::any : worker + 1;
    }
    void begin_steps(std::size_t count) noexcept { begun_ += count; }

    // Whether its next turn may begin with a lease: it has no limit, and all its tasks are equal.
    // Not with the highest priority: its lane goes first, in an order of its own.
    [[nodiscard]] bool may_have_lease() const noexcept {
        return most() == 0 && queue.is_fifo() && enters_by != lane::control;
    }
    void begin_lease() noexcept { ++leases_; }
    // [GR1], and before the numbers of steps.
    [[nodiscard]] bool has_open_lease() const noexcept {
        return ended_leases_.load(sync::seq_cst) != leases_;
    }
    // No worker has opened the lease.
    void take_back_lease() noexcept { --leases_; }

    // Whether a lease may go on beside so many `older` tasks at most. For its worker; a hint.
    [[nodiscard]] bool keeps_lease(std::size_t older) const noexcept {
        return queued.load(sync::relaxed) <= older && !paused.load(sync::relaxed) && most() == 0 &&
               rate_wanted.load(sync::relaxed) == 0;
    }
    // A task that was dealt has been taken back.
    void take_back_step(const basic_task& task) noexcept {
        --begun_;
        if (enters(task)) limit_.give_back();
    }

    // Holds the group back until a step ends. False: a step has ended meanwhile.
    [[nodiscard]] bool hold_back() noexcept {
        held_back_.store(true, sync::seq_cst);  // [GR1]
        if (room() == 0) {
            throttled.add(1);
            return true;
        }
        return !held_back_.exchange(false, sync::seq_cst);  // or `end_step` tells the role
    }

    // The time that its steps took since the last call. Also estimates the length of a step.
    [[nodiscard]] virtual_duration collect() noexcept {
        const std::uint64_t ended_now = ended();
        const duration used_now = used();
        const duration more = used_now - collected_;
        if (ended_now != collected_steps_) {
            const auto mean = more / static_cast<std::int64_t>(ended_now - collected_steps_);
            step_ = step_ == duration::zero() ? mean : (7 * step_ + mean) / 8;
        }
        collected_ = used_now;
        collected_steps_ = ended_now;
        return more;
    }
    [[nodiscard]] duration step() const noexcept { return step_; }

    // The group competes from now on, and waits for its turn.
    void begin_wait(time_point now) noexcept { waits_since_ = now; }
    // Its turn has come; it waits for the next turn, if it still competes.
    void end_wait(time_point now) noexcept {
        const auto waited_now = static_cast<std::uint64_t>((now - waits_since_).count());
        turns.add(1);
        waited.add(waited_now);
        if (waited_now > waited_most.value()) waited_most.publish(waited_now);
        waits_since_ = now;
    }

    // For reports: what the holder of the role has counted; times in nanoseconds.
    counter turns;
    counter waited;
    counter waited_most;
    counter throttled;
    counter delayed;
    counter dropped;

    // A task is ready to run.
    void add(basic_task& task) noexcept {
        if (queue.is_fifo()) return queue.push_back(task);
        queue.add(task, limit_.per_second() != 0);
    }

    // A task was taken, and not dealt after all.
    void put_back(basic_task& task) noexcept {
        if (queue.is_fifo()) return queue.push_front(task);
        if (enters(task)) {
            queue.leave(task);
        } else {
            queue.put_back(task);
        }
    }

    // The next task that may begin, or null. Tasks at the entry alternate with the rest.
    [[nodiscard]] basic_task* take_next(time_point now) noexcept {
        if (queue.is_fifo()) return queue.empty() ? nullptr : &queue.pop_front();
        const bool may_enter = queue.has_entering() && (queue.empty() || !last_entered_);
        last_entered_ = may_enter && limit_.take(now);
        if (last_entered_) {
            one_waits_ = false;
            return &queue.enter();
        }
        return queue.empty() ? nullptr : &queue.take();
    }

    // When the next task may enter, maybe in the past; `never`: no task waits at the entry.
    [[nodiscard]] time_point next_entry() const noexcept {
        return queue.has_entering() ? limit_.next() : never;
    }
    void follow_rate(time_point now) noexcept {
        const double wanted = rate_wanted.load(sync::relaxed);
        if (wanted == limit_.per_second()) return;
        limit_.set(wanted, now);
        queue.have_entry();
    }
    // The next task at the entry has to wait; counts it once.
    void count_wait() noexcept {
        if (!std::exchange(one_waits_, true)) delayed.add(1);
    }

    group_queue queue;  // ready to run, not dealt yet
    // While a task waits for the rate: when the role is to look at the group.
    time_point entry_at = never;
    heap_links<group_state> entering_links;

    bool is_held = false;  // held back until one of its steps ends, or is taken back
    group_state* next_resting = nullptr;
    bool is_in_resting = false;

    base::list_links<group_state> links;  // in group_list, under its mutex

private:
    static constexpr std::uint64_t one_task = std::uint64_t{1} << 32;

    ~group_state() = default;
    void destroy() noexcept;

    // How many of its steps may run at once; 0: any number.
    [[nodiscard]] unsigned most() const noexcept {
        return is_bound() ? 1 : running_max.load(sync::relaxed);
    }

    void let_go_of(std::uint64_t what) noexcept {
        // release: what the caller did; acquire: the thread that destroys has seen all of that.
        if (holders_.fetch_sub(what, sync::acq_rel) == what) destroy();
    }

    sync::atomic<std::uint64_t> holders_{1};  // the upper half: tasks
    alignas(base::cache_line) sync::atomic<std::uint64_t> used_{0};
    sync::atomic<std::uint64_t> stolen_{0};
    sync::atomic<std::uint64_t> ended_{0};
    sync::atomic<std::uint64_t> ended_leases_{0};
    sync::atomic<bool> held_back_{false};
    [[nodiscard]] bool take_held_back() noexcept {  // true for one caller each time
        return held_back_.load(sync::seq_cst) && held_back_.exchange(false, sync::seq_cst);
    }

    [[nodiscard]] bool enters(const basic_task& task) const noexcept {
        return limit_.per_second() != 0 && task_access::has_permit(task);
    }

    rate_limit limit_;
    bool last_entered_ = false;
    bool one_waits_ = false;  // a task waits at the entry, and is counted
    std::uint64_t begun_ = 0;
    std::uint64_t leases_ = 0;  // leases begun
    duration collected_{};
    std::uint64_t collected_steps_ = 0;
    duration step_{};           // how long a step is, about
    time_point waits_since_{};  // while it competes
};

}  // namespace fairlead::sched
