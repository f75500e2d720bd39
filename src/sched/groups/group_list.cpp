#include "sched/groups/group_list.hpp"

#include <utility>

namespace fairlead::sched {

group_state& group_list::make(core& in, group_options options) {
    const lane by = options.priority == priority::highest ? lane::control : lane::groups;
    std::lock_guard lock{mutex_};
    if (options.drop_oldest && of_dropped_ == nullptr) {
        of_dropped_ = new group_state{in,
                                      lane::control,
                                      {.name = "dropped tasks",
                                       .weight = group_state::weight_max,
                                       .priority = priority::highest}};
        all_.push_back(*of_dropped_);
    }
    group_state* const drops_to = options.drop_oldest ? of_dropped_ : nullptr;
    auto* const made = new group_state{in, by, std::move(options), drops_to};
    all_.push_back(*made);
    return *made;
}

void group_list::let_go_of_dropped() noexcept {
    if (group_state* const last = std::exchange(of_dropped_, nullptr)) last->let_go();
}

}  // namespace fairlead::sched
