// Fairlead, as the benchmarks of whole runtimes see it.
#pragma once

#include <fairlead/coro/spawn.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/sched/callback_task.hpp>
#include <fairlead/sched/scheduler.hpp>

#include <cstdint>
#include <utility>

namespace bench {

class fairlead_runtime {
public:
    static constexpr const char* name = "fairlead";
    using item = fairlead::callback_task;

    explicit fairlead_runtime(std::uint64_t workers)
        : scheduler_{{.workers = static_cast<unsigned>(workers)}} {}

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

}  // namespace bench
