// The results of several tasks in the order in which they end.
#pragma once

#include <fairlead/channel/channel.hpp>
#include <fairlead/coro/adapted_wait.hpp>
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/max_concurrency.hpp>
#include <fairlead/coro/scope.hpp>
#include <fairlead/coro/settled.hpp>
#include <fairlead/coro/stopped.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/detail/coro/as_task.hpp>
#include <fairlead/detail/coro/held_operation.hpp>
#include <fairlead/detail/sync/mutex.hpp>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <expected>
#include <mutex>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

namespace fairlead {

/// A stream of the results of tasks, made by `as_completed`. Every task is given once, with its
/// result, its failure or a stop:
///
///     auto pages = fl::as_completed(std::move(downloads), fl::max_concurrency{8});
///     while (auto next = co_await pages.next()) show(next->index, next->result);
///
/// The tasks begin with the first `next`, and have ended when `next` gives none. A loop that is
/// left earlier must `co_await pages.finish()` before the stream is destroyed: like a scope, a
/// stream leaves no task behind. `with_completed` sees to that.
///
/// Used by one task. It neither moves nor copies.
template <class T>
class completions {
    static_assert(!std::is_reference_v<T>,
                  "a std::expected cannot hold a reference: let the task give a pointer");

public:
    /// See `as_completed`.
    completions(std::vector<task<T>> tasks, max_concurrency bound)
        : tasks_{std::move(tasks)},
          results_(tasks_.size()),
          bound_{bound.count},
          ended_{std::max(tasks_.size(), std::size_t{1})} {}
    completions(const completions&) = delete;
    completions& operator=(const completions&) = delete;
    /// The tasks must have ended, or have never begun.
    ~completions() = default;

    /// Waits for the next task that ends. None: all were given, and have ended. A stop of the
    /// waiting task is passed on to the tasks, and those that have not begun never do: each of them
    /// is given as stopped. So a loop over the stream ends by itself, with every task given.
    [[nodiscard]] task<std::optional<completion<T>>> next() {
        if (given_ == tasks_.size()) {
            co_await join();
            co_return std::nullopt;
        }
        coro::root& self = co_await coro::running_root();
        if (!workers_) start(self);
        auto ended = co_await ended_.receive();
        if (!ended) {
            request_stop();
            ended = co_await shielded(ended_.receive());
        }
        ++given_;
        co_return completion<T>{*ended, *std::exchange(results_[*ended], std::nullopt)};
    }

    /// Asks the tasks to stop. Those that have not begun never do. Each is given all the same.
    void request_stop() noexcept {
        const std::lock_guard lock{mutex_};
        for (; begun_ != tasks_.size(); ++begun_) {
            set_stopped(begun_);
            deliver(begun_);
        }
        if (workers_) workers_->request_stop();
    }

    /// Asks the tasks to stop, and waits until all have ended. Drops the results that were not
    /// given. Not ended by a stop.
    [[nodiscard]] task<> finish() {
        request_stop();
        co_await join();
        given_ = tasks_.size();
    }

private:
    template <class U, class Body>
    friend task<> with_completed(std::vector<task<U>> tasks, Body body, max_concurrency bound);

    // A task in the hands of a worker. Its end delivers the result, also if the worker is destroyed
    // with its scheduler: then nothing that has not begun will.
    class in_hand {
    public:
        in_hand(completions& owner, std::size_t index) noexcept : owner_{owner}, index_{index} {}
        in_hand(const in_hand&) = delete;
        in_hand& operator=(const in_hand&) = delete;
        ~in_hand() {
            if (!owner_.results_[index_]) {
                owner_.request_stop();
                owner_.set_stopped(index_);
            }
            owner_.deliver(index_);
        }

    private:
        completions& owner_;
        const std::size_t index_;
    };

    // As many workers as there may be tasks at once. With too little memory there are fewer.
    void start(coro::root& owner) {
        workers_.emplace(owner.where());
        const std::size_t count = std::min(bound_, tasks_.size());
        for (std::size_t i = 0; i != count; ++i) {
            try {
                workers_->spawn(run(), {.name = "as_completed"});
            } catch (const std::bad_alloc&) {
                if (i != 0) return;
                workers_.reset();
                throw;
            }
        }
    }

    // A worker: one task after the other.
    task<> run() {
        const executor home = co_await current_executor();
        while (const auto index = begin_next()) {
            const in_hand delivers{*this, *index};
            const executor here = co_await current_executor();
            if (!(here == home)) co_await resume_on(home);  // the last task has moved
            std::optional<settled<T>>& result = results_[*index];
            try {
                if constexpr (std::is_void_v<T>) {
                    co_await std::move(tasks_[*index]);
                    result.emplace();
                } else {
                    result.emplace(std::in_place, co_await std::move(tasks_[*index]));
                }
            } catch (...) {
                result.emplace(std::unexpect, std::current_exception());
            }
        }
    }

    [[nodiscard]] std::optional<std::size_t> begin_next() noexcept {
        const std::lock_guard lock{mutex_};
        if (begun_ == tasks_.size()) return std::nullopt;
        return begun_++;
    }

    void set_stopped(std::size_t index) noexcept {
        results_[index].emplace(std::unexpect, std::make_exception_ptr(stopped_error{}));
    }

    // There is room: each index comes once.
    void deliver(std::size_t index) noexcept {
        static_cast<void>(ended_.try_send(std::size_t{index}));
    }

    // A worker has no failure: the results have them.
    [[nodiscard]] task<> join() {
        if (workers_) static_cast<void>(co_await shielded(workers_->join_until(never)));
    }

    std::vector<task<T>> tasks_;
    std::vector<std::optional<settled<T>>> results_;
    const std::size_t bound_;
    std::size_t given_ = 0;  // the waiting task's
    sync::mutex mutex_;
    std::size_t begun_ = 0;       // guarded by mutex_
    channel<std::size_t> ended_;  // the indices
    std::optional<scope> workers_;
};

/// The results of `tasks` in the order in which the tasks end. At most `bound` run at once.
/// To be awaited one by one: see `completions`. Allocates room for the results; throws
/// `std::bad_alloc`.
template <awaitable Child>
[[nodiscard]] completions<coro::awaited_t<Child>> as_completed(std::vector<Child> tasks,
                                                               max_concurrency bound = {}) {
    return completions<coro::awaited_t<Child>>{coro::as_tasks(std::move(tasks)), bound};
}

/// Runs `body(stream)`, a callable that returns a `task<>`, with the stream of `as_completed`. When
/// it ends or throws, the tasks that have not ended are asked to stop, and have ended when
/// `with_completed` does; an exception of the body is then rethrown.
template <class T, class Body>
[[nodiscard]] task<> with_completed(std::vector<task<T>> tasks, Body body,
                                    max_concurrency bound = {}) {
    coro::root& holder = co_await coro::running_root();
    completions<T> stream{std::move(tasks), bound};
    stream.start(holder);
    const coro::held_operation held{holder, *stream.workers_};
    std::exception_ptr failure;
    try {
        co_await body(stream);
    } catch (...) {
        failure = std::current_exception();
    }
    co_await stream.finish();
    if (failure != nullptr) std::rethrow_exception(failure);
}

}  // namespace fairlead
