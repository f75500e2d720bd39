// W15, shares: what the case `noisy` does, of any runtime. The cases `shares` and `lag` are of
// groups only: shares.hpp and lag.hpp.
//
//     noisy    microseconds from the post of a request of a light tenant to its end, p99, beside a
//              noisy tenant
//
// The light tenant has one request of `work_ns` in each 5 ms, posted from outside, whether or not
// the one before has ended: an open loop. `count` of them come alone, and then `count` beside the
// noisy tenant: `chains` tasks that are always ready, with steps of `work_ns`. Both have the same
// weight, if the runtime knows of such. `above alone` is by how much the p99 is greater beside the
// neighbour; `noisy` is the share of the workers' time that the neighbour had.
//
// The clock begins with the post, so that a late thread that posts is not the runtime's fault. All
// that is due when it wakes is posted, so none is missing.
#pragma once

#include "support/clock.hpp"
#include "support/options.hpp"
#include "support/percentiles.hpp"
#include "support/result.hpp"
#include "w11/saturated.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <latch>
#include <optional>
#include <thread>
#include <vector>

namespace bench::w15 {

inline constexpr std::chrono::milliseconds request_period{5};

/// Posts the requests of the light tenant, and waits for the last. Of each the nanoseconds to its
/// end.
template <class Runtime>
percentiles send_requests(Runtime& runtime, std::uint64_t count, std::uint64_t work_ns) {
    std::vector<std::uint64_t> posted_ns(count);
    std::vector<std::int64_t> taken_ns(count);
    std::latch left{static_cast<std::ptrdiff_t>(count)};
    auto due = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i != count; ++i) {
        due += request_period;
        std::this_thread::sleep_until(due);
        posted_ns[i] = now_ns();
        runtime.post_request([&, i, work_ns] {
            burn_cpu(work_ns);
            taken_ns[i] = static_cast<std::int64_t>(now_ns() - posted_ns[i]);
            left.count_down();
        });
    }
    left.wait();
    return percentiles{taken_ns};
}

inline void report(measurement& found, const percentiles& alone, const percentiles& beside) {
    const auto us = [](std::int64_t ns) { return static_cast<double>(ns) * 1e-3; };
    found.value = us(beside.at(0.99));
    found.unit = "us";
    found.beside = {{"p50", us(beside.at(0.5)), "us"},
                    {"max", us(beside.at(1)), "us"},
                    {"alone p99", us(alone.at(0.99)), "us"},
                    {"alone p50", us(alone.at(0.5)), "us"},
                    {"alone max", us(alone.at(1)), "us"},
                    {"above alone", 100 * (found.value / us(alone.at(0.99)) - 1), "%"}};
}

template <class Runtime>
measurement noisy(const options& asked) {
    w11::load noise{asked.chains, asked.work_ns, false};  // outlives the runtime
    Runtime runtime{asked.workers};
    const stopwatch watch;
    const percentiles alone = send_requests(runtime, asked.count, asked.work_ns);
    const stopwatch noisy_watch;
    for (std::uint64_t i = 0; i != asked.chains; ++i) runtime.spawn_noise(noise);
    const percentiles beside = send_requests(runtime, asked.count, asked.work_ns);
    const auto worked_ns = static_cast<double>(noise.end());
    const auto workers_ns =
        static_cast<double>((now_ns() - noisy_watch.began_ns()) * asked.workers);
    measurement found = watch.per_item(2 * asked.count);
    report(found, alone, beside);
    found.beside.push_back({"noisy", 100 * worked_ns / workers_ns, "%"});
    return found;
}

/// A runtime without groups: this case is its only one.
template <class Runtime>
int main(int argc, char** argv) {
    return run_main(argc, argv, "W15", Runtime::name,
                    [](const options& asked) -> std::optional<measurement> {
                        if (asked.name != "noisy") return std::nullopt;
                        return noisy<Runtime>(asked);
                    });
}

}  // namespace bench::w15
