// A scope: a set of child tasks that ends before the block that owns it does.
#pragma once

#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/spawn_options.hpp>
#include <fairlead/coro/stopped.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/coro/waited.hpp>
#include <fairlead/detail/coro/scope_child.hpp>
#include <fairlead/detail/coro/stop_once.hpp>
#include <fairlead/detail/sched/held_executor.hpp>
#include <fairlead/detail/sync/atomic.hpp>
#include <fairlead/detail/sync/mutex.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <source_location>
#include <utility>

namespace fairlead {

/// Spawns child tasks and waits for all of them:
///
///     fl::scope sessions{scheduler};
///     sessions.spawn(session(std::move(stream)));
///     co_await sessions.join();
///
/// Every child has ended when `join` returns; the scope must have been joined before it is
/// destroyed (`with_scope` sees to that). When a child throws, its siblings are asked to stop,
/// nothing new is started, and `join` rethrows the first exception. A child that ends with
/// `stopped_error` has not failed. A stop of the joining task is passed on, whether it comes during
/// the join or came before. Children inherit the context of the task that makes the scope.
///
/// A scheduler that is destroyed gives back the children before their owner. Use `with_scope` if a
/// child may move to another scheduler: `with_scope` keeps the owner alive until that child has
/// ended, whatever the owner waits for. The scheduler outlives the scope, also if the owner moves.
class scope final : public coro::awaited_operation {
public:
    /// The children run at `where`, and so in its group. Allocates nothing.
    explicit scope(executor where) noexcept : where_{where} {}
    scope(const scope&) = delete;
    scope& operator=(const scope&) = delete;
    ~scope() {
        FAIRLEAD_ASSERT(!has_children() || std::uncaught_exceptions() == 0,
                        "an exception leaves the owner of a scope with running children: use "
                        "with_scope, which waits for them and rethrows it");
        FAIRLEAD_ASSERT(!has_children(),
                        "a scope was destroyed with running children: co_await its join(), or "
                        "use with_scope");
    }

    /// Starts a child. Any thread, until the join has ended. False: the scope was asked to stop,
    /// and the child was not started. Allocates one object; throws `std::bad_alloc`. `spawned_at`:
    /// the report of an exception names the call.
    bool spawn(task<> body, spawn_options options = {.name = "scope child"},
               std::source_location spawned_at = std::source_location::current()) {
        const std::uint32_t depth = std::max(depth_, sched::access::depth_of_new_task());
        auto* const started =
            options.stop.stop_possible()
                ? make_child_with_token(body, options, spawned_at, depth)
                : new coro::scope_child{*this,           where_,
                                        std::move(body), {options.name, spawned_at},
                                        depth,           context_.word()};
        {
            std::lock_guard lock{mutex_};
            if (!is_stopping()) {
                list(*started);
                executor{where_}.post(*started);  // under the mutex: so a stop finds it
                return true;
            }
        }
        delete started;
        return false;
    }

    class forking {
    public:
        forking(scope& owner, task<> body, coro::task_label label) noexcept
            : owner_{owner}, body_{std::move(body)}, label_{label} {}
        [[nodiscard]] bool await_ready() const noexcept { return false; }
        template <coro::on_a_root Promise>
        [[nodiscard]] bool await_suspend(std::coroutine_handle<Promise> leaf) noexcept {
            bottom_ = leaf.promise().bottom;
            return false;
        }
        bool await_resume() { return owner_.start_fork(*bottom_, std::move(body_), label_); }

    private:
        scope& owner_;
        coro::root* bottom_ = nullptr;
        task<> body_;
        coro::task_label label_;
    };

    /// Starts a child like `spawn`, for work that is to be divided: `co_await all.fork(part(x))`,
    /// which does not wait. The child is offered to workers that have nothing else to do. Children
    /// that no worker has taken run here, the last first, when this task joins a scope or ends; or
    /// are posted when it waits for anything else.
    [[nodiscard]] forking fork(
        task<> body, task_name name = "scope child",
        std::source_location spawned_at = std::source_location::current()) noexcept {
        return {*this, std::move(body), {name, spawned_at}};
    }

