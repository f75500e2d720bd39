// Where the scheduler and its driver say what they have decided, one decision after the other, in
// the build that records traces. TLC explains the traces by the actions of Scheduler, KeptPosts,
// EdgeSource and Destruction (spec/traces/). In any other build `trace` does nothing.
//
// A trace has decisions, not state: what an exchange found, which tasks were taken, which worker
// was chosen. Each call comes right after the access that decided. If another thread may have the
// task by then, the trace has only the address of the task.
#pragma once

namespace fairlead {
class basic_task;
}

namespace fairlead::sched {

// The tasks that a front held, newest first.
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
