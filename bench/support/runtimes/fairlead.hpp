// Fairlead, as the benchmarks of whole runtimes see it.
#pragma once

#include <fairlead/coro/spawn.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/sched/callback_task.hpp>
#include <fairlead/sched/scheduler.hpp>

#include <cstdint>
#include <utility>

namespace bench {

template <fairlead::policy Policy>
class fairlead_with {
public:
    static constexpr const char* name =
        Policy == fairlead::policy::fair ? "fairlead" : "fairlead_stealing";
    using item = fairlead::callback_task;

    explicit fairlead_with(std::uint64_t workers)
        : scheduler_{{.workers = static_cast<unsigned>(workers), .policy = Policy}} {}

    void post(item& task) { scheduler_.post(task); }

    template <class Callable>
    void post_one_shot(Callable&& callable) {
        scheduler_.post(std::forward<Callable>(callable));
    }

    /// Starts a coroutine that calls `callable`, and lets it go.
    template <class Callable>
    void spawn_coroutine(Callable callable) {
        fairlead::spawn(scheduler_, call(callable)).detach();
    }

private:
    template <class Callable>
    static fairlead::task<> call(Callable callable) {
        callable();
        co_return;
    }

    fairlead::scheduler scheduler_;
};

using fairlead_runtime = fairlead_with<fairlead::policy::fair>;
using fairlead_stealing_runtime = fairlead_with<fairlead::policy::stealing>;

}  // namespace bench
