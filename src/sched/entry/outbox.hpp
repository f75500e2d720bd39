// The outbox of a slot: what the steps on the slot post, until a worker or a round takes it.
//
//                                  several workers          one worker
//     lane::everyone               a front                  a list
//     lane::groups                 a front                  leased posts: a list
//     plain, policy::stealing      a local deque            a local deque
//     lane::control                (posts go to the inbox)
//
// Question it answers: where does a post of a step wait, and must another worker be woken for it?
//
// The owner is the worker of the slot while it is at the slot: see handover.hpp. The holder of the
// role takes the posts in a round, and thieves take from the local deque. So workers do not meet on
// one word, as they would in the inbox.
//
// Invariants
//   1. Tasks of one lane come out in the order of their pushes.
//   2. Only the owner touches a list. Its tasks are older than all tasks of the inbox.
//   3. While `keeps_` is true at most one task here is to run; the other tasks go to sleep. The
//      owner looks at them when its step ends, so no worker is woken for them, only to watch them.
//   4. A task in the local deque is counted as begun before it is open: see role::drained.
//
// Progress: push is lock-free. Specs: KeptPosts, Drain in spec/MAP.md.
#pragma once

#include "sched/entry/arrivals.hpp"
#include "sched/entry/local_deque.hpp"
#include "sched/entry/wake_duty.hpp"
#include "sched/task/counter.hpp"
#include "sched/task/posted.hpp"
#include "sched/task/task_access.hpp"
#include "sched/task/trace.hpp"

#include <fairlead/sched/executor.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

namespace fairlead::sched {

using local_posts = local_deque<basic_task, basic_task::link>;

class outbox {
public:
    // `shared`: other workers may take from it. `steals`: policy::stealing.
    outbox(bool shared, bool steals)
        : shared_{shared}, local_{steals ? std::make_unique<local_posts>() : nullptr} {}

    // --- the owner: posts ------------------------------------------------------------------------

    // Whether the posts of this lane wait here at all.
    [[nodiscard]] bool takes(lane to) const noexcept {
        return to == lane::everyone || (shared_ && to == lane::groups);
    }
    [[nodiscard]] bool is_shared() const noexcept { return shared_; }
    [[nodiscard]] bool steals() const noexcept { return local_ != nullptr; }

    // Tells the compiler what the caller knows. It holds up to the next access to an atomic.
    [[gnu::always_inline]] void assume_shared(bool shared) const noexcept {
        if (shared_ != shared) __builtin_unreachable();
    }

    // Adds newest -> ... -> oldest, posted by the step of this number. The caller sees to the duty
    // after the push, in the order of [ID2], and after it has left the slot. `leased`: a task for
    // the lease of the owner, in lane::groups, of a kind up to `sleeps`.
    [[nodiscard, gnu::always_inline]] wake_duty push(lane to, basic_task& newest,
                                                     basic_task& oldest, post_kind kind,
                                                     std::uint64_t step,
                                                     bool leased = false) noexcept {
        if (!shared_) {
            add_to_list(list_of(to), newest, kind);
            return wake_duty::none;
        }
        if (to == lane::groups) {
            if (groups_.empty()) {
                leased_kind_ = post_kind::plain;
                group_posts_ = leased_ = 0;
            }
            if (nothing_in_fronts()) begin_posts(step);
            ++group_posts_;
            if (leased) {
                leased_kind_ = std::max(leased_kind_, kind);
                ++leased_;
            }
        } else {
            if (everyone_.empty()) {  // the owner alone adds to it
                kind_ = post_kind::plain;
                posts_ = 0;
                if (groups_.empty()) begin_posts(step);
            }
            kind_ = std::max(kind_, kind);
            ++posts_;
        }
        // Before the push, which publishes `keeps_`.
        due_ += due_of(kind);
        const bool kept = due_ + due_locally() <= 1;
        set_keeps(kept);
        trace("post", &newest, kept);
        (to == lane::groups ? groups_ : everyone_).push_reversed(newest, oldest);
        trace("keep", &newest);
        return kept ? wake_duty::watch : wake_duty::wake;
    }

