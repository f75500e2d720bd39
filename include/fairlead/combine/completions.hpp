// The stream that `as_completed` gives: the results of tasks in the order in which they end.
#pragma once

#include <fairlead/coro/adapted_wait.hpp>
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/max_concurrency.hpp>
#include <fairlead/coro/scope.hpp>
#include <fairlead/coro/settled.hpp>
#include <fairlead/coro/stopped.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/coro/waited.hpp>
#include <fairlead/detail/combine/places.hpp>
#include <fairlead/detail/coro/held_operation.hpp>
#include <fairlead/detail/coro/pulled.hpp>
#include <fairlead/detail/sync/mutex.hpp>

#include <algorithm>
#include <concepts>
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
/// @cond internal
namespace combine {

// What a stream of a vector reads beyond it.
template <class T>
struct nothing_more {
    static std::optional<coro::numbered_task<T>> next() noexcept { return std::nullopt; }
};

}  // namespace combine
/// @endcond

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
/// Of a range, which may have no end, at most the bound of tasks run or have a result that was not
/// given: so a slow loop holds the range up. What the range throws is thrown by `next` when the
/// tasks were given that were read.
///
/// Used by one task. It neither moves nor copies. `More`: of a range, where it is read.
template <class T, class More = combine::nothing_more<T>>
class completions {
    static_assert(!std::is_reference_v<T>,
                  "a std::expected cannot hold a reference: let the task give a pointer");

public:
    /// See `as_completed`.
    completions(std::vector<task<T>> tasks, max_concurrency bound)
        requires std::same_as<More, combine::nothing_more<T>>
        : tasks_{std::move(tasks)},
          bound_{bound.count},
          places_{std::in_place, std::max(tasks_.size(), std::size_t{1})} {}
    /// See `as_completed`.
    template <coro::range_of_children Range>
        requires std::same_as<More, coro::pulled<Range>>
    completions(Range&& range, max_concurrency bound)
        : bound_{bound.count}, more_{std::forward<Range>(range)} {}
    completions(const completions&) = delete;
    completions& operator=(const completions&) = delete;
    /// The tasks must have ended, or have never begun.
    ~completions() = default;

    /// Waits for the next task that ends. None: all were given, and have ended. A stop of the
    /// waiting task is passed on to the tasks, and those that have not begun never do: each of them
    /// is given as stopped, those of a range only if they were read. So a loop over the stream ends
    /// by itself, with every task given. Allocates its frame, and with the first call what runs the
    /// tasks; throws `std::bad_alloc`.
    [[nodiscard]] task<std::optional<completion<T>>> next() {
        coro::root& self = co_await coro::running_root();
        if (!workers_) start(self);
        auto ended = co_await places_->next_ended();
        if (!ended && ended.error() != wait_error::closed) {
            request_stop(self.hears_stop() ? self.stop_reason() : stopped_by::overdue);
            ended = co_await shielded(places_->next_ended());
        }
        if (ended) co_return places_->take(*ended);
        co_await join();
        if (begun_ != tasks_.size()) co_return take_one_that_never_begins();
        if (failure_ != nullptr) std::rethrow_exception(std::exchange(failure_, nullptr));
        co_return std::nullopt;
    }

    /// Asks the tasks to stop. Those that have not begun never do. Each is given all the same. The
    /// first request counts, with its reason or without one.
    void request_stop(stopped_by why = stopped_by::unsaid) noexcept {
        const std::lock_guard lock{mutex_};
        if (!is_stopping_) why_ = why;
        is_stopping_ = true;
        if (places_) places_->close_free();
        if (workers_) workers_->request_stop(why);
    }

    /// Asks the tasks to stop, and waits until all have ended. Drops the results that were not
    /// given. Not ended by a stop.
    [[nodiscard]] task<> finish() {
        request_stop(stopped_by::unwanted);
        co_await join();
        begun_ = tasks_.size();
        failure_ = nullptr;
        if (places_) places_->drop_ended();
    }

    /// @cond internal
    // Runs `body(stream)`, and waits for the tasks however it ends.
    template <class Body>
    task<> give_to(Body& body) {
        coro::root& holder = co_await coro::running_root();
        start(holder);
        const coro::held_operation held{holder, *workers_};
        std::exception_ptr failure;
        try {
            co_await body(*this);
        } catch (...) {
            failure = std::current_exception();
        }
        // As `finish`, which needs memory for its frame.
        request_stop();
        static_cast<void>(co_await as_result(shielded(workers_->join_until(never))));
        if (failure != nullptr) std::rethrow_exception(failure);
    }
    /// @endcond

private:
    // A task in the hands of a worker, and the place for its result. Its end delivers the result,
    // also if the worker is destroyed with its scheduler: then nothing that has not begun will.
    class in_hand {
    public:
        in_hand(completions& owner, std::size_t index, std::size_t place) noexcept
            : owner_{owner}, place_{place} {
            owner.places_->begin(place, index);
        }
        in_hand(const in_hand&) = delete;
        in_hand& operator=(const in_hand&) = delete;
        ~in_hand() {
            if (!result()) {
                owner_.request_stop(stopped_by::shutdown);
                result().emplace(stopped_result(stopped_by::shutdown));
            }
            owner_.places_->end(place_);
        }

