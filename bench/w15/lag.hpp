// W15, the case `lag`: `chains` groups of Fairlead with the weights 1, 2, 3, ... and one task each,
// which computes for a random time and then sleeps for a random time, for `span_ms`. Both times are
// uniform, from nothing to twice their mean: of computing it is `work_ns`; of sleeping it is such
// that the tasks would use 120 % of the workers if none ever waited. As they wait, the workers are
// nearly but not always busy: `busy` says for how much of their time.
//
//     lag    what a group is entitled to when its task begins, since it became due, in slices of
//            1 ms, p99
//
// It is measured outside of the scheduler: each step writes down when it was due, when it began and
// when it ended, and the run is gone through afterwards. A group is entitled to its weight's share
// of the workers among those that are due and have not ended, at most to one worker, and has had
// nothing before it begins; from then on its lag goes down. So what is found are the peaks. A group
// that is far behind may be entitled to more than it computes then. `wait` is the time from due to
// begin; the profile has it by weight.
#pragma once

#include "support/clock.hpp"
#include "support/options.hpp"
#include "support/percentiles.hpp"
#include "support/result.hpp"
#include "w15/shares.hpp"

#include <fairlead/sched/callback_task.hpp>
#include <fairlead/sched/group.hpp>
#include <fairlead/sched/scheduler.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <random>
#include <thread>
#include <vector>

namespace bench::w15 {

struct stretch {
    std::uint64_t due_ns, begin_ns, end_ns;
};

/// A group whose task computes and sleeps.
class sleepy_tenant {
public:
    sleepy_tenant(fairlead::scheduler& on, unsigned weight, std::uint64_t work_ns,
                  std::uint64_t sleep_ns, const std::atomic<bool>& ending)
        : ending_{ending},
          group_{on, {.weight = weight}},
          random_{weight},
          work_ns_{0, 2 * work_ns},
          sleep_ns_{0, static_cast<std::int64_t>(2 * sleep_ns)} {
        log_.reserve(100'000);
    }

    void begin() { sleep(); }

    [[nodiscard]] const std::vector<stretch>& log() const noexcept { return log_; }

private:
    void sleep() {
        due_ = fairlead::clock::now() + std::chrono::nanoseconds{sleep_ns_(random_)};
        group_.post_deadline(task_, due_);
    }

    void step() {
        if (ending_.load(std::memory_order_relaxed)) return;
        const std::uint64_t begin_ns = now_ns();
        burn_cpu(work_ns_(random_));
        log_.push_back(
            {static_cast<std::uint64_t>(due_.time_since_epoch().count()), begin_ns, now_ns()});
        sleep();
    }

    const std::atomic<bool>& ending_;
    fairlead::group group_;
    std::minstd_rand random_;
    std::uniform_int_distribution<std::uint64_t> work_ns_;
    std::uniform_int_distribution<std::int64_t> sleep_ns_;
    fairlead::time_point due_;
    std::vector<stretch> log_;
    fairlead::callback_task task_{[this](fairlead::callback_task&) { step(); }};
};

/// Goes through a run, in the order of time, and sums up what each group is entitled to while it is
/// due.
class lag_meter {
public:
    lag_meter(std::size_t groups, double workers) : groups_(groups), workers_{workers} {}

    void add(std::size_t group, const stretch& each) {
        moments_.push_back({each.due_ns, group, &lag_meter::becomes_due});
        moments_.push_back({each.begin_ns, group, &lag_meter::begins});
        moments_.push_back({each.end_ns, group, &lag_meter::ends});
    }

    /// In nanoseconds, of each step.
    [[nodiscard]] percentiles go_through() {
        std::ranges::stable_sort(moments_, {}, &moment::at_ns);
        std::uint64_t before_ns = moments_.front().at_ns;
        for (const moment& each : moments_) {
            pass(static_cast<double>(each.at_ns - before_ns));
            before_ns = each.at_ns;
            (this->*each.what)(each.group);
        }
        return percentiles{lags_ns_};
    }

private:
    struct state {
        bool is_due = false;
        double entitled_ns = 0;
    };
    struct moment {
        std::uint64_t at_ns;
        std::size_t group;
        void (lag_meter::*what)(std::size_t);
    };

