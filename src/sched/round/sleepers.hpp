// The tasks that sleep: those with a deadline in a heap, those without one in a table.
//
//     put_to_sleep ---> asleep ---> take_due: its deadline has come                 ---> ready
//                         |    ---> take_fired: its event has come                  ---> ready
//                         |    ---> take_told: a stop has woken it                  ---> ready
//                         +-------- woken: its waker pushes it ---> front ---> leave ---> ready
//
// A task without a deadline and a source needs no role to sleep: its worker puts it into the table
// of its slot, and a worker that wakes it takes it out. `seat::put_to_sleep`, sleeper_table.hpp.
// Here such a task comes from other threads, from a single worker, from a step that has lost its
// slot, without memory, and while the gate is closed.
//
// A waker and the role may both be about to take a sleeper. Its state word decides (`unpark`). If
// the waker was faster the task is *in transit*: no sleeper any more, and on its way through the
// front.
//
// A task for which there is no memory sleeps in a chain, and is looked at again every
// `retry_interval`.
//
// Only the holder of the role calls this. Once a stop has begun it visits the tables of slots too.
#pragma once

#include "sched/slot/sleeper_table.hpp"
#include "sched/slot/slot.hpp"
#include "sched/task/task_access.hpp"

#include <fairlead/base/time.hpp>
#include <fairlead/detail/timer/deadline_heap.hpp>
#include <fairlead/sched/task.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <vector>

namespace fairlead::sched {

class sleepers {
public:
    explicit sleepers(const std::vector<std::unique_ptr<slot>>& slots) noexcept : slots_{slots} {}

    enum class outcome : bool { sleeps, is_ready };

    // Puts the task to sleep, unless something happened that it listens to.
    [[nodiscard]] outcome put_to_sleep(basic_task& task) noexcept;

    // A task has come through the front.
    void leave(basic_task& task) noexcept;

    // The first that is due, which must exist. Null: its waker was faster, and brings it.
    [[nodiscard]] basic_task* take_due() noexcept;

    // The event of a sleeper has come. False: its waker was faster, and brings it.
    [[nodiscard]] bool take_fired(basic_task& task) noexcept;

    // Sleepers that a stop has told of itself, and woken.
    [[nodiscard]] basic_task::chain take_told() noexcept;

    // What sleeps for the lack of memory, to be admitted again.
    [[nodiscard]] basic_task::chain take_unindexed() noexcept;

    // Of all that sleep, what no waker is about to bring.
    [[nodiscard]] basic_task::chain take_all() noexcept;

    // --- questions -------------------------------------------------------------------------------

    // Whether a round has to know the time.
    [[nodiscard]] bool need_time() const noexcept {
        return !deadlines_.empty() || !unindexed_.empty();
    }

    // The first of those with a deadline, if there is one, and when it is due.
    [[nodiscard]] bool has_due(time_point now) const noexcept {
        return !deadlines_.empty() && deadlines_.next() <= now;
    }
    [[nodiscard]] basic_task& first() noexcept { return deadlines_.top(); }
    [[nodiscard]] time_point next_due() const noexcept { return deadlines_.next(); }

    // Whether some sleep for the lack of memory, and when these are to be looked at.
    [[nodiscard]] bool have_unindexed() const noexcept { return !unindexed_.empty(); }
    [[nodiscard]] time_point retry_at() const noexcept { return retry_at_; }

    // When the role must look at them next, or `never`.
    [[nodiscard]] time_point next_look() const noexcept {
        return std::min(retry_at_, deadlines_.next());
    }

    // Whether no task is in the heap, in a table or in transit. Once the workers have ended.
    [[nodiscard]] bool empty() const noexcept {
        return in_transit_ == 0 && deadlines_.empty() && table_.empty() &&
               std::ranges::all_of(slots_, [](const auto& each) { return each->sleepers.empty(); });
    }

    // Calls visit(task) for each. After a stop has begun.
    template <class Visit>
    void for_each(Visit&& visit) const {
        deadlines_.for_each(visit);
        table_.for_each(visit);
        for (const auto& each : slots_) each->sleepers.for_each(visit);
        for (basic_task* task = unindexed_.front(); task != nullptr;
             task = task->*basic_task::link) {
            visit(*task);
        }
    }

private:
    static constexpr duration retry_interval = std::chrono::milliseconds{1};

    [[nodiscard]] bool list(basic_task& task) noexcept;
    [[nodiscard]] outcome sleep_without_index(basic_task& task) noexcept;
    void remove(basic_task& task) noexcept;
    void send_through_front(basic_task& task) noexcept;

    const std::vector<std::unique_ptr<slot>>& slots_;
    timer::deadline_heap<basic_task, task_access::index> deadlines_;
    sleeper_table table_;
    basic_task::chain unindexed_;
    time_point retry_at_ = never;
    std::size_t in_transit_ = 0;
};

}  // namespace fairlead::sched
