// What the last steps of a worker posted, taken without a round: the next task of a busy worker,
// mostly.
//
// A worker takes them itself while nothing that is known to wait is older, but for posts of other
// steps, and only so many between two rounds: a round takes the posts of the slots, and deals them
// evenly. The more workers there are, the more a round costs. So the limit is a row of 256 posts
// for each worker, and a round of another worker counts as well. A post that sleeps, or a sleeper
// that was woken, needs the role for a moment, where the step could not do without it: see
// posted.hpp. A post with a deadline or a source needs a round.
//
// `take` is compiled twice, for an outbox that is shared and for an outbox of the only worker:
// between two steps every instruction counts.
//
// On the thread of the worker alone.
#pragma once

#include "sched/runtime/core.hpp"
#include "sched/slot/slot.hpp"
#include "sched/task/task_access.hpp"
#include "sched/worker/charging.hpp"
#include "sched/worker/stuck_search.hpp"

#include <cstddef>
#include <cstdint>

namespace fairlead::sched {

class own_posts {
public:
    own_posts(core& in, slot& own, charging& charges, const stuck_search& stuck) noexcept
        : core_{in}, slot_{own}, charges_{charges}, stuck_{stuck} {}
    own_posts(const own_posts&) = delete;
    own_posts& operator=(const own_posts&) = delete;

    // The next of them, if nothing older is known to wait. What is to run with it goes to the run.
    // Null also if a round of another worker was faster.
    [[nodiscard, gnu::always_inline]] basic_task* take(bool shared) noexcept {
        slot_.outbox.assume_shared(shared);
        if (slot_.outbox.empty(lane::everyone) || !are_next()) return nullptr;
        if (shared && older_come_first()) return nullptr;
        slot_.outbox.assume_shared(shared);
        if (slot_.outbox.is_due()) return take_due(shared);
        return shared ? admit<true>() : admit<false>();
    }

    // The next of them, as far as the lease of the turn lets them run without a round. There is a
    // lease.
    template <bool Shared>
    [[nodiscard]] basic_task* take_leased() noexcept;

    // With policy::stealing, while groups have turns: the role deals the oldest chunk of the deque,
    // if it has no more than `count_max` tasks, or its oldest task. No more, so that no other task
    // waits for long. Where each round deals a turn to `next`, `look` never comes to the deque.
    void give_oldest_to_role(std::size_t count_max) noexcept;

    // A round has taken what other threads posted.
    void begin_anew() noexcept {
        left_ = in_a_row_max;
        rows_ = 0;
        slot_.outbox.begin_anew();
    }

private:
    static constexpr unsigned in_a_row_max = run_queue::capacity;

    // Whether they need no round, and nothing that is known to wait is older.
    [[nodiscard]] bool are_next() const noexcept {
        return slot_.outbox.kind() <= post_kind::sleeps && slot_.ready_consumer.empty() &&
               core_.inbox.empty(lane::everyone) && !core_.role.has_backlog();
    }

    // While steps are long what another worker keeps since an earlier step is older, by much: then
    // a round takes all of it, of this worker or of the holder of the role.
    [[nodiscard]] bool older_come_first() noexcept {
        return row_is_over(lane::everyone) || (stuck_.steps_are_long() && others_keep_older());
    }
    [[nodiscard]] bool row_is_over(lane from) noexcept {
        return slot_.outbox.posts(from) > left_ && !begin_row(from);
    }
    [[nodiscard]] bool begin_row(lane from) noexcept;
    [[nodiscard]] bool others_keep_older() const noexcept;

    [[gnu::always_inline]] basic_task* take_due(bool shared, lane from = lane::everyone) noexcept {
        slot_.direct.add(1);  // before they disappear: see role::drained
        slot_.outbox.assume_shared(shared);
        basic_task::chain taken = slot_.outbox.take(from);
        trace(shared ? "take_own" : "take_one", taken);
        basic_task* const first = taken.pop_front();
        if (first == nullptr) {
            slot_.direct.publish(slot_.direct.value() - 1);
            return nullptr;
        }
        if (shared) --left_;
        if (!taken.empty()) put_due_into_run(taken);
        return first;
    }
    void put_due_into_run(basic_task::chain tasks) noexcept;
    template <bool Shared>
    [[nodiscard]] basic_task* admit() noexcept;
    [[nodiscard]] basic_task* admit_leased(lane from) noexcept;
    struct admitted {
        basic_task* first = nullptr;
        std::size_t behind = 0;
    };
    [[nodiscard]] inline admitted admit_into_run(basic_task::chain tasks) noexcept;
    [[nodiscard]] bool is_alone() const noexcept { return !slot_.outbox.is_shared(); }
    inline void release() noexcept;

    core& core_;
    slot& slot_;
    charging& charges_;
    const stuck_search& stuck_;
    // How many of this row are left; a single worker counts under a lease only. With several
    // workers: how many rows have ended since the last round, and how many rounds there were then.
    unsigned left_ = in_a_row_max;
    std::size_t rows_ = 0;
    std::uint64_t seen_rounds_ = 0;
};

}  // namespace fairlead::sched