    [[nodiscard]] static double weight(std::size_t group) { return static_cast<double>(group + 1); }

    void pass(double time_ns) {
        for (std::size_t i = 0; i != groups_.size(); ++i) {
            if (!groups_[i].is_due) continue;
            groups_[i].entitled_ns += time_ns * std::min(1.0, workers_ * weight(i) / weights_);
        }
    }
    void becomes_due(std::size_t group) {
        groups_[group] = {.is_due = true};
        weights_ += weight(group);
    }
    void begins(std::size_t group) { lags_ns_.push_back(std::llround(groups_[group].entitled_ns)); }
    void ends(std::size_t group) {
        groups_[group].is_due = false;
        weights_ -= weight(group);
    }

    std::vector<state> groups_;
    const double workers_;
    double weights_ = 0;
    std::vector<moment> moments_;
    std::vector<std::int64_t> lags_ns_;
};

inline double of_slice(std::int64_t ns) { return static_cast<double>(ns) / slice_ns; }

inline measurement report_lag(const stopwatch& watch, const std::deque<sleepy_tenant>& all,
                              std::uint64_t workers) {
    const auto workers_ns = static_cast<double>((now_ns() - watch.began_ns()) * workers);
    lag_meter meter{all.size(), static_cast<double>(workers)};
    std::vector<std::int64_t> waits;
    double worked_ns = 0;
    profile by_weight{"weight", "wait until it begins, p99, us", {}};
    for (std::size_t i = 0; i != all.size(); ++i) {
        std::vector<std::int64_t> own;
        for (const stretch& each : all[i].log()) {
            meter.add(i, each);
            own.push_back(static_cast<std::int64_t>(each.begin_ns - each.due_ns));
            worked_ns += static_cast<double>(each.end_ns - each.begin_ns);
        }
        if (own.empty()) return {.failure = "a group did not run"};
        waits.insert(waits.end(), own.begin(), own.end());
        by_weight.points.emplace_back(i + 1, static_cast<double>(percentiles{own}.at(0.99)) * 1e-3);
    }
    measurement found = watch.per_item(waits.size());
    const percentiles lag = meter.go_through();
    const percentiles wait{std::move(waits)};
    if (wait.least() < 0) found.failure = "a timer was early";
    found.value = of_slice(lag.at(0.99));
    found.unit = "slices";
    found.beside = {{"lag p50", of_slice(lag.at(0.5)), "slices"},
                    {"lag max", of_slice(lag.at(1)), "slices"},
                    {"wait p50", of_slice(wait.at(0.5)), "slices"},
                    {"wait p99", of_slice(wait.at(0.99)), "slices"},
                    {"wait max", of_slice(wait.at(1)), "slices"},
                    {"busy", 100 * worked_ns / workers_ns, "%"}};
    found.profile = std::move(by_weight);
    return found;
}

inline measurement lag(const options& asked) {
    constexpr double load = 1.2;  // of the workers, if none waited
    const auto cycle_ns =
        static_cast<std::uint64_t>(static_cast<double>(asked.chains * asked.work_ns) /
                                   (load * static_cast<double>(asked.workers)));
    if (cycle_ns <= asked.work_ns) return {.failure = "too few groups for so many workers"};
    std::atomic<bool> ending{false};
    fairlead::scheduler scheduler{{.workers = static_cast<unsigned>(asked.workers)}};
    std::deque<sleepy_tenant> all;
    for (unsigned weight = 1; weight <= asked.chains; ++weight) {
        all.emplace_back(scheduler, weight, asked.work_ns, cycle_ns - asked.work_ns, ending);
    }
    const stopwatch watch;
    for (auto& each : all) each.begin();
    std::this_thread::sleep_for(std::chrono::milliseconds{asked.span_ms});
    ending.store(true, std::memory_order_relaxed);
    scheduler.drain();
    return report_lag(watch, all, asked.workers);
}

}  // namespace bench::w15
