// W22, waiting: what it costs to wait for a mutex, for the first of several channels, for a chain
// of continuations, and for a task; on `workers` threads, `count` in all. Cases:
//
//     mutex           `chains` tasks lock a mutex in turn, add to a number, and unlock; ns a lock
//     mutex_yield     the same, and the task yields while it has the mutex: so every other task
//                     waits for it, and each unlock hands it over
//     select          a task waits for the first of `chains` channels of one place, and answers by
//                     another one; its partner sends to the channels in turn; ns for both ways
//     select_ready    a task sends to one of `chains` channels, in turn, and takes the element by a
//                     select of all; ns for both
//     future          a promise, `chains` continuations one behind the other, the result, and a
//                     wait for the last; ns a continuation
//     spawn           a task starts another one and waits for its result; ns for both
//
// A select tries its branches in a fair order: none starves another. A tenth comes before the
// measurement. A run is void if the sum of what arrived is not that of what was sent; or of a
// future: if not every continuation has run.
#pragma once

#include "support/numbers.hpp"

#include <cstdint>
#include <optional>

namespace bench::w22 {

/// `run(chains)` runs so many chains of `chains` continuations, and gives how many have run.
template <class Run>
measurement measure_chains(const options& asked, Run run) {
    const auto is_right = [&](std::uint64_t chains) {
        return run(chains) == chains * asked.chains;
    };
    const bool warm = is_right(asked.count / asked.chains / 10);
    const std::uint64_t chains = asked.count / asked.chains;
    const stopwatch watch;
    const bool measured = is_right(chains);
    measurement result = watch.per_item(chains * asked.chains);
    if (!warm || !measured) result.failure = "a continuation did not run, or ran twice";
    return result;
}

}  // namespace bench::w22
