// Limits how many long steps run at once, so that a worker is left for short steps.
//
// A step cannot be interrupted. A game that parses, patches and compresses large saves gets no more
// than its share of the workers' time; still, every worker may be in such a step when a request of
// another game comes. So a task takes a turn before a long step, and gives it back after the step.
// Turns go round the games; the tasks of one game have their turns in order.
//
// Any thread. One mutex, held for a table lookup. A task that waits for its turn sleeps.
#pragma once

#include <fairlead/coro/task.hpp>
#include <fairlead/wait/event.hpp>

#include <cstddef>
#include <list>
#include <map>
#include <mutex>
#include <string>

#include "savegames/model.hpp"

namespace savegames {

class step_gate {
    using lane = std::list<fairlead::event>;  // set when the task that waits for it has its turn

public:
    // A step that works on fewer bytes is not long.
    static constexpr std::size_t bytes_min = std::size_t{64} << 10;

    struct counters {
        std::size_t running = 0;
        std::size_t waiting = 0;
        std::size_t running_max = 0;  // the most that ran at once so far
    };

    // The right to run one long step. The destructor gives it back.
    class turn {
    public:
        explicit turn(step_gate& gate) noexcept : gate_{gate} {}
        turn(const turn&) = delete;
        turn& operator=(const turn&) = delete;
        ~turn();

        // Waits for the turn. False: the task was asked to stop, or `deadline` has passed. Throws
        // std::bad_alloc.
        [[nodiscard]] fairlead::task<bool> wait(std::string game, time_point deadline);

    private:
        step_gate& gate_;
        std::string game_;
        lane::iterator place_{};
        bool inside_ = false;  // the task waits in the gate, or its step runs
    };

    explicit step_gate(std::size_t limit) : limit_{limit} {
        last_.reserve(id_size_max);  // names of games are assigned to it under the mutex
    }

    // The limit for so many workers: half of the workers, or half of the processors if these are
    // fewer, but at least 1.
    [[nodiscard]] static std::size_t limit_for(std::size_t workers);

    [[nodiscard]] counters count() const;

private:
    void enter(const std::string& game, lane& made);
    void leave(const std::string& game, lane::iterator place);
    void pass_on();  // gives turns to waiting tasks up to the limit; requires mutex_

    const std::size_t limit_;
    mutable std::mutex mutex_;
    std::map<std::string, lane> lanes_;  // the tasks that wait, by game
    lane granted_;                       // the tasks that have a turn
    std::string last_;                   // the game that had the latest turn
    std::size_t running_max_ = 0;
};

}  // namespace savegames
