// Late sleepers that overtake tasks in line: one at a time, and for a share of the time of one
// worker.
//
// A sleeper that is due goes before the run of the worker that finds it, as it is late already.
// Until its step has ended it is the only one, and after that none overtakes for (`share` - 1)
// times as long as it ran.
//
// Any worker asks `may`. The holder of the role calls `begin`; the worker of the slot calls `end`.
#pragma once

#include "sched/slot/slot.hpp"

#include <fairlead/base/time.hpp>
#include <fairlead/detail/sync/atomic.hpp>

#include <algorithm>
#include <chrono>
#include <memory>
#include <span>

namespace fairlead::sched {

class overtaking {
public:
    // A sleeper that has been due for so long stands in line as well.
    static constexpr duration longest_wait = std::chrono::milliseconds{1};

    // Whether one may overtake now. A hint.
    [[nodiscard]] bool may(time_point now) const noexcept {
        return again_at_.load(sync::relaxed) <= now;
    }

    // The task is the next of the slot.
    void begin(slot& own, basic_task& task, time_point now) noexcept {
        own.next = &task;
        own.overtakes_since = now;
        again_at_.store(never, sync::relaxed);  // a hint
    }

    // The step has ended, or has lost its slot.
    void end(slot& own, time_point now) noexcept {
        using namespace std::chrono_literals;
        const duration took = std::min<duration>(now - own.overtakes_since, 1h);
        own.overtakes_since = never;
        again_at_.store(after(now, (share - 1) * took), sync::relaxed);  // a hint
    }

    // None does: no worker runs.
    void forget(std::span<const std::unique_ptr<slot>> slots) noexcept {
        for (const auto& each : slots) each->overtakes_since = never;
        again_at_.store(immediately, sync::relaxed);
    }

private:
    static constexpr int share = 8;

    sync::atomic<time_point> again_at_{immediately};  // `never` while one overtakes
};

}  // namespace fairlead::sched
