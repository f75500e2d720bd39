// The real scheduler in the model checker of tests/model. The first bytes choose a small program of
// posts, deadlines, waits, wake-ups and signals by two threads, and its end: a drain, a stop,
// neither, or a stop from a third thread meanwhile. The remaining bytes choose the interleaving and
// the values that loads return.
//
// Each task runs as often as it was posted, not before its deadline or a stop. No task needs a
// time-out to be found. A stop reports the tasks that it leaves; they run after the next start.
// The checker also finds races, touches of freed memory, leaks, deadlocks and livelocks.
#pragma once

#include "fuzz/input.hpp"
#include "model/checker/atomic.hpp"
#include "model/checker/explorer.hpp"

#include <fairlead/detail/sync/signal.hpp>
#include <fairlead/sched/callback_task.hpp>
#include <fairlead/sched/scheduler.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

namespace fairlead::fuzz {

using namespace std::chrono_literals;
using model::plain;
using model::require;

enum class kind : std::uint8_t {
    posted,         // runs
    posts_itself,   // runs, and once more
    delayed,        // runs after a millisecond
    woken,          // waits, until another thread wakes it
    woken_early,    // sleeps an hour, until another thread wakes it
    signalled,      // waits, until another thread signals it
    wakes_another,  // runs, and wakes or signals the task before it, if that waits for it
    count
};

enum class ending : std::uint8_t {
    signals,
    drain,
    two_drains,
    stop,
    stop_meanwhile,  // waits for all tasks, while other threads post, wake and signal
    halt_meanwhile,  // waits for no task
    count
};

// The program that the first bytes choose.
struct program {
    explicit program(input& bytes)
        : workers{1 + static_cast<unsigned>(bytes.below(3))},
          spurious{bytes.flag() ? 1U : 0U},
          ends{static_cast<ending>(bytes.below(static_cast<std::size_t>(ending::count)))} {
        for (kind& each : kinds) {
            each = static_cast<kind>(bytes.below(static_cast<std::size_t>(kind::count)));
        }
    }

    [[nodiscard]] bool stops_meanwhile() const {
        return ends == ending::stop_meanwhile || ends == ending::halt_meanwhile;
    }

    unsigned workers;
    unsigned spurious;
    ending ends;
    std::array<kind, 3> kinds{};
};

template <class Scheduler>
class scheduled_task {
public:
    scheduled_task(kind what, scheduled_task* before) noexcept : kind_{what}, before_{before} {}

    void post(Scheduler& home) {
        switch (kind_) {
            case kind::delayed:
                return home.post_delay(task_, 1ms);
            case kind::woken_early:
                return home.post_delay(task_, 1h);
            case kind::woken:
            case kind::signalled:
                return home.post_wait(task_);
            default:
                return home.post(task_);
        }
    }

    /// The posts and wake-ups that the scenario needs, if it waits for them.
    void help() {
        if (kind_ == kind::woken || kind_ == kind::woken_early) task_.wakeup();
        if (kind_ == kind::signalled) task_.signal();
    }

    [[nodiscard]] int steps() const { return steps_; }
    [[nodiscard]] int steps_expected() const { return kind_ == kind::posts_itself ? 2 : 1; }
    [[nodiscard]] bool needs_time() const { return kind_ == kind::delayed; }

    sync::signal ended;

private:
    void step() {
        steps_ = steps_ + 1;  // plain: two steps at once would be a race
        const bool early = kind_ == kind::delayed && clock::now() < time_point{1ms};
        require(!early || task_.stop_requested(), "not early");
        if (kind_ == kind::signalled) {
            require(task_.receive_signal() || task_.stop_requested(), "the signal is there");
        }
        if (kind_ == kind::wakes_another && before_ != nullptr) before_->help();
        if (steps_ == steps_expected()) {
            ended.send();
        } else {
            static_cast<Scheduler*>(scheduler::current())->post(task_);
        }
    }

    const kind kind_;
    scheduled_task* const before_;
    plain<int> steps_{0};
    callback_task task_{[this](callback_task&) { step(); }};
};

template <class Scheduler>
void end(const program& wanted, Scheduler& home, std::deque<scheduled_task<Scheduler>>& all) {
    const auto require_all_ran = [&] {
        for (const auto& each : all) {
            require(each.steps() == each.steps_expected(), "each ran as often as it was posted");
        }
    };
    switch (wanted.ends) {
        case ending::signals: {
            bool needs_time = false;
            for (auto& each : all) {
                each.ended.receive();
                needs_time |= each.needs_time();
            }
            if (!needs_time) require(clock::now() == time_point{}, "no time-out was needed");
            break;
        }
        case ending::two_drains: {
            const model::thread other{[&] { home.drain(); }};
            home.drain();
            require_all_ran();
            break;
        }
        case ending::stop: {
            const stop_report report = home.stop(1h);
            require(report.clean(), "nothing is left after a stop");
            break;
        }
        default:
            home.drain();
            require_all_ran();
            break;
    }
}

// No thread posts any more, so the report of another stop is exact.
template <class Scheduler>
void start_again(Scheduler& home, const std::deque<scheduled_task<Scheduler>>& all) {
    const stop_report report = home.stop(duration{0});
    const auto left = std::ranges::count_if(
        all, [](const auto& each) { return each.steps() < each.steps_expected(); });
    require(report.waiting + report.queued + report.late == static_cast<std::size_t>(left),
            "what has not run is reported");
    home.start();
}

template <class Scheduler>
void run(const program& wanted) {
    std::deque<scheduled_task<Scheduler>> all;
    scheduled_task<Scheduler>* last = nullptr;
    for (const kind each : wanted.kinds) last = &all.emplace_back(each, last);
    {
        Scheduler home{{.workers = wanted.workers}};
        {
            // The other thread posts the second task and helps the tasks that this thread posts.
            const model::thread other{[&] {
                all[1].post(home);
                all[0].help();
                all[2].help();
            }};
            std::optional<model::thread> stopper;
            if (wanted.stops_meanwhile()) {
                stopper.emplace([&] {
                    const bool waits = wanted.ends == ending::stop_meanwhile;
                    static_cast<void>(home.stop(waits ? duration{1h} : duration{0}));
                });
            }
            all[0].post(home);
            all[1].help();
            all[2].post(home);
        }
        if (wanted.stops_meanwhile()) start_again(home, all);
        end(wanted, home, all);
    }
    require(clock::now() < time_point{1s}, "in time");
}

template <class Scheduler>
model::verdict check_interleaving(input bytes) {
    const program wanted{bytes};
    return model::explore({.how = model::search::bytes,
                           .steps_max = 40'000,
                           .spurious = wanted.spurious,
                           .early_time_outs = false,
                           .bytes = bytes.rest_as_bytes()},
                          [&] { run<Scheduler>(wanted); });
}

}  // namespace fairlead::fuzz
