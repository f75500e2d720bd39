// W9, timers. Cases:
//
//     callback     `count` timers with a callback each, due at random moments of one second
//     coroutine    the same, with `count` coroutines that sleep
//     single       one timer, `count` times, due at a random moment of 20 ms
//     cancel       `count` timers, an hour ahead, are set and then cancelled; until all were told
//
// `value` is how late the last of a hundred is (p99), in microseconds; of `cancel`, the nanoseconds
// for one timer. The second begins 3 us for each timer after the first was set, so that all are, if
// the runtime is not slower. A timer that is early voids the run.
#pragma once

#include "support/clock.hpp"
#include "support/lateness.hpp"
#include "support/options.hpp"
#include "support/result.hpp"
#include "support/tally.hpp"

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <random>
#include <semaphore>

namespace bench::w9 {

using std::chrono::microseconds;

/// Calls set(index) for each sleeper, and waits for all of them.
template <class Set>
measurement sleepers(std::uint64_t count, Set set) {
    lateness late{count};
    const auto lead = microseconds{3 * count};
    std::mt19937_64 random{1};
    const time_point begin = std::chrono::steady_clock::now() + lead;
    std::uniform_int_distribution<std::int64_t> within{0, 1'000'000'000};
    for (std::size_t i = 0; i != count; ++i) late.expect(i, begin + nanoseconds{within(random)});

    const std::uint64_t target = tally::total() + count;
    const stopwatch watch;
    for (std::size_t i = 0; i != count; ++i) set(i, late);
    const auto set_ns = static_cast<double>(now_ns() - watch.began_ns());
    tally::wait_for_total(target);
    measurement found = watch.per_item(count);
    late.report(found);
    found.beside.push_back({"to set", set_ns / static_cast<double>(count), "ns"});
    return found;
}

template <class Runtime>
measurement single(Runtime& runtime, std::uint64_t count) {
    lateness late{count};
    std::mt19937_64 random{1};
    std::uniform_int_distribution<std::int64_t> within{0, 20'000'000};
    std::binary_semaphore done{0};
    const stopwatch watch;
    for (std::size_t i = 0; i != count; ++i) {
        typename Runtime::timer timer{runtime};
        late.expect(i, std::chrono::steady_clock::now() + nanoseconds{within(random)});
        timer.set(late.deadline(i), [&late, &done, i] {
            late.record(i);
            done.release();
        });
        done.acquire();
        runtime.settle();
    }
    measurement found = watch.per_item(count);
    late.report(found);
    return found;
}

template <class Runtime>
measurement cancel(Runtime& runtime, std::deque<typename Runtime::timer>& timers) {
    const time_point deadline = std::chrono::steady_clock::now() + std::chrono::hours{1};
    const std::uint64_t target = tally::total() + timers.size();
    const stopwatch watch;
    for (auto& each : timers) each.set(deadline, [] { tally::add(); });
    for (auto& each : timers) each.cancel();
    tally::wait_for_total(target);
    const measurement found = watch.per_item(timers.size());
    runtime.settle();
    return found;
}

template <class Runtime>
std::optional<measurement> measure(const options& asked) {
    Runtime runtime{asked.workers};
    std::deque<typename Runtime::timer> timers;
    if (asked.name == "single") return single(runtime, asked.count);
    if constexpr (requires { runtime.spawn_sleeper(time_point{}, [] {}); }) {
        if (asked.name == "coroutine") {
            measurement found = sleepers(asked.count, [&](std::size_t index, lateness& late) {
                runtime.spawn_sleeper(late.deadline(index), [&late, index] {
                    late.record(index);
                    tally::add();
                });
            });
            runtime.settle();
            return found;
        }
    }
    if (asked.name == "callback") {
        measurement found = sleepers(asked.count, [&](std::size_t index, lateness& late) {
            timers.emplace_back(runtime).set(late.deadline(index), [&late, index] {
                late.record(index);
                tally::add();
            });
        });
        runtime.settle();
        return found;
    }
    if (asked.name == "cancel") {
        for (std::uint64_t i = 0; i != asked.count; ++i) timers.emplace_back(runtime);
        return cancel(runtime, timers);
    }
    return std::nullopt;
}

template <class Runtime>
int main(int argc, char** argv) {
    return run_main(argc, argv, "W9", Runtime::name, measure<Runtime>);
}

}  // namespace bench::w9
