// The monitor: a thread that looks at the workers now and then. It asks a step that has used up its
// slice to yield, and gives the slot of a step that blocks to a spare worker: see handover.hpp.
//
// The monitor cannot interrupt a step. It stores the number of the step in the slot, and the step
// looks there at its next safepoint (scheduler::should_yield). If the step has ended meanwhile, no
// step is asked, and the monitor has nothing to take back.
//
// The monitor looks often while steps are long, rarely while they are short, and not at all while
// all workers sleep. The monitor that falls asleep and the worker that wakes it are ordered by
// read-modify-writes of one word [MO1]:
//     the monitor                         a worker that has slept
//     1. exchange: asleep                 1. is awake, by the word of `idle`
//     2. look whether all workers sleep   2. exchange: awake; if it was asleep, wake the monitor
// Either the exchange of the worker finds `asleep`, or the exchange of the monitor comes after it,
// and the monitor sees that a worker is awake.
#pragma once

#include "sched/block/sight.hpp"

#include <fairlead/base/time.hpp>
#include <fairlead/detail/os/thread.hpp>
#include <fairlead/detail/sync/atomic.hpp>
#include <fairlead/detail/sync/signal.hpp>

#include <chrono>
#include <cstddef>
#include <vector>

namespace fairlead {
struct blocked_step;
}

namespace fairlead::sched {

class core;
struct slot;

class monitor {
public:
    explicit monitor(core& owner) noexcept : core_{owner} {}
    monitor(const monitor&) = delete;
    monitor& operator=(const monitor&) = delete;

    // Starts the thread, unless steps have no slices and no step may lose its slot. Throws
    // std::system_error, std::bad_alloc.
    void start();
    // Ends the thread.
    void stop() noexcept;

    // The calling worker has slept.
    void notice_awake() noexcept {
        // [MO1]
        if (watches_ && asleep_.exchange(false, sync::acq_rel)) wake_.send();
    }

private:
    void run() noexcept;
    [[nodiscard]] bool look(time_point now) noexcept;
    void look_at_long(sight& step, time_point now) noexcept;
    void relieve(sight& step) noexcept;
    void report_in_place(const sight& step) noexcept;
    [[nodiscard]] bool is_to_be_reported(const char* name) const noexcept;
    void report(const blocked_step& step) noexcept;
    [[nodiscard]] slot& slot_of(const sight& step) const noexcept;
    void ask(const sight& step) noexcept;
    [[nodiscard]] time_point next_look(time_point now) const noexcept;
    void sleep_if_all_do() noexcept;

    static constexpr duration pause_max = std::chrono::milliseconds{5};
    static constexpr int looks_of_slice = 4;
    static constexpr int idle_looks = 3;  // looks that find no step, before the monitor sleeps
    static constexpr std::size_t reported_max = 100;
    static constexpr std::size_t frames_max = 64;

    core& core_;
    bool watches_ = false;  // constant while workers run
    bool reports_ = false;  // constant while workers run, as `relieves_`
    bool relieves_ = false;
    duration pause_min_{};
    duration pause_{};
    std::vector<sight> seen_;
    std::vector<const char*> reported_;  // names of tasks, each reported once
    sync::atomic<bool> asleep_{false};
    sync::atomic<bool> ending_{false};
    sync::signal wake_;
    os::thread thread_;
};

}  // namespace fairlead::sched
