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
// role takes the posts in a round, and thieves take from the local deque.
//
// Invariants
//   1. Tasks of one lane come out in the order of their pushes.
//   2. Only the owner touches a list. What a lane has here is older than what it has in the inbox.
//   3. The owner looks at what it keeps when its step ends, so a worker is woken only to watch it.
//      It keeps one task that is to run, or one of each step: see `keeps`.
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
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

namespace fairlead::sched {

using local_posts = local_deque<basic_task, basic_task::link>;

class outbox {
    // What the owner keeps of its posts for itself, beside tasks that go to sleep. Most rounds of
    // other workers leave what is kept for a lease: to take it would end the turn of the owner.
    enum class keeps : std::uint8_t {
        nothing,  // more is to run than one task: a worker is to come for it
        one,      // at most one task is to run
        lease,    // all are for the lease of the owner, and of each step at most one is to run
    };

public:
    // `shared`: other workers may take from it. `steals`: policy::stealing.
    outbox(bool shared, bool steals)
        : shared_{shared}, local_{steals ? std::make_unique<local_posts>() : nullptr} {}

    // --- the owner: posts ------------------------------------------------------------------------

    // Whether posts of this lane wait here, other than those for the lease of the owner.
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
            add_to_list(to, newest, kind);
            return wake_duty::none;
        }
        lane_posts& mine = of(to);
        const bool is_first = mine.front.empty();  // the owner alone adds to it
        const bool is_only =
            is_first && of(to == lane::groups ? lane::everyone : lane::groups).front.empty();
        // A round of another worker has taken leased posts: they come first.
        const bool was_taken = is_first && mine.count != 0;
        mine.kind = is_first ? kind : std::max(mine.kind, kind);
        mine.count = is_first ? 1 : mine.count + 1;
        if (is_only) {
            due_ = 0;
            kept_after_.publish(step);
        }
        if (to == lane::groups) all_leased_ = leased && !was_taken && (is_first || all_leased_);
        bool for_lease = false;
        if (leased) {
            const bool kept_so_far = is_first ? is_only && !has_open() : keeps_is(keeps::lease);
            const bool is_second = due_of(kind) != 0 && std::exchange(leased_step_, step) == step;
            for_lease = all_leased_ && kept_so_far && !is_second;
        }
        // Before the push, which publishes `keeps_`.
        due_ += due_of(kind);
        const bool kept = for_lease || due_ + due_locally() <= 1;
        set_keeps(for_lease ? keeps::lease : kept ? keeps::one : keeps::nothing);
        trace("post", &newest, kept);
        mine.front.push_reversed(newest, oldest);
        trace("keep", &newest);
        return kept ? wake_duty::watch : wake_duty::wake;
    }

    // Adds a plain post to the local deque, and counts it in `direct`. Nothing: no room now.
    [[nodiscard]] std::optional<wake_duty> push_open(basic_task& task, counter& direct) noexcept {
        const bool kept = local_->empty() && (nothing_in_fronts() || due_ == 0);
        // All before the push, which publishes it.
        direct.add(1);
        set_keeps(kept ? keeps::one : keeps::nothing);
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

    // The owner has run a round, which has taken the posts.
    void begin_anew() noexcept { of(lane::groups).count = 0; }

    // The owner parks: other workers are to take the posts. The word of `idle` publishes it.
    void open_posts() noexcept {
        if (!nothing_in_fronts()) keeps_.store(keeps::nothing, sync::relaxed);
    }

    // --- the owner: between two steps ------------------------------------------------------------

    // The highest kind posted to lane::everyone since it was empty. Valid while it is not empty.
    [[nodiscard]] post_kind kind() const noexcept { return of(lane::everyone).kind; }

    // How many posts the owner has added since the front was empty; a batch is one. With a list: 0.
    [[nodiscard]] unsigned posts(lane to = lane::everyone) const noexcept { return of(to).count; }

    // Whether the tasks that `take` gives need no round and no role. The lane must not be empty.
    [[nodiscard]] bool is_due(lane to = lane::everyone) const noexcept {
        // A list gives one task at a time, so that task tells, not the highest kind: what is to
        // sleep has a deadline other than `immediately`.
        return shared_ ? of(to).kind <= post_kind::again
                       : task_access::runs_at_once(*of(to).list.front());
    }

    // Whether there are posts for the lease of this home, and none needs a round: for the default
    // group those of its lane; for another group leased posts, if its lane has no other posts.
    [[nodiscard]] bool has_leased(const home& by) const noexcept {
        if (!by.grouped()) return !empty(lane::everyone) && kind() <= post_kind::sleeps;
        if (empty(lane::groups)) return false;
        return shared_ ? all_leased_ : &task_access::home_of(*of(lane::groups).list.front()) == &by;
    }

    // Takes all tasks of a front, oldest first, or the oldest of a list. Empty: a round was faster.
    [[nodiscard]] basic_task::chain take(lane from = lane::everyone) noexcept {
        lane_posts& mine = of(from);
        if (!shared_) {
            basic_task* const oldest = mine.list.pop_front();
            return {oldest, oldest, oldest != nullptr ? std::size_t{1} : 0};
        }
        mine.count = 0;
        return mine.front.take_all();
    }

    // --- the holder of the role ------------------------------------------------------------------

    // Moves all tasks of a lane behind those of `to`. A list: only the owner may, while it runs.
    [[gnu::always_inline]] void move_to(arrivals& to, lane from) noexcept {
        lane_posts& mine = of(from);
        if (!shared_) {
            if (from != lane::groups) trace("take_posts", mine.list);
            if (!mine.list.empty()) to.add(std::exchange(mine.list, {}));
            return;
        }
        basic_task* const newest = mine.front.take_reversed();
        if (from != lane::groups) trace("take_posts", reversed_tasks{newest});
        to.add(newest);
    }

    // --- any thread ------------------------------------------------------------------------------

    // The local deque, which policy::stealing alone has.
    [[nodiscard]] local_posts& local() noexcept { return *local_; }

    // These answers are hints, unless [ID1] or [ID2] orders them. Only the owner looks at a list.

    [[nodiscard]] bool empty(lane to) const noexcept {
        return shared_ ? of(to).front.empty() : of(to).list.empty();
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
    // Whether the owner keeps a post in a front; `keeps_some`: or in the local deque.
    [[nodiscard]] bool keeps_post() const noexcept { return !nothing_in_fronts() && is_kept(); }
    [[nodiscard]] bool keeps_some() const noexcept {
        return keeps_post() || (has_open() && is_kept());
    }

    // Whether the running step has posted a task, and keeps it: `finished` counts the steps of the
    // slot.
    [[nodiscard]] bool keeps_post_of_step(const counter& finished) const noexcept {
        return keeps_post() && kept_after_.read() == finished.read();
    }
    // Whether there is a post from before that step, or a post that is not kept. Not those that
    // are kept for a lease: the order of other tasks does not depend on them.
    [[nodiscard]] bool has_older_posts(const counter& finished) const noexcept {
        if (nothing_in_fronts() || keeps_lease()) return false;
        return !is_kept() || kept_after_.read() != finished.read();
    }
    // Whether all posts are kept for the lease of the owner.
    [[nodiscard]] bool keeps_lease() const noexcept {
        return !of(lane::groups).front.empty() && keeps_is(keeps::lease);
    }

private:
    struct lane_posts {
        front_queue front;  // with several workers
        // The owner's alone. Posts since the front was empty; 0 after the owner has taken all.
        unsigned count = 0;
        post_kind kind = post_kind::plain;
        basic_task::chain list;
    };
    [[nodiscard]] lane_posts& of(lane to) noexcept { return lanes_[to == lane::groups ? 1 : 0]; }
    [[nodiscard]] const lane_posts& of(lane to) const noexcept {
        return lanes_[to == lane::groups ? 1 : 0];
    }
    [[nodiscard]] bool nothing_in_fronts() const noexcept {
        return lanes_[0].front.empty() && lanes_[1].front.empty();
    }
    [[nodiscard]] bool keeps_is(keeps what) const noexcept {
        return keeps_.load(sync::relaxed) == what;
    }
    [[nodiscard]] bool is_kept() const noexcept { return !keeps_is(keeps::nothing); }
    void set_keeps(keeps what) noexcept {
        if (!keeps_is(what)) keeps_.store(what, sync::relaxed);
    }

    void add_to_list(lane to, basic_task& newest, post_kind kind) noexcept {
        basic_task::chain& list = of(to).list;
        if (to != lane::groups) of(to).kind = list.empty() ? kind : std::max(of(to).kind, kind);
        if (kind == post_kind::batch) [[unlikely]] {
            list.append(front_queue::turn_over(&newest));
        } else {
            list.push_back(newest);
        }
        trace("keep", &newest);
    }

    // How many tasks of the local deque are to run: 1 if the owner keeps it; 2 stands for more.
    [[nodiscard]] unsigned due_locally() const noexcept {
        if (!has_open()) return 0;
        return is_kept() ? 1 : 2;
    }

    // In one line: what a round looks at on each slot.
    alignas(base::cache_line) counter kept_after_;  // written before the push
    // Written by the owner: before the push, and again before it parks.
    sync::atomic<keeps> keeps_{keeps::nothing};
    // The owner's alone, but for the fronts.
    bool all_leased_ = true;  // the posts of lane::groups
    const bool shared_;
    unsigned due_ = 0;  // tasks of both fronts that are due; a batch counts as two
    std::array<lane_posts, 2> lanes_;
    std::uint64_t leased_step_ = ~std::uint64_t{0};  // the last that posted a leased task to run
    std::uint64_t inbox_step_ = ~std::uint64_t{0};

    // With policy::stealing: plain posts, all of them open to thieves. Else null.
    const std::unique_ptr<local_posts> local_;
};

}  // namespace fairlead::sched
