// Waiting for several coroutines that run at the same time.
#pragma once

#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/sync/atomic.hpp>

#include <array>
#include <cstddef>
#include <deque>
#include <exception>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace fairlead {
namespace coro {

// The coroutines that run, and the one that waits for them. The first that fails asks the others to
// stop. It lives in the waiting frame, as do the children.
class all_children final : public awaited_operation {
public:
    // Posts `children` and suspends `waiting` until all have ended. `children` stays in place.
    void start(root& waiting, std::span<basic_task* const> children) noexcept {
        waiting_ = &waiting;
        children_ = children;
        running_.store(children.size(), sync::relaxed);  // the post publishes it
        waiting.await_operation(*this);
        waiting.where().post(children);
    }

    // The last touch of the group and of the child, which is one of `children`.
    void child_ended(bool failed) noexcept {
        if (failed) stop_children();  // this child counts as running still, so all of them exist
        root* const waiting = waiting_;
        // [WA1] release: publishes this child's result; acquire: the last one has seen the others'.
        if (running_.fetch_sub(1, sync::acq_rel) == 1) waiting->complete();
    }

    void pass_stop_on() noexcept override { stop_children(); }

private:
    void stop_children() noexcept {
        for (basic_task* const child : children_) child->request_stop();
    }

    root* waiting_ = nullptr;
    std::span<basic_task* const> children_;
    sync::atomic<std::size_t> running_{0};
};

template <class T>
class child final : public root {
public:
    struct parts {
        executor where;
        all_children& group;
        task<T>& body;
    };

    explicit child(parts from) noexcept
        : root{from.where, "when_all"}, group_{from.group}, body_{std::move(from.body)} {
        body_.start_on(*this);
    }

    // The result; `void` gives std::monostate.
    auto take() {
        if (abandoned_) throw stopped_error{};
        if constexpr (std::is_void_v<T>) {
            body_.outcome().take();
            return std::monostate{};
        } else {
            return body_.outcome().take();
        }
    }

    void rethrow_failure() const {
        if (!abandoned_) coro::rethrow_failure(body_.outcome().failure());
    }

private:
    void on_end() noexcept override { group_.child_ended(body_.outcome().failure() != nullptr); }
    void on_abandon() noexcept override {
        abandoned_ = true;
        group_.child_ended(true);
    }

    all_children& group_;
    task<T> body_;
    bool abandoned_ = false;
};

class all_ended {
public:
    all_ended(all_children& group, std::span<basic_task* const> children) noexcept
        : group_{group}, children_{children} {}

    [[nodiscard]] bool await_ready() const noexcept { return children_.empty(); }
    template <on_a_root Promise>
    void await_suspend(std::coroutine_handle<Promise> leaf) noexcept {
        root& bottom = *leaf.promise().bottom;
        bottom.wait_at(leaf, leaf.promise(), root::until::completion, never);
        group_.start(bottom, children_);
    }
    void await_resume() const noexcept {}

private:
    all_children& group_;
    std::span<basic_task* const> children_;
};

}  // namespace coro

/// Runs the coroutines at the same time and waits until all have ended; gives their results in order,
/// `std::monostate` for `void`. When one throws, the others are asked to stop, and the exception of
/// the first in order is rethrown once all have ended, `stopped_error` only if there is no other. A stop of
/// the waiting task is passed on.
template <class... T>
task<std::tuple<coro::value_of<T>...>> when_all(task<T>... bodies) {
    [[maybe_unused]] const executor where =
        co_await coro::root_question{[](coro::root& self) noexcept { return self.where(); }};
    coro::all_children group;
    std::tuple<coro::child<T>...> children{typename coro::child<T>::parts{where, group, bodies}...};
    const auto tasks = std::apply(
        [](auto&... each) { return std::array<basic_task*, sizeof...(T)>{&each...}; }, children);
    co_await coro::all_ended{group, tasks};
    try {
        co_return std::apply(
            [](auto&... each) { return std::tuple<coro::value_of<T>...>{each.take()...}; },
            children);
    } catch (const stopped_error&) {
        std::apply([](auto&... each) { (each.rethrow_failure(), ...); }, children);
        throw;
    }
}

/// The same for any number of coroutines of one type. Gives `std::vector` of the results.
template <class T>
task<std::vector<coro::value_of<T>>> when_all(std::vector<task<T>> bodies) {
    const executor where =
        co_await coro::root_question{[](coro::root& self) noexcept { return self.where(); }};
    coro::all_children group;
    std::deque<coro::child<T>> children;
    std::vector<basic_task*> tasks;
    tasks.reserve(bodies.size());
    for (task<T>& body : bodies) {
        tasks.push_back(&children.emplace_back(typename coro::child<T>::parts{where, group, body}));
    }
    co_await coro::all_ended{group, tasks};
    std::vector<coro::value_of<T>> results;
    results.reserve(children.size());
    try {
        for (coro::child<T>& each : children) results.push_back(each.take());
    } catch (const stopped_error&) {
        for (const coro::child<T>& each : children) each.rethrow_failure();
        throw;
    }
    co_return results;
}

}  // namespace fairlead
