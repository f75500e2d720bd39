// A deadline for all that a coroutine awaits.
//
//     const auto page = co_await fl::with_deadline(2s, render(request));
//     if (!page) co_return too_late();                      // this deadline: `expired`
//
// Each wait inside ends at the deadline at the latest: a wait that gives a value gives
// `wait_error::overdue`, any other wait throws `overdue_error`. From then on every wait inside ends
// at once, until the body is left. No timer, no task and no stop is involved; a task that does not
// wait is not ended. Tasks that the body starts inherit the deadline.
//
// Which deadline it was: a `with_deadline` gives `expired` only for its own. If one around it is
// earlier, what the body gives or throws passes, up to the `with_deadline` that has set it.
#pragma once

#include <fairlead/base/time.hpp>
#include <fairlead/context/context.hpp>
#include <fairlead/coro/overdue.hpp>
#include <fairlead/coro/waited.hpp>
#include <fairlead/detail/context/entered.hpp>

#include <expected>
#include <type_traits>
#include <utility>

namespace fairlead {
namespace coro {

// A body that gives `waited<T>` itself needs no second `waited` around it.
template <class T>
struct waited_once {
    using type = waited<T>;
    static constexpr bool flat = false;
};
template <class T>
struct waited_once<waited<T>> {
    using type = waited<T>;
    static constexpr bool flat = true;
};

template <class T>
task<typename waited_once<T>::type> until_deadline(root& self, time_point deadline, task<T> body) {
    const auto* const own = new deadline_node{self.context(), deadline};
    const entered inside{self, *own};
    try {
        if constexpr (std::is_void_v<T>) {
            co_await std::move(body);
            co_return waited<void>{};
        } else if constexpr (waited_once<T>::flat) {
            T result = co_await std::move(body);
            // Before its deadline it is another task's, whose result the body gives.
            if (!result && result.error() == wait_error::overdue && own->is_limit() &&
                self.is_overdue()) {
                co_return std::unexpected{wait_error::expired};
            }
            co_return result;
        } else {
            co_return co_await std::move(body);
        }
    } catch (const overdue_error& failure) {
        if (failure.limit() != own) throw;
    }
    co_return std::unexpected{wait_error::expired};
}

}  // namespace coro

/// Runs `body`, whose waits end at `deadline` at the latest, and gives `waited` of its result:
/// `expired` if an `overdue_error` of this deadline has left it. A body that gives `waited<T>`
/// gives that, with `overdue` of this deadline as `expired`. A result is given even after the
/// deadline. Other exceptions pass. By the clock of the task's scheduler. Allocates one node.
template <class T>
task<typename coro::waited_once<T>::type> with_deadline(time_point deadline, task<T> body) {
    coro::root& self = co_await coro::running_root();
    co_return co_await coro::until_deadline(self, deadline, std::move(body));
}

/// The same for so long from now on.
template <class T>
task<typename coro::waited_once<T>::type> with_deadline(time_span limit, task<T> body) {
    coro::root& self = co_await coro::running_root();
    const time_point deadline = after(self.home().now(), limit);
    co_return co_await coro::until_deadline(self, deadline, std::move(body));
}

}  // namespace fairlead