    // Adds a plain post to the local deque, and counts it in `direct`. Nothing: no room now.
    [[nodiscard]] std::optional<wake_duty> push_open(basic_task& task, counter& direct) noexcept {
        const bool kept = local_->empty() && (nothing_in_fronts() || due_ == 0);
        // All before the push, which publishes it.
        direct.add(1);
        set_keeps(kept);
        if (!local_->push(task)) {
            direct.publish(direct.value() - 1);
            return std::nullopt;
        }
        if (!shared_) return wake_duty::none;
        return kept ? wake_duty::watch : wake_duty::wake;
    }

    // The step of this number posts to the inbox. Its later posts go there as well: a round
    // that has taken the first post may not have dealt it yet.
    void follow_inbox(std::uint64_t step) noexcept { inbox_step_ = step; }
    [[nodiscard]] bool follows_inbox(std::uint64_t step) const noexcept {
        return inbox_step_ == step;
    }

    // The owner parks: other workers are to take the posts. The word of `idle` publishes it.
    void open_posts() noexcept {
        if (!nothing_in_fronts()) keeps_.store(false, sync::relaxed);
    }

    // --- the owner: between two steps ------------------------------------------------------------

    // The highest kind posted to lane::everyone since it was empty. Valid while it is not empty.
    [[nodiscard]] post_kind kind() const noexcept { return kind_; }

    // How many posts the owner has added to the lane. With a list: 0.
    [[nodiscard]] unsigned posts(lane of = lane::everyone) const noexcept {
        return of == lane::groups ? group_posts_ : posts_;
    }

    // Whether the tasks that `take` gives need no round and no role. The lane must not be empty.
    [[nodiscard]] bool is_due() const noexcept {
        // A list gives one task at a time. It may be due although the lane has other kinds: the
        // deadline of a sleeper is not `immediately`.
        return shared_ ? kind_ <= post_kind::again : task_access::runs_at_once(*list_.front());
    }

    // Whether there are posts for the lease of this home, and none needs a round: for the default
    // group those of its lane; for another group leased posts, if its lane has no other posts.
    [[nodiscard]] bool has_leased(const home& of) const noexcept {
        if (!of.grouped()) return !empty(lane::everyone) && kind_ <= post_kind::sleeps;
        if (empty(lane::groups)) return false;
        if (shared_) return leased_ == group_posts_;
        return &task_access::home_of(*leased_list_.front()) == &of;
    }
    // Whether none of these posts needs the role. Requires `has_leased`.
    [[nodiscard]] bool is_leased_due(const home& of) const noexcept {
        if (!of.grouped()) return is_due();
        if (shared_) return leased_kind_ <= post_kind::again;
        return task_access::runs_at_once(*leased_list_.front());
    }

    // Takes all tasks of a front, oldest first, or the oldest of a list. Empty: a round was faster.
    [[nodiscard]] basic_task::chain take(lane from = lane::everyone) noexcept {
        if (!shared_) {
            basic_task* const oldest = list_of(from).pop_front();
            return {oldest, oldest, oldest != nullptr ? std::size_t{1} : 0};
        }
        if (from == lane::groups) {
            group_posts_ = leased_ = 0;
            return groups_.take_all();
        }
        posts_ = 0;
        return everyone_.take_all();
    }

    // --- the holder of the role ------------------------------------------------------------------

    // Moves all tasks of a lane behind those of `to`. A list: only the owner may, while it runs.
    [[gnu::always_inline]] void move_to(arrivals& to, lane from) noexcept {
        if (!shared_) {
            basic_task::chain& list = list_of(from);
            if (from != lane::groups) trace("take_posts", list);
            if (!list.empty()) to.add(std::exchange(list, {}));
            return;
        }
        if (from == lane::groups) return to.add(groups_.take_reversed());
        basic_task* const newest = everyone_.take_reversed();
        trace("take_posts", reversed_tasks{newest});
        to.add(newest);
    }

    // --- any thread ------------------------------------------------------------------------------

    // The local deque, which policy::stealing alone has.
    [[nodiscard]] local_posts& local() noexcept { return *local_; }

