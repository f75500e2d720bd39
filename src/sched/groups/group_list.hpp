// The groups of a scheduler, but for the default one.
//
// Any thread. A mutex guards it: groups come and go rarely.
#pragma once

#include "sched/groups/group_state.hpp"

#include <fairlead/detail/base/list.hpp>
#include <fairlead/detail/sync/mutex.hpp>
#include <fairlead/sched/group.hpp>

#include <mutex>

namespace fairlead::sched {

class group_list {
public:
    // Makes a group, which the caller holds. Throws std::bad_alloc.
    [[nodiscard]] group_state& make(core& in, group_options options);

    void erase(group_state& gone) noexcept {
        std::lock_guard lock{mutex_};
        all_.erase(gone);
    }

    // Whether there is no group. Requires that no other thread makes one meanwhile.
    [[nodiscard]] bool empty() const noexcept { return all_.empty(); }

    // Calls `visit` for each group, under the mutex.
    template <class Visit>
    void for_each(Visit&& visit) {
        std::lock_guard lock{mutex_};
        for (group_state* each = all_.front(); each != nullptr; each = all_.next(*each)) {
            visit(*each);
        }
    }

    // Before the scheduler is destroyed.
    void let_go_of_dropped() noexcept;

private:
    sync::mutex mutex_;
    base::list<group_state, &group_state::links> all_;  // guarded by mutex_
    // The group whose steps give back the tasks that other groups drop; these steps go before all
    // other tasks. Set under mutex_; null until the first group that may drop tasks.
    group_state* of_dropped_ = nullptr;
};

}  // namespace fairlead::sched
