// Calls that block, from callbacks.
//
//     scheduler.post([&] { write_to_disk(fl::block_in_place([&] { return read_whole_file(path); })); });
#pragma once

#include <fairlead/sched/scheduler.hpp>

#include <concepts>
#include <functional>
#include <utility>

namespace fairlead {

/// Calls `function` on the calling thread, after its slot went to a spare thread, which goes on with other tasks. What follows
/// in the step runs beside these: it should be short. Threads are made when they are needed. From a step that has forked, for which no
/// thread can be had, or with `run_on_caller`, it keeps its worker meanwhile; outside a step it just calls. For coroutines
/// `co_await blocking(f)` is better: it bounds the number of threads, and nothing runs beside the workers.
template <std::invocable Function>
decltype(auto) block_in_place(Function&& function) {
    static_cast<void>(scheduler::about_to_block());
    return std::invoke(std::forward<Function>(function));
}

}  // namespace fairlead
