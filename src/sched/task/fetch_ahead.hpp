// A hint to the processor to fetch a task that runs soon.
#pragma once

#include <fairlead/detail/base/cache_line.hpp>
#include <fairlead/sched/task.hpp>

namespace fairlead::sched {

// Admission reads the first cache line of a task; its step, which comes soon, reads more of them.
// In a burst none of these is in the cache. Harmless where the task is shorter.
inline void fetch_ahead(const basic_task& task) noexcept {
    const auto* const begin = reinterpret_cast<const char*>(&task);
    __builtin_prefetch(begin + base::cache_line);
    __builtin_prefetch(begin + 2 * base::cache_line);
}

}  // namespace fairlead::sched