    /// Asks all children to stop, and starts no more. Any thread, until `join` has ended.
    void request_stop(stopped_by why = stopped_by::unsaid) noexcept;

    /// How many children have not ended. Any thread.
    [[nodiscard]] std::size_t size() const noexcept;

    class joining {
    public:
        explicit joining(scope& owner) noexcept : owner_{owner} {}
        [[nodiscard]] bool await_ready() const noexcept { return false; }
        template <coro::on_a_root Promise>
        [[nodiscard]] bool await_suspend(std::coroutine_handle<Promise> leaf) noexcept {
            bottom_ = leaf.promise().bottom;
            return owner_.begin_join(*bottom_, leaf, leaf.promise(), never, false);
        }
        void await_resume() const {
            owner_.rethrow_failure(*bottom_);
            if (const auto why = owner_.take_missing(*bottom_)) bottom_->throw_ended(*why);
        }

    private:
        scope& owner_;
        coro::root* bottom_ = nullptr;
    };

    class joining_until {
    public:
        joining_until(scope& owner, time_point deadline) noexcept
            : owner_{owner}, deadline_{deadline} {}
        [[nodiscard]] bool await_ready() const noexcept { return false; }
        template <coro::on_a_root Promise>
        [[nodiscard]] bool await_suspend(std::coroutine_handle<Promise> leaf) noexcept {
            bottom_ = leaf.promise().bottom;
            return owner_.begin_join(*bottom_, leaf, leaf.promise(), deadline_, true);
        }
        [[nodiscard]] waited<void> await_resume() const {
            const auto early = std::exchange(owner_.join_ended_by_, coro::interruption::none);
            if (early != coro::interruption::none) return std::unexpected{error_of(early)};
            owner_.rethrow_failure(*bottom_);
            if (const auto why = owner_.take_missing(*bottom_)) return std::unexpected{*why};
            return {};
        }

    private:
        scope& owner_;
        time_point deadline_;
        coro::root* bottom_ = nullptr;
    };

    /// Waits until every child has ended. If the joining task was asked to stop, and a child was
    /// stopped by that, throws `stopped_error` then. A deadline of the joining task's context that
    /// the children do not have asks them to stop, and then it throws `overdue_error`.
    [[nodiscard]] joining join() noexcept { return joining{*this}; }

    /// The same until `deadline`. `expired`, `overdue`: children run still; the scope is as before,
    /// and must be joined again.
    [[nodiscard]] joining_until join_until(time_point deadline) noexcept {
        return {*this, deadline};
    }

private:
    friend class coro::scope_child;
    friend class coro::forked_scope_child;

    // Not inline: few children have a token.
    [[nodiscard]] coro::scope_child* make_child_with_token(task<>& body, spawn_options& options,
                                                           std::source_location spawned_at,
                                                           std::uint32_t depth);

    [[nodiscard]] bool start_fork(coro::root& forker, task<> body, coro::task_label label) {
        if (is_stopping()) return false;
        auto* const started = new coro::forked_scope_child{*this,
                                                           forker.where(),
                                                           std::move(body),
                                                           label,
                                                           std::max(depth_, forker.depth() + 1),
                                                           context_.word()};
        // Relaxed: the forking task has not ended, or joins later.
        unlisted_.fetch_add(1, sync::relaxed);
        forker.offer_fork(*started);
        return true;
    }

    // A child that is forked before this thread sees the stop learns of it when it is listed.
    [[nodiscard]] bool is_stopping() const noexcept { return stop_.is_asked(); }

    // Requires mutex_, or that no child is left.
    [[nodiscard]] bool has_children() const noexcept {
        // [SC1] acquire: sees what they have written.
        return children_ != nullptr || unlisted_.load(sync::acquire) != 0;
    }

    // Requires mutex_.
    void list(coro::scope_child& child) noexcept {
        child.is_listed_ = true;
        child.following_ = children_;
        if (children_ != nullptr) children_->previous_ = &child;
        children_ = &child;
        ++size_;
    }

