// Starting a coroutine on a scheduler, from anywhere.
#pragma once

#include <fairlead/coro/join_handle.hpp>
#include <fairlead/coro/spawn_options.hpp>
#include <fairlead/detail/coro/blocked_on.hpp>
#include <fairlead/detail/coro/spawned.hpp>
#include <fairlead/sched/permit.hpp>

#include <source_location>
#include <utility>

namespace fairlead {

namespace coro {

template <class T>
spawned<T>& make_spawned(executor where, task<T>&& body, spawn_options&& options,
                         std::source_location spawned_at) {
    const task_label label{options.name, spawned_at};
    context_word context = context_of_new_task();
    if (options.detached) context = context.detached();
    if (!options.stop.stop_possible()) {
        return *new spawned<T>{where, std::move(body), label, context};
    }
    return *new spawned_with_token<T>{where, std::move(body), std::move(options.stop), label,
                                      context};
}

}  // namespace coro

/// Starts `body` on a scheduler, or in a group of one. Any thread. Allocates one object; throws
/// `std::bad_alloc`, and then `body` has not begun.
///
/// Inside a task, `co_await current_executor()` is the group that the task is in. `spawned_at`: the
/// report of an exception names the call.
template <class T>
join_handle<T> spawn(executor where, task<T> body, spawn_options options = {},
                     std::source_location spawned_at = std::source_location::current()) {
    coro::spawned<T>& started =
        coro::make_spawned(where, std::move(body), std::move(options), spawned_at);
    join_handle<T> handle{started, where.owner()};
    where.post(started);
    return handle;
}

/// The same in the group that `into` is a permit of, which must be one. If the group drops the task
/// before its first step, the frames are destroyed, and awaiting the handle throws `stopped_error`.
template <class T>
join_handle<T> spawn(permit into, task<T> body, spawn_options options = {},
                     std::source_location spawned_at = std::source_location::current()) {
    FAIRLEAD_ASSERT(static_cast<bool>(into), "spawn with a permit that is none");
    const executor where = into.where();
    coro::spawned<T>& started =
        coro::make_spawned(where, std::move(body), std::move(options), spawned_at);
    join_handle<T> handle{started, where.owner()};
    std::move(into).post(started);
    return handle;
}

/// Runs `body` on a scheduler, or in a group of one, and waits on this thread for its result, which
/// it returns or throws. Not from a worker. With `run_on_caller` this thread runs the tasks.
/// Allocates nothing but what `body` does.
///
/// Throws `stopped_error`, and `body` does not begin, if a stop has ended the workers of the
/// scheduler. A body that runs when that happens, and does not end, keeps the thread waiting until
/// the scheduler is started again or destroyed.
template <class T>
T block_on(executor where, task<T> body, spawn_options options = {.name = "block_on"}) {
    FAIRLEAD_ASSERT(scheduler::current() == nullptr,
                    "block_on on a worker would block it: co_await");
    if (where.owner().has_halted()) throw stopped_error{stopped_by::shutdown};
    coro::blocked_on<T> waiting{where, std::move(body), std::move(options)};
    where.post(waiting);
    waiting.wait();
    return waiting.take();
}

}  // namespace fairlead
