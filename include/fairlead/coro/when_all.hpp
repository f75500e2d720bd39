// Waiting for several coroutines that run at the same time.
#pragma once

#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/coro/stopped.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/coro/waited.hpp>
#include <fairlead/detail/sync/atomic.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <expected>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace fairlead {
namespace coro {

// The coroutines that run, and the task that waits for them. A child without a result, and the
// deadline of the wait, ask all to stop. It lives in the waiting frame, as do the children.
class all_children final : public awaited_operation {
public:
    enum class ending : std::uint8_t { with_result, stopped, failed };

    // Posts `children` and suspends `waiting` until all have ended. `children` stays in place.
    void start(root& waiting, std::span<basic_task* const> children) noexcept {
        waiting_ = &waiting;
        children_ = children;
        running_.store(children.size(), sync::relaxed);  // the post publishes it
        waiting.await_operation(*this);
        waiting.where().post(children);
    }

    // The last touch of the group and of the child, which is one of `children`.
    void child_ended(const basic_task& child, ending how) noexcept {
        if (how == ending::failed) {
            // Relaxed: read when all have ended, which publishes it.
            const basic_task* none = nullptr;
            first_failed_.compare_exchange_strong(none, &child, sync::relaxed, sync::relaxed);
        }
        // This child counts as running still, so all of them exist.
        if (how != ending::with_result) stop_children();
        root* const waiting = waiting_;
        // [WA1] release: publishes this child's result; acquire: the last child has seen all
        // results.
        if (running_.fetch_sub(1, sync::acq_rel) == 1) waiting->complete();
    }

    /// The child that was first in time to fail; null: none. All have ended.
    [[nodiscard]] const basic_task* first_failed() const noexcept {
        return first_failed_.load(sync::relaxed);
    }

    /// The task that waits for them. After `start`.
    [[nodiscard]] root& waiting() const noexcept { return *waiting_; }

    [[nodiscard]] bool is_stopping() const noexcept { return stopping_.load(sync::relaxed); }

    /// Whether the deadline of the wait has passed before all had ended.
    [[nodiscard]] bool is_late() const noexcept { return is_late_; }

private:
    [[nodiscard]] bool interrupt(interruption why) noexcept override {
        if (why == interruption::overdue) return false;  // as the children are
        if (why == interruption::deadline) is_late_ = true;
        stop_children();
        return false;
    }

    void stop_children() noexcept {
        stopping_.store(true, sync::relaxed);
        for (basic_task* const child : children_) child->request_stop();
    }

    root* waiting_ = nullptr;
    std::span<basic_task* const> children_;
    sync::atomic<std::size_t> running_{0};
    sync::atomic<const basic_task*> first_failed_{nullptr};
    // Relaxed: the request that follows it publishes it to the child.
    sync::atomic<bool> stopping_{false};
    bool is_late_ = false;
};

template <class T>
class child final : public root {
public:
    struct parts {
        const root& waiting;
        all_children& group;
        task<T>& body;
    };

    explicit child(parts from) noexcept
        : root{from.waiting.where(),
               {"when_all"},
               from.waiting.depth() + 1,
               from.waiting.context().beyond(inherit::children)},
          group_{from.group},
          body_{std::move(from.body)} {
        inherit_shield(from.waiting.shields_children());
        body_.start_on(*this);
    }

    // The result; `void` gives std::monostate.
    auto take() {
        if (is_abandoned()) throw stopped_error{};
        if constexpr (std::is_void_v<T>) {
            body_.outcome().take();
            return std::monostate{};
        } else {
            return body_.outcome().take();
        }
    }

    // Rethrows the failure of this child in the waiting task, if it was the first in time.
    void rethrow_if_first() {
        if (this != group_.first_failed()) return;
        group_.waiting().trail().keep(trail_at_end(body_.outcome().failure()));
        static_cast<void>(body_.outcome().take());
    }

private:
    using ending = all_children::ending;

    void on_end() noexcept override {
        ending how = ending::with_result;
        if (body_.outcome().has_failed()) {
            how = is_stop(body_.outcome().failure()) ? ending::stopped : ending::failed;
        }
        group_.child_ended(*this, how);
    }
    void on_abandon() noexcept override { group_.child_ended(*this, ending::stopped); }
    [[nodiscard]] bool stopped_by_owner() const noexcept override { return group_.is_stopping(); }
    [[nodiscard]] bool refuse(const std::exception_ptr& failure) noexcept override {
        body_.outcome().fail(failure);
        return true;
    }

