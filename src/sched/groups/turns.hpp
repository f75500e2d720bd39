// Turns: while groups have tasks, the role gives each worker that asks a *turn*: for a short time,
// some tasks of the group that is next by its shares. A round that finds a turn over gives the next
// turn.
//
//     admit ---> queue of its group ---turn---> the run of the worker
//                (of the default group: ready)
//
// A turn is short, so that little is dealt ahead; at its end the tasks that have not begun go back
// to their queues. A group is charged at once for the time that its turn will probably use, so that
// another worker does not give the same group a second turn in its place. The measured time
// replaces this charge when it is known: while turns are given, workers measure each step, or a
// lease as a whole.
//
// While only the default group has tasks no turns are given. This costs a worker one look at a flag
// that it reads anyway.
//
// A group that is bound to a worker is next only when that worker asks. When the group has
// something to run the round says so in the slot of that worker. The worker that ran the round
// wakes it after the release of the role [RL1]; a worker that goes to sleep looks at its slot
// [ID1].
//
// Only the holder of the role calls a function, unless its comment or its section says otherwise.
//
// How the role learns that a group may go on: spec/Groups.tla; bound groups: spec/BoundGroups.tla.
#pragma once

#include "sched/groups/group_state.hpp"
#include "sched/groups/shares.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace fairlead::sched {

class core;
struct slot;

class turns {
public:
    explicit turns(core& owner);
    turns(const turns&) = delete;
    turns& operator=(const turns&) = delete;
    ~turns();

    // --- any worker ------------------------------------------------------------------------------

    // Odd while turns are given, another number each time. A hint, except for a worker that has
    // been given a turn or a task of a group other than the default one.
    [[nodiscard]] std::uint32_t number() const noexcept { return number_.load(sync::relaxed); }
    [[nodiscard]] bool are_given() const noexcept { return (number() & 1) != 0; }

    // A setting of the group has changed, or a step that the role waits for has ended. Any thread.
    // True: the caller must ask the role for a round.
    [[nodiscard]] bool notice(group_state& group) noexcept;
    [[nodiscard]] bool has_noticed() const noexcept { return !noticed_.empty(); }

    // --- the holder of the role ------------------------------------------------------------------

    // A round begins. `now`: the time, or `immediately` if the round has not read the clock.
    void begin_round(slot& own, time_point now) noexcept {
        holder_ = &own;
        now_ = now;
    }

    // Whether it is `interval` since this was true last. Then this round takes what workers keep
    // for leases, so that no worker has more tasks of a group than another worker for long.
    [[nodiscard]] bool evens_out(time_point now, duration interval) noexcept {
        if (now == immediately || now - evened_out_ < interval) return false;
        evened_out_ = now;
        return true;
    }

    // Whether a round has to know the time.
    [[nodiscard]] bool need_time() const noexcept { return are_given() || !entering_.empty(); }

    [[nodiscard]] group_state& everyone() noexcept { return *everyone_; }
    [[nodiscard]] group_state& group_of(home& of) noexcept {
        return of.grouped() ? static_cast<group_state&>(of) : *everyone_;
    }

    // A task of a group is ready to run.
    void queue(basic_task& task) noexcept;

    // Tasks of the default group were dealt to ready.
    void ready_has_more() noexcept;

    // If the turn of `own` is over or its run is empty, ends the turn and gives the next one. Not
    // while the slot has a `next` task.
    void give(slot& own, time_point now) noexcept;

    // When the first task may begin that has to wait for the rate of its group, or `never`.
    [[nodiscard]] time_point next_entry() const noexcept {
        return entering_.empty() ? never : entering_.top()->entry_at;
    }

    // The last turn of `own` is over: takes back the charge for the time that was expected, and a
    // lease that no worker has opened, and lets go of the group.
    void forget_turn(slot& own) noexcept;

    // Whether a group was noticed, or waits for a turn that any worker may have.
    [[nodiscard]] bool wanted() const noexcept;

    // Takes all tasks from the queue of the group.
    [[nodiscard]] basic_task::chain take_queued(group_state& of) noexcept;

    // Whether a group that is bound to a worker waits for its turn there. Any worker that has had
    // the role asks, and wakes these workers: see slot::bound_wait. Relaxed: it wakes them for what
    // it wrote as the holder, or an earlier holder did.
    [[nodiscard]] bool some_wait_bound() const noexcept {
        return slots_waited_for_.load(sync::relaxed) != 0;
    }

    // Before the scheduler is destroyed, when no task is left: lets go of all groups that the role
    // holds.
    void let_all_go(std::span<const std::unique_ptr<slot>> slots) noexcept;

    // A task that was dealt has not begun its step, and is taken back.
    void take_back(basic_task& task) noexcept;

private:
    static constexpr duration turn_max = std::chrono::microseconds{100};
    static constexpr duration ageing = std::chrono::milliseconds{100};
    static constexpr std::size_t deal_max = 64;
    static constexpr std::size_t looks_max = 16;  // steps between two looks at the clock
    static constexpr std::size_t levels = 4;

    struct level {
        shares all;  // a server for each slot
        // For each server: since when its groups wait. `never`: not known yet.
        std::vector<time_point> waits_since;
    };

    using choice = share* (shares::*)(std::size_t server) noexcept;

    [[nodiscard]] time_point now() noexcept;
    [[nodiscard]] shares& shares_of(const group_state& group) noexcept {
        return levels_[group.level].all;
    }
    [[nodiscard]] bool has_tasks(const group_state& group) noexcept;
    void drop_excess(group_state& group) noexcept;
    void want(group_state& group) noexcept;
    void plan_entry(group_state& group) noexcept;
    void look_at_entering(time_point now) noexcept;
    void join(group_state& group) noexcept;
    void leave(group_state& group) noexcept;
    void rest(group_state& group) noexcept;
    [[nodiscard]] bool follow(group_state& group) noexcept;
    void look_at_bound(std::size_t server) noexcept;
    void end_if_over() noexcept;
    void look_at_noticed() noexcept;
    void look_at_resting(time_point now) noexcept;
    void end_turn(slot& own) noexcept;
    [[nodiscard]] group_state* next(std::size_t server, time_point now) noexcept;
    [[nodiscard]] static bool waits_for_long(level& from, std::size_t server,
                                             time_point now) noexcept;
    void begin_to_wait(const group_state& group, std::size_t server) noexcept;
    [[nodiscard]] group_state* next_of(level& from, std::size_t server, choice choose) noexcept;
    [[nodiscard]] bool deal(slot& own, group_state& group) noexcept;
    [[nodiscard]] std::size_t take(slot& own, group_state& group,
                                   std::span<basic_task*> out) noexcept;

    core& core_;
    std::vector<level> levels_;
    group_state* const everyone_;
    // Workers read these between steps, and few rounds write them. What rounds write is apart.
    sync::atomic<std::uint32_t> number_{0};
    sync::atomic<unsigned> slots_waited_for_{0};
    lockfree::front_queue<group_state, &group_state::next_noticed> noticed_;

    alignas(base::cache_line) slot* holder_ = nullptr;  // of the role
    time_point now_{};                                  // of its round, or `immediately`
    time_point evened_out_{};
    bool some_are_bound_ = false;                                   // or were bound
    base::chain<group_state, &group_state::next_resting> resting_;  // some rest no longer
    pairing_heap<group_state, &group_state::entering_links, &group_state::entry_at> entering_;
    std::size_t listed_ = 0;      // groups that compete, without the default group
    time_point everyone_turn_{};  // the last turn of the default group
};

}  // namespace fairlead::sched