    // These answers are hints, unless [ID1] or [ID2] orders them. Only the owner looks at a list.

    [[nodiscard]] bool empty(lane of) const noexcept {
        if (of == lane::groups) return shared_ ? groups_.empty() : leased_list_.empty();
        return shared_ ? everyone_.empty() : list_.empty();
    }
    [[nodiscard]] bool empty() const noexcept {
        return empty(lane::everyone) && empty(lane::groups);
    }

    // Whether the local deque has a task.
    [[nodiscard]] bool has_open() const noexcept { return steals() && !local_->empty(); }

    // The next functions are not about lists. They look for a post first, and then whether it is
    // kept. So the second load may be relaxed: its value is not older than the push that was seen.

    // Whether a round of another worker should take the posts; `kept_too`: also kept posts.
    [[nodiscard]] bool wants_round(bool kept_too) const noexcept {
        return !nothing_in_fronts() && (kept_too || !is_kept());
    }
    // Whether a thief should take from the local deque.
    [[nodiscard]] bool wants_thief(bool kept_too) const noexcept {
        return has_open() && (kept_too || !is_kept());
    }
    // Whether the owner keeps a post, so that another worker must watch it.
    [[nodiscard]] bool keeps_post() const noexcept { return !nothing_in_fronts() && is_kept(); }
    [[nodiscard]] bool keeps_some() const noexcept {
        return keeps_post() || (has_open() && is_kept());
    }

    // Whether the running step has posted a task, and keeps it: `finished` counts the steps of the
    // slot.
    [[nodiscard]] bool keeps_post_of_step(const counter& finished) const noexcept {
        return keeps_post() && kept_after_.read() == finished.read();
    }
    // Whether there is a post from before that step, or a post that is not kept.
    [[nodiscard]] bool has_older_posts(const counter& finished) const noexcept {
        return !nothing_in_fronts() && (!is_kept() || kept_after_.read() != finished.read());
    }

private:
    [[nodiscard]] bool nothing_in_fronts() const noexcept {
        return everyone_.empty() && groups_.empty();
    }
    [[nodiscard]] basic_task::chain& list_of(lane of) noexcept {
        return of == lane::groups ? leased_list_ : list_;
    }
    [[nodiscard]] bool is_kept() const noexcept { return keeps_.load(sync::relaxed); }
    void set_keeps(bool kept) noexcept {
        if (is_kept() != kept) keeps_.store(kept, sync::relaxed);
    }

    void add_to_list(basic_task::chain& list, basic_task& newest, post_kind kind) noexcept {
        if (&list == &list_) kind_ = list.empty() ? kind : std::max(kind_, kind);
        if (kind == post_kind::batch) [[unlikely]] {
            list.append(front_queue::turn_over(&newest));
        } else {
            list.push_back(newest);
        }
        trace("keep", &newest);
    }

    // The first post since the fronts were empty.
    void begin_posts(std::uint64_t step) noexcept {
        due_ = 0;
        kept_after_.publish(step);
    }

    // How many tasks of the local deque are to run: 1 if the owner keeps it; 2 stands for more.
    [[nodiscard]] unsigned due_locally() const noexcept {
        if (!has_open()) return 0;
        return is_kept() ? 1 : 2;
    }

    front_queue everyone_;
    basic_task::chain list_;
    basic_task::chain leased_list_;  // of lane::groups

    // Only the owner touches these.
    post_kind kind_ = post_kind::plain;
    post_kind leased_kind_ = post_kind::plain;  // of the leased posts
    const bool shared_;
    unsigned posts_ = 0;
    unsigned group_posts_ = 0;  // of lane::groups
    unsigned leased_ = 0;       // those of them that are leased
    unsigned due_ = 0;          // tasks of both fronts that are due; a batch counts as two
    std::uint64_t inbox_step_ = ~std::uint64_t{0};

    front_queue groups_;
    // With policy::stealing: plain posts, all of them open to thieves. Else null.
    const std::unique_ptr<local_posts> local_;

    // Written by the owner: before the push, and again before it parks.
    sync::atomic<bool> keeps_{false};
    counter kept_after_;  // written before the push
};

}  // namespace fairlead::sched
