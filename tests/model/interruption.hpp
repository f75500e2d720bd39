// A stop of a scheduler as one more thread of a scenario, at any moment, and a start that goes on
// with what the stop has left. So nothing that was posted may be lost, or run twice, whatever else
// happens.
#pragma once

#include "model/explore.hpp"

#include <fairlead/coro/spawn.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/sched/scheduler.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>

namespace fairlead::model {

enum class stops : std::uint8_t {
    none,
    patient,  // waits until everything has ended, and then ends the workers
    at_once,  // ends the workers, whatever is left
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
        spawn(scheduler, parent()).get();  // block_on would throw after a stop, before the start
    });
}

/// By priorities as well, for steps that wait for other tasks: a stop that does not wait for these,
/// and the start after it, would wait for such a step for ever. What they need is to be posted
/// before the stop.
inline void expect_passes_though_stopped_patiently(const std::function<void(stops)>& scenario) {
    expect_passes_by_priorities([&] { scenario(stops::none); });
    expect_passes_by_priorities([&] { scenario(stops::patient); }, 125);
}

}  // namespace fairlead::model
