// Where the failures of a request go that no task joins.
#pragma once

#include <fairlead/context/context.hpp>
#include <fairlead/detail/context/entered.hpp>
#include <fairlead/detail/coro/error_sink.hpp>
#include <fairlead/sched/options.hpp>

#include <utility>

namespace fairlead {

/// Runs `body` and gives its result. An exception of a task whose handle was dropped goes to
/// `sink` instead of `on_unhandled` of the scheduler, if the task has inherited the context of
/// `body`; detached tasks have. The nearest sink counts. `sink` is called by any thread, perhaps
/// several at a time, and may be called after `body` has ended; it must not throw. Allocates the
/// sink and one node.
template <class Result>
task<Result> with_error_sink(unhandled_reporter::function sink, task<Result> body) {
    coro::root& self = co_await coro::running_root();
    const coro::entered inside{self, *new coro::value_node<unhandled_reporter>{
                                         self.context(), &coro::error_sink_key, inherit::messages,
                                         unhandled_reporter{std::move(sink)}}};
    co_return co_await std::move(body);
}

}  // namespace fairlead
