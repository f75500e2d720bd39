#include "sched/worker/own_posts.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

namespace fairlead::sched {

[[gnu::noinline]] bool own_posts::others_keep_older() const noexcept {
    return std::any_of(core_.slots.begin(), core_.slots.end(), [this](const auto& each) {
        return each.get() != &slot_ && each->outbox.has_older_posts(each->finished);
    });
}

// The row has ended: whether another may begin without a round. The run has room for one row.
[[gnu::noinline]] bool own_posts::begin_row(lane from) noexcept {
    if (slot_.outbox.posts(from) > in_a_row_max) return false;
    const std::uint64_t rounds = core_.role.rounds();
    if (rows_ != 0 && rounds != seen_rounds_) rows_ = 0;  // another worker has run one
    seen_rounds_ = rounds;
    if (rows_ + 1 == core_.width()) return false;
    ++rows_;
    left_ = in_a_row_max;
    return true;
}

[[gnu::noinline, gnu::hot]] void own_posts::put_due_into_run(basic_task::chain tasks) noexcept {
    slot_.direct.add(tasks.size());  // before they can run
    left_ -= static_cast<unsigned>(tasks.size());
    std::array<basic_task*, run_queue::capacity> rest;
    std::size_t count = 0;
    while (basic_task* const task = tasks.pop_front()) {
        rest[count++] = task;
    }
    core_.put_into_run(slot_, {rest.data(), count});
}

// The first that is to run; what else is to run goes to the run.
[[gnu::always_inline]] inline own_posts::admitted own_posts::admit_into_run(
    basic_task::chain tasks) noexcept {
    basic_task* first = nullptr;
    std::array<basic_task*, run_queue::capacity> behind;
    std::size_t count = 0;
    while (basic_task* const task = tasks.pop_front()) {
        if (!core_.role.admit_one(*task)) continue;
        if (first == nullptr) {
            first = task;
        } else {
            behind[count++] = task;
        }
    }
    if (count != 0) slot_.runs.push({behind.data(), count});
    return {first, count};
}

// Up to the first that is to run, and what `take` gives with it. The tasks behind it in a list may
// be woken before it is their turn to sleep.
template <bool Shared>
[[gnu::noinline, gnu::hot]] basic_task* own_posts::admit() noexcept {
    if (!core_.role.try_acquire()) return nullptr;
    // The worker that had it before may have left something older.
    if (Shared && (core_.role.has_backlog() || !slot_.ready_consumer.empty())) {
        release();
        return nullptr;
    }
    trace("begin_own");
    basic_task* first = nullptr;
    for (unsigned left = Shared ? 1 : in_a_row_max; left != 0 && first == nullptr; --left) {
        slot_.outbox.assume_shared(Shared);
        basic_task::chain taken = slot_.outbox.take();
        if (taken.empty()) break;
        if (Shared) left_ -= static_cast<unsigned>(taken.size());
        if constexpr (Shared) {
            first = admit_into_run(taken).first;
        } else {
            basic_task* const task = taken.pop_front();
            if (core_.role.admit_one(*task)) first = task;
        }
    }
    trace("deal_own", std::size_t{0});
    release();
    return first;
}

template basic_task* own_posts::admit<true>() noexcept;
template basic_task* own_posts::admit<false>() noexcept;

// They run in what is left of the turn while nothing that is known to wait is older. But a turn
// that has begun with all tasks of its group goes on beside a few that came later, one for each
// other worker: mostly a thief has taken them from a turn, and they have posted themselves again.
template <bool Shared>
[[gnu::noinline, gnu::hot]] basic_task* own_posts::take_leased() noexcept {
    lease& turn = charges_.turn_lease();
    const bool of_group = turn.is_of_group();
    const lane from = of_group ? lane::groups : lane::everyone;
    slot_.outbox.assume_shared(Shared);
    if (!slot_.outbox.has_leased(turn.tasks())) return nullptr;
    const std::size_t others = Shared && slot_.turn.took_all ? core_.width() - 1 : 0;
    if (!turn.group().keeps_lease(others) || core_.inbox.has_grouped() ||
        core_.role.groups_pend()) {
        return nullptr;
    }
    if (!of_group && !(slot_.ready_consumer.empty() && core_.inbox.empty(lane::everyone))) {
        return nullptr;
    }
    slot_.outbox.assume_shared(Shared);
    if (Shared ? row_is_over(from) : left_ == 0) return nullptr;
    slot_.outbox.assume_shared(Shared);
    if (!slot_.outbox.is_due(from)) return admit_leased(from);
    const std::uint64_t before = slot_.direct.value();
    basic_task* const task = take_due(Shared, from);
    if (task == nullptr) return nullptr;
    if (!Shared) --left_;
    if (of_group) turn.begin_steps(slot_.direct.value() - before);
    return task;
}

template basic_task* own_posts::take_leased<false>() noexcept;
template basic_task* own_posts::take_leased<true>() noexcept;

void own_posts::give_oldest_to_role(std::size_t count_max) noexcept {
    basic_task::chain chunk = slot_.outbox.local().steal(count_max);
    if (chunk.empty()) return;
    basic_task& oldest = *chunk.front();
    basic_task* newest = nullptr;
    while (basic_task* const task = chunk.pop_front()) {
        task_access::mark_dealt(*task);  // it counts as begun
        task->*basic_task::link = std::exchange(newest, task);
    }
    core_.see_to(slot_.outbox.push(lane::everyone, *newest, oldest, post_kind::batch,
                                   slot_.finished.value()));
}

// Up to the first that is to run, as `admit`.
[[gnu::noinline]] basic_task* own_posts::admit_leased(lane from) noexcept {
    if (!core_.role.try_acquire()) return nullptr;
    trace("begin_own");
    lease& turn = charges_.turn_lease();
    admitted run;
    while (run.first == nullptr && left_ != 0 && slot_.outbox.has_leased(turn.tasks())) {
        const basic_task::chain taken = slot_.outbox.take(from);
        left_ -= std::min(left_, static_cast<unsigned>(taken.size()));
        run = admit_into_run(taken);
    }
    trace("deal_own", std::size_t{0});
    if (turn.is_of_group() && run.first != nullptr) turn.begin_steps(1 + run.behind);
    release();
    return run.first;
}

// No round: nothing has gone to ready, and what has gone to the run is ordered by [ID2]. So the
// look for sleepers is a load; a worker that has failed to get the role is seen [RL1].
inline void own_posts::release() noexcept {
    if (is_alone()) return core_.role.release_alone();
    core_.role.release();
    if (core_.idle.has_sleepers()) core_.wake_another(slot_);
}

}  // namespace fairlead::sched
