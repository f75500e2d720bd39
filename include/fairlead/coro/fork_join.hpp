// Running coroutines in parallel inside a task.
#pragma once

#include <fairlead/coro/stopped.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/detail/coro/fork.hpp>
#include <fairlead/detail/sync/recycler.hpp>

#include <algorithm>
#include <array>
#include <coroutine>
#include <cstddef>
#include <tuple>
#include <utility>
#include <vector>

namespace fairlead {
namespace coro {

// What a body has left that has ended.
template <class T>
result<T>& outcome_of(const unstarted& ended) noexcept {
    return static_cast<promise<T>&>(*ended.link);
}

template <class T>
value_of<T> take_value(const unstarted& ended) {
    if constexpr (std::is_void_v<T>) {
        outcome_of<T>(ended).take();
        return std::monostate{};
    } else {
        return outcome_of<T>(ended).take();
    }
}

// Rethrows the failure of `ended`, a child of `parent`, if it was the first in time.
template <class T>
void rethrow_if_first(const unstarted& ended, fork& parent) {
    if (ended.link != parent.first_failure()) return;
    parent.tell_origin(ended, outcome_of<T>(ended).failure());
    static_cast<void>(outcome_of<T>(ended).take());
}

template <class First, class... Others>
    requires(sizeof...(Others) != 0)
class [[nodiscard]] fork_of_some final : private fork {
public:
    explicit fork_of_some(task<First>&& first, task<Others>&&... others) noexcept
        : fork{children_}, first_{first.release()} {
        fork_child* child = children_;
        (child++->set(*this, others.release()), ...);
    }
    ~fork_of_some() { first_.destroy(); }

    [[nodiscard]] bool await_ready() const noexcept { return false; }

    template <on_a_root Promise>
    [[nodiscard]] std::coroutine_handle<> await_suspend(
        std::coroutine_handle<Promise> parent) noexcept {
        return start(parent, parent.promise(), first_);
    }

    std::tuple<value_of<First>, value_of<Others>...> await_resume() {
        return values(std::index_sequence_for<Others...>{});
    }

private:
    template <std::size_t... Index>
    std::tuple<value_of<First>, value_of<Others>...> values(std::index_sequence<Index...>) {
        if (has_failed()) {
            rethrow_if_first<First>(first_, *this);
            (rethrow_if_first<Others>(children_[Index].body(), *this), ...);
            throw stopped_error{stop_reason()};  // or given back by the scheduler that ran it
        }
        return {take_value<First>(first_), take_value<Others>(children_[Index].body())...};
    }

    unstarted first_;
    fork_child children_[sizeof...(Others)];
};

template <class T>
class [[nodiscard]] fork_of_many final : private fork {
public:
    explicit fork_of_many(std::vector<task<T>>&& bodies)
        : fork_of_many{bodies, child_list(bodies.empty() ? 0 : bodies.size() - 1)} {}
    ~fork_of_many() { first_.destroy(); }

    [[nodiscard]] bool await_ready() const noexcept { return !first_.frame; }

    template <on_a_root Promise>
    [[nodiscard]] std::coroutine_handle<> await_suspend(
        std::coroutine_handle<Promise> parent) noexcept {
        return start(parent, parent.promise(), first_);
    }

    std::vector<value_of<T>> await_resume() {
        std::vector<value_of<T>> values;
        if (!first_.frame) return values;
        if (has_failed()) {
            rethrow_if_first<T>(first_, *this);
            for (fork_child& each : children()) rethrow_if_first<T>(each.body(), *this);
            throw stopped_error{stop_reason()};
        }
        values.reserve(children().size() + 1);
        values.push_back(take_value<T>(first_));
        for (fork_child& each : children()) values.push_back(take_value<T>(each.body()));
        return values;
    }

private:
    using child_list = std::vector<fork_child, sync::recycling_allocator<fork_child>>;

    fork_of_many(std::vector<task<T>>& bodies, child_list others) noexcept
        : fork{others}, children_{std::move(others)} {
        if (bodies.empty()) return;
        first_ = bodies.front().release();
        for (std::size_t i = 0; i != children_.size(); ++i) {
            children_[i].set(*this, bodies[i + 1].release());
        }
    }

    unstarted first_{nullptr, nullptr};
    child_list children_;
};

}  // namespace coro

/// Runs the coroutines in parallel and gives their results in order, `std::monostate` for `void`:
/// to divide the work of one task. `co_await` runs the first at once on this worker, and offers the
/// rest to workers that have nothing else to do; those that no worker takes run here one after the
/// other. So it costs little more than calling them, allocates nothing itself, and is as fast with
/// one worker as a loop. Coroutines that wait more than they compute, or are to be fair to each
/// other, are for `when_all`, which posts each as a task.
///
/// When one throws, those that are still offered do not start, those that run elsewhere are
/// asked to stop, and the first exception in time is rethrown once all have ended; `stopped_error`
/// only if there is no other. A stop of the waiting task is passed on. Children of a shielded task
/// are shielded.
template <class First, class... Others>
[[nodiscard]] coro::fork_of_some<First, Others...> fork_join(task<First>&& first,
                                                             task<Others>&&... others) noexcept {
    return coro::fork_of_some<First, Others...>{std::move(first), std::move(others)...};
}

/// The same for any number of coroutines of one type: `std::vector` of the results. Throws
/// `std::bad_alloc`.
template <class T>
[[nodiscard]] coro::fork_of_many<T> fork_join(std::vector<task<T>>&& bodies) {
    return coro::fork_of_many<T>{std::move(bodies)};
}

}  // namespace fairlead
