// How many long steps run at once: fewer than there are workers, so that a worker is left for short
// ones.
//
// A step cannot be interrupted. Where the steps of one game parse, patch and compress large saves,
// its group has no more than its share of the workers' time, but every worker may be in such a step
// when a request of another game comes. So a task takes a turn before a long step, and gives it
// back after. Games have their turn one after the other, and the tasks of a game in order.
//
// Any thread; one mutex, held for a table lookup. A task that waits for its turn sleeps.
#pragma once

#include <fairlead/coro/task.hpp>
#include <fairlead/sched/task.hpp>

#include <cstddef>
#include <list>
#include <map>
#include <mutex>
#include <string>

#include "savegames/model.hpp"

namespace savegames {

class step_gate {
    struct waiter {
        fairlead::basic_task* task;
        bool granted = false;
    };
    using lane = std::list<waiter>;

public:
    // A step on less than this is not long.
    static constexpr std::size_t bytes_min = std::size_t{64} << 10;

    struct counters {
        std::size_t running = 0;
        std::size_t waiting = 0;
        std::size_t running_max = 0;  // so many at once, so far
    };

    // The right to run one long step; given back when destroyed.
    class turn {
    public:
        explicit turn(step_gate& gate) noexcept : gate_{gate} {}
        turn(const turn&) = delete;
        turn& operator=(const turn&) = delete;
        ~turn();

        // Waits for it. False: the task was asked to stop, or the time is over. Throws
        // std::bad_alloc.
        [[nodiscard]] fairlead::task<bool> wait(std::string game, time_point deadline);

    private:
        step_gate& gate_;
        std::string game_;
        lane::iterator place_{};
        bool inside_ = false;  // of the gate: it waits, or runs
    };

    explicit step_gate(std::size_t limit) : limit_{limit} {
        last_.reserve(id_size_max);  // names of games are assigned to it under the mutex
    }

    // With so many workers: half of the workers or processors.
    [[nodiscard]] static std::size_t limit_for(std::size_t workers);

    [[nodiscard]] counters count() const;

private:
    void enter(const std::string& game, lane& made);
    [[nodiscard]] bool is_granted(lane::iterator place) const;
    void leave(const std::string& game, lane::iterator place);
    void pass_on();  // requires mutex_

    const std::size_t limit_;
    mutable std::mutex mutex_;
    std::map<std::string, lane> lanes_;  // those that wait
    lane granted_;                       // those that run
    std::string last_;                   // whose turn was last
    std::size_t running_max_ = 0;
};

}  // namespace savegames
