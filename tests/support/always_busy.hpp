// A task that keeps a worker busy.
#pragma once

#include "support/tasks.hpp"

#include <fairlead/base/time.hpp>
#include <fairlead/sched/executor.hpp>

#include <atomic>

namespace fairlead::test {

/// A task that posts itself until `end`; each step takes so long.
class always_busy {
public:
    always_busy(const executor& in, duration length) : in_{in}, length_{length} { in_.post(task_); }
    void end() noexcept { over_ = true; }
    [[nodiscard]] int steps() const noexcept { return steps_; }

private:
    const executor in_;
    const duration length_;
    std::atomic<bool> over_{false};
    std::atomic<int> steps_{0};
    scripted task_{[this](scripted& self) {
        for (const time_point end = clock::now() + length_; clock::now() < end;) {
        }
        ++steps_;
        if (!over_) in_.post(self);
    }};
};

}  // namespace fairlead::test