    // Requires mutex_.
    void unlist(coro::scope_child& child) noexcept;

    // Another worker may run a child that was forked, or the child may wait: a stop must find it
    // from now on.
    void list_forked(coro::scope_child& child) noexcept;

    // An unlisted child has ended. False: it may be the last.
    [[nodiscard]] bool leave_others() noexcept {
        std::size_t seen = unlisted_.load(sync::relaxed);  // stale only makes the exchange fail
        while (seen > 1) {
            // [SC1] release: publishes what it has written.
            if (unlisted_.compare_exchange_weak(seen, seen - 1, sync::release, sync::relaxed)) {
                return true;
            }
        }
        return false;
    }

    // False: all children have ended, and the task goes on.
    [[nodiscard]] bool begin_join(coro::root& joiner, std::coroutine_handle<> leaf,
                                  coro::frame_link& link, time_point deadline, bool ends) noexcept;

    void rethrow_failure(coro::root& joiner) {
        if (failure_) [[unlikely]]
            rethrow_in(joiner);
    }
    [[noreturn]] void rethrow_in(coro::root& joiner);

    // A stop of the joiner is passed on. After the deadline the scope forgets the joiner, unless a
    // child completes the joiner already.
    [[nodiscard]] bool interrupt(coro::interruption why) noexcept override;

    [[nodiscard]] bool must_wait(coro::root& holder) noexcept override;

    // Requires mutex_. Children are in the list until their end, so they exist.
    void stop_all(stopped_by why) noexcept;

    [[nodiscard]] bool outlasts(coro::root& holder) noexcept override;

    // How a child has ended without a failure: with its result; by a stop; with its scheduler.
    enum class ending : std::uint8_t { whole, stopped, given_back };

    // The last touch of the scope by a child, which it frees.
    void child_ended(coro::scope_child& child) noexcept {
        if (child.is_listed_ || !leave_others()) return end_of_child(child, ending::whole);
        delete &child;
    }
    void end_of_child(coro::scope_child& child, ending how) noexcept;
    void child_failed(coro::scope_child& child, std::exception_ptr failure) noexcept;

    // Why a result is missing that the joiner must hear of. Once.
    using missing = std::optional<wait_error>;
    [[nodiscard]] missing take_missing(const coro::root& joiner) noexcept {
        return worst_ == ending::whole ? missing{} : take_worst(joiner);
    }
    missing take_worst(const coro::root& joiner) noexcept;

    const sched::held_executor where_;
    const std::uint32_t depth_ = sched::access::depth_of_new_task();  // children go first
    const coro::held_context context_{coro::context_of_new_task()};   // of the children
    mutable sync::mutex mutex_;
    coro::scope_child* children_ = nullptr;       // guarded by mutex_
    std::size_t size_ = 0;                        // of the list; guarded by mutex_
    coro::stop_once stop_;                        // asked under mutex_
    coro::root* joiner_ = nullptr;                // guarded by mutex_
    std::exception_ptr failure_;                  // guarded by mutex_ until all children have ended
    std::unique_ptr<coro::failure_trail> trail_;  // of failure_; guarded as it is
    ending worst_ = ending::whole;                // of the children; guarded as failure_
    bool join_may_end_ = false;                   // before all children have; of the joiner
    coro::interruption join_ended_by_ = coro::interruption::none;  // of the joiner
    // Children that were forked, and run in the step that has forked them or have not begun. From 1
    // to 0 only under mutex_, where the joiner is told.
    sync::atomic<std::size_t> unlisted_{0};
};

/// @cond internal
inline void coro::scope_child::on_end() noexcept {
    if (body_.outcome().has_failed()) [[unlikely]]
        return fail();
    body_ = {};  // its parameters may refer to what the joiner destroys next
    owner_.child_ended(*this);
}

inline void coro::forked_scope_child::begin_here() noexcept {
    if (owner().is_stopping()) request_stop(owner().stop_.reason());
}
/// @endcond

}  // namespace fairlead
