// W15, the case `shares`: `chains` groups of Fairlead with the weights 1, 2, 3, ... and three tasks
// each, which are always ready. A step computes for a random time, from half to one and a half of
// 5, 10, 15 or 20 us; groups have the four in turn. They are measured for `span_ms` from when all
// have been posted.
//
//     shares    the largest error of a group's share, in % of what its weight entitles it to
//
// A share is what `group::stats` says that its steps used, of what all used: at the end, and every
// 10 ms, for the lag: what a group is entitled to and has not had, or has had too much. Readings of
// all groups that took longer than 100 us, as this thread was preempted, are left out. `own clocks`
// is the largest error by what the tasks measured themselves. `interrupted` is how much of that was
// no time of the thread: a step that the kernel interrupts is charged to its group in full, and one
// of 4 ms is twice what weight 1 of 64 is entitled to in two seconds of two workers.
#pragma once

#include "support/clock.hpp"
#include "support/options.hpp"
#include "support/percentiles.hpp"
#include "support/result.hpp"

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
#include <functional>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

namespace bench::w15 {

inline constexpr double slice_ns = 1e6;  // of a group, unless it says otherwise

/// A group whose tasks are always ready.
class busy_tenant {
public:
    static constexpr int tasks = 3;

    busy_tenant(fairlead::scheduler& on, unsigned weight, const std::atomic<bool>& ending)
        : ending_{ending}, group_{on, {.weight = weight}}, mean_ns_{5'000 * (1 + weight % 4)} {
        for (int i = 0; i != tasks; ++i) {
            members_.emplace_back([this](fairlead::callback_task& self) { step(self); });
            random_.emplace_back(tasks * weight + static_cast<unsigned>(i));
        }
    }

    void begin() {
        for (auto& each : members_) group_.post(each);
    }

    [[nodiscard]] double used_ns() const {
        return static_cast<double>(group_.stats().used.count());
    }
    [[nodiscard]] double worked_ns() const {
        return static_cast<double>(worked_ns_.load(std::memory_order_relaxed));
    }
    [[nodiscard]] double cpu_ns() const {
        return static_cast<double>(cpu_ns_.load(std::memory_order_relaxed));
    }
    [[nodiscard]] std::uint64_t steps() const { return group_.stats().steps; }

private:
    void step(fairlead::callback_task& self) {
        std::uniform_int_distribution<std::uint64_t> length_ns{mean_ns_ / 2,
                                                               mean_ns_ + mean_ns_ / 2};
        const std::uint64_t asked_ns = length_ns(random_of(self));
        const std::uint64_t begin_cpu_ns = read_clock_ns(CLOCK_THREAD_CPUTIME_ID);
        const std::uint64_t begin_ns = now_ns();
        burn_cpu(asked_ns);
        worked_ns_.fetch_add(now_ns() - begin_ns, std::memory_order_relaxed);
        cpu_ns_.fetch_add(read_clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_cpu_ns,
                          std::memory_order_relaxed);
        if (!ending_.load(std::memory_order_relaxed)) group_.post(self);
    }

    std::minstd_rand& random_of(const fairlead::callback_task& self) {
        std::size_t index = 0;
        while (&members_[index] != &self) ++index;
        return random_[index];
    }

    const std::atomic<bool>& ending_;
    fairlead::group group_;
    const std::uint64_t mean_ns_;
    std::deque<fairlead::callback_task> members_;
    std::vector<std::minstd_rand> random_;
    std::atomic<std::uint64_t> worked_ns_{0};
    std::atomic<std::uint64_t> cpu_ns_{0};
};

/// What the groups had since `from`, of what each was entitled to.
class entitlement {
public:
    explicit entitlement(const std::vector<double>& had_ns)
        : had_ns_{had_ns}, all_ns_{std::accumulate(had_ns.begin(), had_ns.end(), 0.0)} {}

    /// In nanoseconds; negative: it has had too much.
    [[nodiscard]] double lag(std::size_t index) const { return entitled(index) - had_ns_[index]; }
    [[nodiscard]] double relative(std::size_t index) const {
        return had_ns_[index] / entitled(index);
    }

