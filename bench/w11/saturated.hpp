// W11, lateness under saturation: `chains` tasks compute all the time, each for `work_ns` before it
// yields, so that no worker is ever idle. Among them one task sleeps, `count` times, for
// a random time below `span_ms`. Cases:
//
//     saturated    microseconds from the deadline to the sleeper's next step, p99
//     slices       the same, but after `work_ns` they only ask whether they should yield, where a
//                  runtime has that; Go interrupts them
//
// Steps are measured by the wall clock: what counts is for how long no other task has the worker.
// `busy` is the share of the workers' time that was spent in steps: a runtime that looks for timers
// instead of working is seen. A sleeper that is early voids the run.
#pragma once

#include "support/clock.hpp"
#include "support/lateness.hpp"
#include "support/options.hpp"
#include "support/result.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <latch>
#include <optional>
#include <random>

namespace bench::w11 {

/// What keeps the workers busy. Each of its tasks calls step() again and again, and yields
/// in between; at the end it calls leave(), once.
class load {
public:
    load(std::uint64_t tasks, std::uint64_t step_ns, bool asks)
        : asks_{asks}, step_ns_{step_ns}, left_{static_cast<std::ptrdiff_t>(tasks)} {}

    /// Whether a task yields only if it should.
    [[nodiscard]] bool asks() const noexcept { return asks_; }

    /// Computes. Whether there is another step.
    [[nodiscard]] bool step() noexcept {
        const std::uint64_t end_ns = now_ns() + step_ns_;
        while (now_ns() < end_ns) {
        }
        steps_.fetch_add(1, std::memory_order_relaxed);
        return !ending_.load(std::memory_order_relaxed);
    }
    void leave() noexcept { left_.count_down(); }

    /// Waits until all tasks have left. The nanoseconds that were spent in steps.
    [[nodiscard]] std::uint64_t end() {
        ending_.store(true, std::memory_order_relaxed);
        left_.wait();
        return steps_.load(std::memory_order_relaxed) * step_ns_;
    }

private:
    const bool asks_;
    const std::uint64_t step_ns_;
    std::atomic<std::uint64_t> steps_{0};
    std::atomic<bool> ending_{false};
    std::latch left_;
};

/// What the sleeper does. For each deadline: next_deadline(), sleep, wake_up(); until that says no.
class sleeper {
public:
    sleeper(std::uint64_t count, std::uint64_t span_ms)
        : late_{count}, within_{0, static_cast<std::int64_t>(span_ms * 1'000'000)}, count_{count} {}

    [[nodiscard]] time_point next_deadline() {
        late_.expect(index_, std::chrono::steady_clock::now() + nanoseconds{within_(random_)});
        return late_.deadline(index_);
    }

    /// Whether it sleeps again.
    [[nodiscard]] bool wake_up() {
        late_.record(index_);
        if (++index_ != count_) return true;
        ended_.count_down();
        return false;
    }

    void wait() { ended_.wait(); }
    void report(measurement& found) { late_.report(found); }

private:
    lateness late_;
    std::mt19937_64 random_{1};
    std::uniform_int_distribution<std::int64_t> within_;
    std::uint64_t count_;
    std::uint64_t index_ = 0;
    std::latch ended_{1};
};

template <class Runtime>
std::optional<measurement> measure(const options& asked) {
    const bool asks = asked.name == "slices";
    if (asked.name != "saturated" && !(asks && Runtime::has_slices)) return std::nullopt;
    load busy{asked.chains, asked.work_ns, asks};  // both outlive the runtime
    sleeper late{asked.count, asked.span_ms};
    Runtime runtime{asked.workers};
    const stopwatch watch;
    for (std::uint64_t i = 0; i != asked.chains; ++i) runtime.spawn_busy(busy);
    runtime.spawn_sleeper(late);
    late.wait();
    const auto worked_ns = static_cast<double>(busy.end());
    const auto workers_ns = static_cast<double>((now_ns() - watch.began_ns()) * asked.workers);
    measurement found = watch.per_item(asked.count);
    late.report(found);
    found.beside.push_back({"busy", 100 * worked_ns / workers_ns, "%"});
    return found;
}

template <class Runtime>
int main(int argc, char** argv) {
    return run_main(argc, argv, "W11", Runtime::name, measure<Runtime>);
}

}  // namespace bench::w11
