// W16, blocking: what calls that block cost other tasks, of any runtime.
//
//     calls      ns for a step of other tasks, beside `count` calls that block for `span_ms` each
//                and begin at once
//     in_place   the same, of callbacks, which block where they are
//     rescue     microseconds from the begin of a step that blocks for `span_ms`, and does not say
//                so, on the only worker, to the next step of another task, p99
//
// The other tasks are `chains` tasks that compute for `work_ns` by the clock on the wall, yield,
// and begin again. They run for as long alone as beside the calls; `slower` is by how much a step
// takes longer beside these, and `calls took` how long all of them did.
#pragma once

#include "support/clock.hpp"
#include "support/options.hpp"
#include "support/percentiles.hpp"
#include "support/result.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <latch>
#include <optional>
#include <thread>
#include <vector>

namespace bench::w16 {

/// Steps of the other tasks.
class others {
public:
    others(std::uint64_t tasks, std::uint64_t work_ns)
        : work_ns_{work_ns}, left_{static_cast<std::ptrdiff_t>(tasks)} {}

    /// Computes. Whether there is another step.
    [[nodiscard]] bool step() noexcept {
        const std::uint64_t begin_ns = now_ns();
        last_ns_.store(begin_ns, std::memory_order_relaxed);
        while (now_ns() < begin_ns + work_ns_) {
        }
        steps_.fetch_add(1, std::memory_order_relaxed);
        return !ending_.load(std::memory_order_relaxed);
    }
    void leave() noexcept { left_.count_down(); }

    void end() {
        ending_.store(true, std::memory_order_relaxed);
        left_.wait();
    }

    [[nodiscard]] std::uint64_t steps() const noexcept {
        return steps_.load(std::memory_order_relaxed);
    }
    /// When the last step began.
    [[nodiscard]] std::uint64_t last_ns() const noexcept {
        return last_ns_.load(std::memory_order_relaxed);
    }

private:
    const std::uint64_t work_ns_;
    std::atomic<std::uint64_t> steps_{0};
    std::atomic<std::uint64_t> last_ns_{0};
    std::atomic<bool> ending_{false};
    std::latch left_;
};

inline void block_for(std::uint64_t span_ms) {
    std::this_thread::sleep_for(std::chrono::milliseconds{span_ms});
}

template <class Runtime>
measurement calls(Runtime& runtime, others& beside, const options& asked, bool in_place) {
    // How long the calls take is known afterwards; the first ones make the threads.
    const stopwatch watch;
    std::uint64_t ns = 0;
    double with = 0;
    for (int turn = 0; turn != 2; ++turn) {
        std::latch left{static_cast<std::ptrdiff_t>(asked.count)};
        const std::uint64_t steps = beside.steps();
        const std::uint64_t begin_ns = now_ns();
        for (std::uint64_t i = 0; i != asked.count; ++i) {
            runtime.call(in_place, asked.span_ms, left);
        }
        left.wait();
        ns = now_ns() - begin_ns;
        with =
            static_cast<double>(ns * asked.workers) / static_cast<double>(beside.steps() - steps);
    }
    const std::uint64_t steps = beside.steps();
    std::this_thread::sleep_for(std::chrono::nanoseconds{ns});
    const double alone =
        static_cast<double>(ns * asked.workers) / static_cast<double>(beside.steps() - steps);
    measurement found = watch.per_item(2 * asked.count);
    found.value = with;
    found.beside = {{"alone", alone, "ns"},
                    {"slower", 100 * (with / alone - 1), "%"},
                    {"calls took", static_cast<double>(ns) * 1e-6, "ms"}};
    return found;
}

template <class Runtime>
measurement rescue(Runtime& runtime, others& beside, const options& asked) {
    const stopwatch watch;
    std::vector<std::int64_t> taken_ns(asked.count);
    for (std::int64_t& each : taken_ns) {
        std::this_thread::sleep_for(std::chrono::milliseconds{5});
        std::atomic<std::uint64_t> begun_ns{0};
        std::latch left{1};
        runtime.block_undeclared(asked.span_ms, begun_ns, left);
        while (begun_ns.load() == 0) std::this_thread::yield();
        while (beside.last_ns() <= begun_ns.load()) {
            std::this_thread::sleep_for(std::chrono::microseconds{50});
        }
        each = static_cast<std::int64_t>(beside.last_ns() - begun_ns.load());
        left.wait();
    }
    measurement found = watch.per_item(asked.count);
    const percentiles all{taken_ns};
    found.value = static_cast<double>(all.at(0.99)) * 1e-3;
    found.unit = "us";
    found.beside = {{"p50", static_cast<double>(all.at(0.5)) * 1e-3, "us"}};
    return found;
}

template <class Runtime>
std::optional<measurement> measure(const options& asked) {
    const bool is_rescue = asked.name == "rescue";
    if (!is_rescue && asked.name != "calls" && asked.name != "in_place") return std::nullopt;
    others beside{asked.chains, asked.work_ns};  // outlives the runtime
    Runtime runtime{asked.workers};
    for (std::uint64_t i = 0; i != asked.chains; ++i) runtime.spawn_other(beside);
    const measurement found = is_rescue ? rescue(runtime, beside, asked)
                                        : calls(runtime, beside, asked, asked.name == "in_place");
    beside.end();
    return found;
}

}  // namespace bench::w16