    all_children& group_;
    task<T> body_;
};

class all_ended {
public:
    all_ended(all_children& group, std::span<basic_task* const> children,
              time_point deadline) noexcept
        : group_{group}, children_{children}, deadline_{deadline} {}

    [[nodiscard]] bool await_ready() const noexcept { return children_.empty(); }
    template <on_a_root Promise>
    void await_suspend(std::coroutine_handle<Promise> leaf) noexcept {
        root& bottom = *leaf.promise().bottom;
        bottom.wait_at(leaf, leaf.promise(), root::until::completion, deadline_);
        group_.start(bottom, children_);
    }
    void await_resume() const noexcept {}

private:
    all_children& group_;
    std::span<basic_task* const> children_;
    time_point deadline_;
};

// The results of children that have all ended; throws if one has none.
template <class... T>
std::tuple<value_of<T>...> results_of(const all_children& group,
                                      std::tuple<child<T>...>& children) {
    if (group.first_failed() != nullptr) {
        std::apply([](auto&... each) { (each.rethrow_if_first(), ...); }, children);
    }
    return std::apply([](auto&... each) { return std::tuple<value_of<T>...>{each.take()...}; },
                      children);
}

template <class T>
std::vector<value_of<T>> results_of(const all_children& group, std::deque<child<T>>& children) {
    if (group.first_failed() != nullptr) {
        for (child<T>& each : children) each.rethrow_if_first();
    }
    std::vector<value_of<T>> results;
    results.reserve(children.size());
    for (child<T>& each : children) results.push_back(each.take());
    return results;
}

// The same, with a missing result as a value.
template <class Children>
auto outcome_of(const all_children& group, Children& children)
    -> waited<decltype(results_of(group, children))> {
    try {
        return results_of(group, children);
    } catch (const stopped_error&) {
        return std::unexpected{group.is_late() ? wait_error::expired : wait_error::stopped};
    }
}

template <class... T>
task<waited<std::tuple<value_of<T>...>>> all_until(time_point deadline, task<T>... bodies) {
    [[maybe_unused]] const root& waiting = co_await running_root();
    all_children group;
    std::tuple<child<T>...> children{typename child<T>::parts{waiting, group, bodies}...};
    const auto tasks = std::apply(
        [](auto&... each) { return std::array<basic_task*, sizeof...(T)>{&each...}; }, children);
    co_await all_ended{group, tasks, deadline};
    co_return outcome_of(group, children);
}

template <class T>
task<waited<std::vector<value_of<T>>>> all_until(time_point deadline, std::vector<task<T>> bodies) {
    const root& waiting = co_await running_root();
    all_children group;
    std::deque<child<T>> children;
    std::vector<basic_task*> tasks;
    tasks.reserve(bodies.size());
    for (task<T>& body : bodies) {
        tasks.push_back(&children.emplace_back(typename child<T>::parts{waiting, group, body}));
    }
    co_await all_ended{group, tasks, deadline};
    co_return outcome_of(group, children);
}

}  // namespace coro

/// Runs the coroutines at the same time, each as a task, and waits until all have ended; gives
/// their results in order, `std::monostate` for `void`. When one throws, the rest are asked to
/// stop, and the first exception in time is rethrown once all have ended, `stopped_error` only if
/// there is no other. A stop of the waiting task is passed on. Children of a shielded task are
/// shielded.
template <class... T>
task<std::tuple<coro::value_of<T>...>> when_all(task<T>... bodies) {
    auto results = co_await coro::all_until(never, std::move(bodies)...);
    if (!results) coro::throw_stopped();
    co_return *std::move(results);
}

/// The same for any number of coroutines of one type. Gives `std::vector` of the results.
template <class T>
task<std::vector<coro::value_of<T>>> when_all(std::vector<task<T>> bodies) {
    auto results = co_await coro::all_until(never, std::move(bodies));
    if (!results) coro::throw_stopped();
    co_return *std::move(results);
}

/// The same with a deadline, at which those that have not ended are asked to stop. Waits for them,
/// too. Gives `waited` of the results. A missing result gives `expired` if the deadline has passed,
/// else `stopped`. If every child has a result, the results are given, even after the deadline.
template <class... T>
    requires(sizeof...(T) != 0)
task<waited<std::tuple<coro::value_of<T>...>>> when_all_until(time_point deadline,
                                                              task<T>... bodies) {
    return coro::all_until(deadline, std::move(bodies)...);
}

/// The same for any number of coroutines of one type.
template <class T>
task<waited<std::vector<coro::value_of<T>>>> when_all_until(time_point deadline,
                                                            std::vector<task<T>> bodies) {
    return coro::all_until(deadline, std::move(bodies));
}

}  // namespace fairlead