    [[nodiscard]] std::vector<double> errors() const {
        std::vector<double> found;
        for (std::size_t i = 0; i != had_ns_.size(); ++i) {
            found.push_back(100 * std::abs(relative(i) - 1));
        }
        return found;
    }

private:
    [[nodiscard]] double entitled(std::size_t index) const {
        const auto count = static_cast<double>(had_ns_.size());
        return all_ns_ * static_cast<double>(index + 1) / (count * (count + 1) / 2);
    }

    std::vector<double> had_ns_;
    double all_ns_;
};

class busy_tenants {
public:
    explicit busy_tenants(const options& asked)
        : scheduler_{{.workers = static_cast<unsigned>(asked.workers)}} {
        for (unsigned weight = 1; weight <= asked.chains; ++weight) {
            all_.emplace_back(scheduler_, weight, ending_);
        }
    }

    /// Posts all, and reads for so long.
    measurement run_for(std::chrono::milliseconds span) {
        using clock = std::chrono::steady_clock;
        const stopwatch watch;
        for (auto& each : all_) each.begin();
        const std::vector<double> began = read(&busy_tenant::used_ns);
        const std::vector<double> began_working = read(&busy_tenant::worked_ns);
        std::vector<std::int64_t> lags;
        for (const auto end = clock::now() + span; clock::now() < end;) {
            std::this_thread::sleep_for(std::chrono::milliseconds{10});
            const std::uint64_t begin_ns = now_ns();
            const std::vector<double> used = read(&busy_tenant::used_ns);
            if (now_ns() - begin_ns > 100'000) continue;
            const entitlement now{since(began, used)};
            for (std::size_t i = 0; i != all_.size(); ++i) {
                lags.push_back(std::llround(std::abs(now.lag(i))));
            }
        }
        const entitlement by_stats{since(began, read(&busy_tenant::used_ns))};
        const entitlement by_own{since(began_working, read(&busy_tenant::worked_ns))};
        end();
        return report(watch, by_stats, by_own, lags);
    }

private:
    [[nodiscard]] std::vector<double> read(double (busy_tenant::*what)() const) const {
        std::vector<double> found;
        found.reserve(all_.size());
        for (const auto& each : all_) found.push_back((each.*what)());
        return found;
    }

    [[nodiscard]] static std::vector<double> since(const std::vector<double>& before,
                                                   std::vector<double> now) {
        std::ranges::transform(now, before, now.begin(), std::minus{});
        return now;
    }

    void end() {
        ending_.store(true, std::memory_order_relaxed);
        scheduler_.drain();
    }

    measurement report(const stopwatch& watch, const entitlement& by_stats,
                       const entitlement& by_own, std::vector<std::int64_t>& lags) const {
        std::uint64_t steps = 0;
        double cpu_ns = 0;
        double worked_ns = 0;
        for (const auto& each : all_) {
            steps += each.steps();
            cpu_ns += each.cpu_ns();
            worked_ns += each.worked_ns();
        }
        measurement found = watch.per_item(steps);
        found.total =
            found.value;  // ns for each step: the error is a small part of what was shared
        const std::vector<double> errors = by_stats.errors();
        const double mean =
            std::accumulate(errors.begin(), errors.end(), 0.0) / static_cast<double>(errors.size());
        found.value = std::ranges::max(errors);
        found.unit = "%";
        found.beside = {{"mean", mean, "%"},
                        {"own clocks", std::ranges::max(by_own.errors()), "%"},
                        {"interrupted", 100 * std::max(0.0, 1 - cpu_ns / worked_ns), "%"}};
        if (lags.empty()) {
            found.failure = "no reading was fast enough";
            return found;
        }
        const percentiles lag{std::move(lags)};
        found.beside.push_back({"lag p99", static_cast<double>(lag.at(0.99)) / slice_ns, "slices"});
        found.beside.push_back({"lag max", static_cast<double>(lag.at(1)) / slice_ns, "slices"});
        found.profile = {"weight", "its share, % of what it is entitled to", {}};
        for (std::size_t i = 0; i != all_.size(); ++i) {
            found.profile.points.emplace_back(i + 1, 100 * by_stats.relative(i));
        }
        return found;
    }

    std::atomic<bool> ending_{false};
    fairlead::scheduler scheduler_;
    std::deque<busy_tenant> all_;
};

inline measurement shares(const options& asked) {
    return busy_tenants{asked}.run_for(std::chrono::milliseconds{asked.span_ms});
}

}  // namespace bench::w15