        [[nodiscard]] std::optional<settled<T>>& result() noexcept {
            return owner_.places_->result(place_);
        }

    private:
        completions& owner_;
        const std::size_t place_;
    };

    // In the frame of a worker, from its making on: a worker whose deadline has passed ends before
    // its first step. When the last one has ended, nothing that has not begun will.
    class at_work {
    public:
        explicit at_work(completions& owner) noexcept : owner_{&owner} {
            const std::lock_guard lock{owner.mutex_};
            ++owner.at_work_;
        }
        at_work(at_work&& other) noexcept : owner_{std::exchange(other.owner_, nullptr)} {}
        at_work& operator=(at_work&&) = delete;
        ~at_work() {
            if (owner_ != nullptr && owner_->is_last_to_leave()) owner_->places_->close_ended();
        }
        // It ends, and the stream does not.
        void forget() noexcept {
            static_cast<void>(std::exchange(owner_, nullptr)->is_last_to_leave());
        }

    private:
        completions* owner_;
    };

    [[nodiscard]] bool is_last_to_leave() noexcept {
        const std::lock_guard lock{mutex_};
        return --at_work_ == 0;
    }

    // As many workers as there may be tasks at once. With too little memory there are fewer.
    void start(coro::root& owner) {
        read_first();
        workers_.emplace(owner.where());
        const std::size_t count = std::min(bound_, tasks_.size());
        at_work starting{*this};
        for (std::size_t i = 0; i != count; ++i) {
            try {
                workers_->spawn(run(at_work{*this}), {.name = "as_completed"});
            } catch (const std::bad_alloc&) {
                if (i != 0) return;
                starting.forget();
                workers_.reset();
                throw;
            }
        }
    }

    // Of a range: the tasks that begin at once.
    void read_first() {
        if constexpr (!std::same_as<More, combine::nothing_more<T>>) {
            if (places_) return;
            try {
                while (!is_stopping_ && tasks_.size() != bound_) {
                    auto next = more_.next();
                    if (!next) break;
                    tasks_.push_back(std::move(next->body));
                }
            } catch (...) {
                more_.cut();
                failure_ = std::current_exception();
            }
            places_.emplace(std::max(tasks_.size(), std::size_t{1}));
        }
    }

    // A worker: one task after the other, each when there is a place for its result.
    task<> run([[maybe_unused]] at_work from_its_making) {
        const executor home = co_await current_executor();
        while (const auto place = co_await shielded(places_->next_free())) {
            auto next = begin_next();
            if (!next) co_return;
            in_hand delivers{*this, next->index, *place};
            std::optional<settled<T>>& result = delivers.result();
            try {
                task<T> body = std::move(next->body);
                if constexpr (std::is_void_v<T>) {
                    co_await std::move(body);
                    result.emplace();
                } else {
                    result.emplace(std::in_place, co_await std::move(body));
                }
            } catch (...) {
                result.emplace(std::unexpect, std::current_exception());
            }
            const executor here = co_await current_executor();
            if (!(here == home)) co_await resume_on(home);  // the task has moved
        }
    }

    [[nodiscard]] std::optional<coro::numbered_task<T>> begin_next() noexcept {
        {
            const std::lock_guard lock{mutex_};
            if (is_stopping_) return std::nullopt;
            if (begun_ != tasks_.size()) {
                const std::size_t index = begun_++;
                return coro::numbered_task<T>{index, std::move(tasks_[index])};
            }
        }
        try {
            return more_.next();
        } catch (...) {
            failure_ = std::current_exception();  // the first, and the only one
            return std::nullopt;
        }
    }

    [[nodiscard]] static settled<T> stopped_result(stopped_by why) noexcept {
        return settled<T>{std::unexpect, std::make_exception_ptr(stopped_error{why})};
    }

    [[nodiscard]] completion<T> take_one_that_never_begins() noexcept {
        return {begun_++, stopped_result(why_)};
    }

    // The results have the failures. A worker has none, unless a deadline kept it from its first
    // step.
    [[nodiscard]] task<> join() {
        if (!workers_) co_return;
        static_cast<void>(co_await as_result(shielded(workers_->join_until(never))));
    }

    std::vector<task<T>> tasks_;  // those that begin first
    const std::size_t bound_;
    [[no_unique_address]] More more_;
    std::exception_ptr failure_;  // of the range
    sync::mutex mutex_;
    std::size_t begun_ = 0;     // of tasks_; guarded by mutex_ until the workers have ended
    std::size_t at_work_ = 0;   // workers; guarded by mutex_
    bool is_stopping_ = false;  // guarded by mutex_
    stopped_by why_ = stopped_by::unsaid;  // guarded by mutex_ until the workers have ended
    std::optional<combine::places<T>> places_;
    std::optional<scope> workers_;
};

}  // namespace fairlead
