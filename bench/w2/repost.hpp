// W2, repost: `chains` chains of `count` hops, where each task posts its successor; the slowest
// chain counts. Cases:
//
//     callback    a task of the user's that posts itself again
//     one_shot    a lambda that posts the next one
//     timed       as callback, and each hop burns `work_ns` of CPU time; what counts is the
//                 overhead: the time beyond what the processors need for the work alone
//
// A tenth of the hops run once before the measurement.
#pragma once

#include "support/clock.hpp"
#include "support/ideal.hpp"
#include "support/options.hpp"
#include "support/result.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <latch>
#include <optional>
#include <vector>

namespace bench::w2 {

template <class Runtime>
struct alignas(128) chain : Runtime::item {
    chain()
        : Runtime::item{[](typename Runtime::item& self) { static_cast<chain&>(self).hop(); }} {}

    void start(Runtime& where, std::uint64_t hops, std::uint64_t work, std::latch& at_end) {
        runtime = &where;
        left = hops;
        work_ns = work;
        done = &at_end;
    }

    // Whether there is a next hop.
    bool step() {
        if (work_ns != 0) burn_cpu(work_ns);
        if (--left != 0) return true;
        end_ns = now_ns();
        done->count_down();
        return false;
    }

    void hop() {
        if (step()) runtime->post(*this);
    }

    void post_one_shot() {
        runtime->post_one_shot([this] {
            if (step()) post_one_shot();
        });
    }

    Runtime* runtime = nullptr;
    std::uint64_t left = 0;
    std::uint64_t work_ns = 0;
    std::uint64_t end_ns = 0;
    std::latch* done = nullptr;
};

/// One run: how long the slowest chain took, in `value`, as nanoseconds.
template <class Runtime>
measurement run_chains(Runtime& runtime, std::vector<chain<Runtime>>& chains, const options& asked,
                       std::uint64_t hops) {
    std::latch done{static_cast<std::ptrdiff_t>(chains.size())};
    for (chain<Runtime>& each : chains) each.start(runtime, hops, asked.work_ns, done);
    const stopwatch watch;
    for (chain<Runtime>& each : chains) {
        if (asked.name == "one_shot") {
            each.post_one_shot();
        } else {
            runtime.post(each);
        }
    }
    done.wait();
    measurement found = watch.per_item(hops * chains.size());
    std::uint64_t end_ns = 0;
    for (const chain<Runtime>& each : chains) end_ns = std::max(end_ns, each.end_ns);
    found.value = static_cast<double>(end_ns - watch.began_ns());
    return found;
}

/// The time in which the processors can do the work of all chains: shared evenly, also when the
/// chains are no multiple of the processors.
inline double ideal_ns(const options& asked) {
    return bench::ideal_ns(asked.count * asked.work_ns * asked.chains,
                           std::min(asked.chains, asked.workers));
}

template <class Runtime>
std::optional<measurement> measure(const options& asked) {
    if (asked.name != "callback" && asked.name != "one_shot" && asked.name != "timed") return {};
    std::vector<chain<Runtime>> chains(asked.chains);  // outlives the runtime
    Runtime runtime{asked.workers};
    run_chains(runtime, chains, asked, asked.count / 10 + 1);
    measurement found = run_chains(runtime, chains, asked, asked.count);
    const auto hops = static_cast<double>(asked.count);
    if (asked.name == "timed") {
        found.total = found.value / hops;
        found.value -= ideal_ns(asked);
    }
    found.value /= hops;
    return found;
}

template <class Runtime>
int main(int argc, char** argv) {
    return run_main(argc, argv, "W2", Runtime::name, measure<Runtime>);
}

}  // namespace bench::w2
