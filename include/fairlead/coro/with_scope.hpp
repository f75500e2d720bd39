// A scope around a callable: joined whatever happens.
#pragma once

#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/scope.hpp>
#include <fairlead/coro/stopped.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/detail/coro/held_operation.hpp>
#include <fairlead/detail/coro/stop_once.hpp>

#include <exception>
#include <memory>
#include <type_traits>

namespace fairlead {

/// Runs `body(scope)`, a callable that returns a `task<>`, and joins the scope whatever happens: an
/// exception that leaves the body asks the children to stop, and is rethrown after they have ended.
template <class Body>
    requires std::is_invocable_r_v<task<>, Body&, scope&>
task<> with_scope(Body body) {
    coro::root& holder = co_await coro::running_root();
    scope children{holder.where()};
    const coro::held_operation held{holder, children};
    std::exception_ptr failure;
    std::unique_ptr<coro::failure_trail> trail;
    try {
        co_await body(children);
    } catch (...) {
        failure = std::current_exception();
        trail = holder.trail().take(failure);
        children.request_stop(coro::reason_of_exception(holder));
    }
    try {
        co_await children.join();
    } catch (...) {
        if (coro::gives_way(failure)) {
            failure = std::current_exception();
            trail = holder.trail().take(failure);
        }
    }
    if (trail != nullptr) holder.trail().keep(std::move(trail));
    if (failure != nullptr) std::rethrow_exception(failure);
}

}  // namespace fairlead
