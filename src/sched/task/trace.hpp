// Where the scheduler and its driver say what they have decided, step by step, in the build that records traces: TLC
// explains them by the actions of Scheduler, KeptPosts, EdgeSource and Destruction (spec/traces/). In any other build
// it is nothing.
//
// A trace has decisions, not state: what an exchange found, what was taken, who was chosen. Each is said right
// after the access that decided it, and of a task that is in other hands by then only the address.
#pragma once

namespace fairlead {
class basic_task;
}

namespace fairlead::sched {

// What a front held.
struct reversed_tasks {
    basic_task* newest;
};

}  // namespace fairlead::sched

#ifdef FAIRLEAD_TRACE_HEADER
#include FAIRLEAD_TRACE_HEADER
#else

namespace fairlead::sched {

template <class... Decided>
constexpr void trace(const char*, const Decided&...) noexcept {}

}  // namespace fairlead::sched

#endif
