// A future whose result is for several tasks, threads and continuations.
//
//     fl::shared_future<page> it = fl::share(fl::run(pool, load, url));
//     co_await it;                             // any number of tasks, each with a copy
//     it.copy().map(render);                   // continuations, of a future of its own
//
// Each consumer gets a copy of the result: let the value be a `std::shared_ptr<const T>` if that is
// dear. A wait allocates nothing.
#pragma once

#include <fairlead/base/time.hpp>
#include <fairlead/detail/coro/task_wait.hpp>
#include <fairlead/detail/future/shared_state.hpp>
#include <fairlead/detail/future/shared_wait.hpp>
#include <fairlead/future/future.hpp>

#include <exception>
#include <expected>
#include <utility>

namespace fairlead {

/// Copies refer to one result. Any thread may use a copy of its own. When the last copy goes before
/// the result is there, the promise learns that it is not wanted.
template <class T, class E = std::exception_ptr>
class [[nodiscard]] shared_future {
public:
    /// The type of the value.
    using value_type = T;
    /// The type of the failure.
    using failure_type = E;
    /// The whole result.
    using result_type = std::expected<T, E>;

    /// No result to come: it can be assigned to or destroyed.
    shared_future() = default;
    /// Takes over `from`, which must be valid. Allocates one object; throws `std::bad_alloc`, and
    /// then `from` is dropped.
    explicit shared_future(future<T, E> from) : share_{share_of(std::move(from))} {}

    /// Whether it has a result to come, or that is there.
    [[nodiscard]] bool valid() const noexcept { return share_.valid(); }
    /// Whether the result is there.
    [[nodiscard]] bool is_ready() const noexcept { return share_.of().is_ready(); }
    /// The result, which must be there. Valid as long as there is a copy of this future.
    [[nodiscard]] const result_type& result() const noexcept {
        FAIRLEAD_ASSERT(is_ready(), "a result was read before it was there");
        return share_.of().result();
    }

    /// Waits for a copy of the result. With exceptions: gives the value or throws. With another
    /// `E`: `std::expected<T, E>`. A stop of the task ends the wait alone, with `stopped_error`, or
    /// the failure that stands for `stopped`.
    [[nodiscard]] auto operator co_await() const noexcept {
        return coro::task_wait<futures::copy_operation<T, E>>{never, share_};
    }
    /// Waits until the result is there: `waited<void>`, which may be `stopped` or `expired`.
    [[nodiscard]] auto wait(time_point deadline = never) const noexcept {
        return coro::task_wait<futures::shared_settled_operation<T, E>>{deadline, share_};
    }
    /// The same on this thread, as `future::wait_blocking`.
    [[nodiscard]] waited<void> wait_blocking(time_point deadline = never) const {
        if (!futures::may_block([&] { return is_ready(); })) return {};
        return coro::thread_of_wait<futures::shared_settled_operation<T, E>>{share_}.run(deadline);
    }
    /// `wait_blocking`, and then a copy of the result, as `co_await` gives it.
    futures::awaited<T, E> get() const {
        static_cast<void>(wait_blocking());
        return futures::as_awaited<T, E>(result_type{result()});
    }

    /// A future of its own for one consumer, such as a continuation. Allocates one object; throws
    /// `std::bad_alloc`.
    [[nodiscard]] future<T, E> copy() const {
        static_cast<void>(share_.of());
        auto* const one = new futures::copied<T, E>{share_};
        future<T, E> result{futures::consumer<T, E>{*one}};
        one->start();
        return result;
    }

private:
    [[nodiscard]] static futures::share<T, E> share_of(future<T, E> from) {
        auto side = from.release();
        static_cast<void>(side.of());
        auto* const state = new futures::shared_state<T, E>{std::move(side)};
        futures::share<T, E> first{*state};
        state->start();
        return first;
    }

    futures::share<T, E> share_;
};

/// A shared future of the result of `from`. Allocates one object; throws `std::bad_alloc`, and then
/// `from` is dropped.
template <class T, class E>
[[nodiscard]] shared_future<T, E> share(future<T, E> from) {
    return shared_future<T, E>{std::move(from)};
}

}  // namespace fairlead
