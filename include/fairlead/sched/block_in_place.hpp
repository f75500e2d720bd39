// Calls that block, from callbacks.
//
//     scheduler.post([&] { print(fl::block_in_place([&] { return read_whole_file(path); })); });
#pragma once

#include <fairlead/sched/scheduler.hpp>

#include <concepts>
#include <functional>
#include <utility>

namespace fairlead {

/// Calls `function` on the calling thread, after the slot of the step went to a spare thread, which
/// goes on with other tasks. Returns what `function` returns, and throws what it throws. The rest
/// of the step runs beside the workers, so it should be short.
///
/// Makes a thread when no spare one sleeps, without a limit. The step keeps its worker meanwhile if
/// it has forked, in `parallel_invoke`, if no thread can be made, or with `run_on_caller`. Outside
/// a step this is a plain call. For coroutines `co_await blocking(f)` is better: it bounds the
/// number of threads, and nothing runs beside the workers.
template <std::invocable Function>
decltype(auto) block_in_place(Function&& function) {
    static_cast<void>(sched::access::about_to_block());
    return std::invoke(std::forward<Function>(function));
}

}  // namespace fairlead
