// One more thread of a scenario stops the scheduler at any moment. A start then goes on with the
// remaining tasks. No posted task may be lost or run twice.
#pragma once

#include "model/explore.hpp"

#include <fairlead/coro/spawn.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/detail/os/thread.hpp>
#include <fairlead/sched/scheduler.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>

namespace fairlead::model {

enum class stops : std::uint8_t {
    none,
    patient,  // waits until all tasks have ended, then ends the workers
    at_once,  // ends the workers at once; tasks may be left
};

class interruption {
public:
    interruption(scheduler& of, stops how) {
        if (how == stops::none) return;
        thread_.emplace([&of, how] {
            using namespace std::chrono_literals;
            static_cast<void>(of.stop(how == stops::patient ? duration{1h} : duration{0}));
            of.start();
        });
    }

private:
    std::optional<thread> thread_;  // joined at the end
};

/// The result of a task, which a thread waits for. A stop ends the wait before the task has ended;
/// after the start the task goes on, and the thread waits again.
template <class T>
T result_of(join_handle<T>& handle) {
    for (;;) {
        try {
            return handle.get();
        } catch (const stopped_error&) {
            if (!handle.valid()) throw;
        }
        os::yield();
    }
}
template <class T>
T result_of(join_handle<T>&& handle) {
    return result_of(handle);
}

/// By priorities, without a stop and with each kind of stop.
inline void expect_passes_though_stopped(const std::function<void(stops)>& scenario) {
    expect_passes_by_priorities([&] { scenario(stops::none); });
    for (const stops how : {stops::patient, stops::at_once}) {
        expect_passes_by_priorities([&] { scenario(how); }, 125);
    }
}

/// Checks that a coroutine on two workers ends in every execution in which a stop interrupts it.
inline void expect_ends_though_stopped(const std::function<task<>()>& parent) {
    expect_passes_though_stopped([&parent](stops how) {
        scheduler scheduler{{.workers = 2}};
        const interruption stop{scheduler, how};
        result_of(
            spawn(scheduler, parent()));  // block_on would throw after a stop, before the start
    });
}

/// The same for steps that wait for other tasks, with patient stops only. A stop at once would
/// leave the other tasks and then wait for the step for ever. The scenario must post the other
/// tasks before the stop.
inline void expect_passes_though_stopped_patiently(const std::function<void(stops)>& scenario) {
    expect_passes_by_priorities([&] { scenario(stops::none); });
    expect_passes_by_priorities([&] { scenario(stops::patient); }, 125);
}

}  // namespace fairlead::model
