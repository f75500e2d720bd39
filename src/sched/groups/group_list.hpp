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
    // The caller holds what it gets. Throws std::bad_alloc.
    [[nodiscard]] group_state& make(core& in, group_options options);

    void erase(group_state& gone) noexcept {
        std::lock_guard lock{mutex_};
        all_.erase(gone);
    }

    // Whether there is none. While no other thread makes one.
    [[nodiscard]] bool empty() const noexcept { return all_.empty(); }

    // Under the mutex.
    template <class Visit>
    void for_each(Visit&& visit) {
        std::lock_guard lock{mutex_};
        for (group_state* each = all_.front(); each != nullptr; each = all_.next(*each)) {
            visit(*each);
        }
    }

    // Before the end.
    void let_go_of_dropped() noexcept;

private:
    sync::mutex mutex_;
    base::list<group_state, &group_state::links> all_;  // guarded by mutex_
    // What other groups drop is given back in it, whatever else there is to do. Likewise; null until the first group
    // that may drop tasks.
    group_state* of_dropped_ = nullptr;
};

}  // namespace fairlead::sched
