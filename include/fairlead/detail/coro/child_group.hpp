// Several coroutines that run at the same time, each as a task, and the task that waits for them:
// what `when_all`, `when_any` and `race` have in common.
//
//     the waiting task   makes the children, posts them, and sleeps
//     a child            ends, and tells the group how; the last one completes the waiting task
//     the first child    whose end decides the outcome, by the rule of the group, asks the rest to
//                        stop, if the rule says so
//
// The group and the children live in the frame of the waiting task, which goes on when the last
// child has ended: nothing that a combinator has started outlasts it.
//
// A group may have a bound: so many children run at once, and each end starts the next child. The
// children that have not begun when the group stops never begin. The end that sees the stop
// subtracts them.
#pragma once

#include <fairlead/base/time.hpp>
#include <fairlead/coro/stopped.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/detail/base/assert.hpp>
#include <fairlead/detail/coro/root.hpp>
#include <fairlead/detail/coro/stop_once.hpp>
#include <fairlead/detail/sync/atomic.hpp>
#include <fairlead/detail/sync/mutex.hpp>

#include <algorithm>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <expected>
#include <mutex>
#include <span>
#include <type_traits>
#include <utility>
#include <variant>

namespace fairlead::coro {

template <class T>
inline constexpr bool is_expected = false;
template <class T, class E>
inline constexpr bool is_expected<std::expected<T, E>> = true;

/// How a child ends: bits, of which the rule of a group is a set. A child whose result is a
/// `child_end` says so itself; `child_undecided` is in no set.
enum child_end : std::uint8_t {
    child_undecided = 0,
    child_succeeded = 1,
    child_failed = 2,
    child_stopped = 4
};

/// What the end of a child does to the group. A child that its scheduler gives back always asks the
/// rest to stop.
struct group_rule {
    task_name name;              // of the children, in reports
    std::uint8_t decides = 0;    // the ends of which the first in time decides the outcome
    std::uint8_t stops = 0;      // the ends that ask the rest to stop
    bool counts_errors = false;  // a `std::expected` without a value is a failure
    stopped_by tells = stopped_by::failure;  // the rest, when an end stops it
};

class child_group final : public awaited_operation {
public:
    explicit child_group(group_rule rule) noexcept : rule_{rule} {}

    /// Posts the first `at_once` of `children`, at least one, and suspends `waiting` until all have
    /// ended; `deadline` is that of its wait. `children` stays in place.
    void start(root& waiting, std::span<basic_task* const> children, std::size_t at_once,
               time_point deadline) noexcept {
        const std::size_t first = std::min(at_once, children.size());
        waiting_ = &waiting;
        deadline_ = deadline;
        children_ = children;
        running_.store(children.size(), sync::relaxed);  // the post publishes these
        next_ = first;
        is_bounded_ = first < children.size();
        waiting.await_operation(*this);
        waiting.where().post(children.first(first));
    }

    /// The last touch of the group and of the child, which is one of `children`.
    void child_ended(const basic_task& child, child_end how) noexcept {
        if ((rule_.decides & how) != 0) decide(child);
        // This child counts as running still, so all of them exist.
        if ((rule_.stops & how) != 0) stop_children(rule_.tells);
        leave();
    }
    void child_given_back() noexcept {
        stop_children(stopped_by::shutdown);
        leave();
    }

    /// The child whose end has decided the outcome; null: none. All have ended.
    [[nodiscard]] const basic_task* decider() const noexcept {
        return decider_.load(sync::relaxed);
    }

    [[nodiscard]] const group_rule& rule() const noexcept { return rule_; }

    /// The task that waits for them. After `start`.
    [[nodiscard]] root& waiting() const noexcept { return *waiting_; }

    [[nodiscard]] bool is_stopping() const noexcept { return stop_.is_asked(); }
    [[nodiscard]] stopped_by stop_reason() const noexcept { return stop_.reason(); }

    /// Whether the deadline of the wait was the first to ask the children to stop.
    [[nodiscard]] bool is_late() const noexcept { return is_late_; }

private:
    [[nodiscard]] bool interrupt(interruption why) noexcept override {
        if (why == interruption::overdue) return false;  // as the children are
        if (why == interruption::deadline && !is_stopping()) is_late_ = true;
        stop_children(reason_of(*waiting_, why));
        return false;
    }

    [[nodiscard]] time_point own_deadline() const noexcept override { return deadline_; }

    void decide(const basic_task& child) noexcept {
        // Relaxed: read when all have ended, which publishes it.
        const basic_task* none = nullptr;
        decider_.compare_exchange_strong(none, &child, sync::relaxed, sync::relaxed);
    }

    // All children exist, and a request lasts: later callers have nothing to add, and n children
    // that end one after the other ask n times, not n * n.
    void stop_children(stopped_by why) noexcept {
        if (is_stopping()) return;
        const stopped_by first = stop_.ask(why);
        for (basic_task* const child : children_) child->request_stop(first);
    }

    void leave() noexcept {
        const std::size_t ended = is_bounded_ ? 1 + start_next() : 1;
        root* const waiting = waiting_;
        // [WA1] release: publishes this child's result; acquire: the last child has seen all
        // results.
        if (running_.fetch_sub(ended, sync::acq_rel) == ended) waiting->complete();
    }

    // Starts the next child after an end. After a stop: how many children have not begun,
    // and never will. A child that is posted in the same moment as the stop begins, and hears it.
    [[nodiscard]] std::size_t start_next() noexcept {
        basic_task* next = nullptr;
        {
            const std::lock_guard lock{mutex_};
            if (is_stopping()) {
                return children_.size() - std::exchange(next_, children_.size());
            }
            if (next_ != children_.size()) next = children_[next_++];
        }
        if (next != nullptr) waiting_->where().post(*next);
        return 0;
    }

    const group_rule rule_;
    root* waiting_ = nullptr;
    time_point deadline_ = never;
    std::span<basic_task* const> children_;
    bool is_bounded_ = false;
    bool is_late_ = false;
    sync::mutex mutex_;
    std::size_t next_ = 0;                  // the first that was not posted; guarded by mutex_
    sync::atomic<std::size_t> running_{0};  // have not ended, or have not begun
    sync::atomic<const basic_task*> decider_{nullptr};
    stop_once stop_;
};

template <class T>
class child final : public root {
public:
    struct parts {
        const root& waiting;
        child_group& group;
        task<T>& body;
    };

    explicit child(parts from) noexcept
        : root{from.waiting.where(),
               {from.group.rule().name},
               from.waiting.depth() + 1,
               from.waiting.context().beyond(inherit::children)},
          group_{from.group},
          body_{std::move(from.body)} {
        inherit_shield(from.waiting.shields_children());
        body_.start_on(*this);
    }

    /// The result; `void` gives std::monostate. Throws what the body has thrown, and
    /// `stopped_error` if it has not begun, or was given back.
    value_of<T> take() {
        if (!has_ended_) throw stopped_error{group_.stop_reason()};
        if constexpr (std::is_void_v<T>) {
            body_.outcome().take();
            return std::monostate{};
        } else {
            return body_.outcome().take();
        }
    }

    /// What `take` would throw; null: nothing.
    [[nodiscard]] std::exception_ptr failure() const noexcept {
        return has_ended_ ? body_.outcome().failure()
                          : std::make_exception_ptr(stopped_error{group_.stop_reason()});
    }

    [[nodiscard]] bool has_decided() const noexcept { return this == group_.decider(); }

    /// The waiting task is about to throw the failure of this child: it learns where it came from.
    void pass_on_trail() { group_.waiting().trail().keep(trail_at_end(failure())); }

    /// Rethrows the failure of this child in the waiting task, if it was the first in time.
    void rethrow_if_decided() {
        if (!has_decided() || !body_.outcome().has_failed()) return;
        pass_on_trail();
        static_cast<void>(body_.outcome().take());
    }

private:
    void on_end() noexcept override {
        has_ended_ = true;
        group_.child_ended(*this, how_ended());
    }
    void on_abandon() noexcept override { group_.child_given_back(); }
    [[nodiscard]] bool refuse(const std::exception_ptr& failure) noexcept override {
        body_.outcome().fail(failure);
        return true;
    }
    [[nodiscard]] bool stopped_by_owner() const noexcept override { return group_.is_stopping(); }

    [[nodiscard]] child_end how_ended() const noexcept {
        const auto& outcome = body_.outcome();
        if (outcome.has_failed()) {
            return is_stop(outcome.failure()) ? child_stopped : child_failed;
        }
        if constexpr (std::is_same_v<T, child_end>) return outcome.value();
        if constexpr (is_expected<T>) {
            if (group_.rule().counts_errors && !outcome.value().has_value()) return child_failed;
        }
        return child_succeeded;
    }

    child_group& group_;
    task<T> body_;
    bool has_ended_ = false;
};

class all_ended {
public:
    all_ended(child_group& group, std::span<basic_task* const> children, time_point deadline,
              std::size_t at_once) noexcept
        : group_{group}, children_{children}, deadline_{deadline}, at_once_{at_once} {}

    [[nodiscard]] bool await_ready() const noexcept { return children_.empty(); }
    template <on_a_root Promise>
    void await_suspend(std::coroutine_handle<Promise> leaf) noexcept {
        root& bottom = *leaf.promise().bottom;
        bottom.wait_at(leaf, leaf.promise(), root::until::completion, deadline_);
        group_.start(bottom, children_, at_once_, deadline_);
    }
    void await_resume() const noexcept {}

private:
    child_group& group_;
    std::span<basic_task* const> children_;
    time_point deadline_;
    std::size_t at_once_;
};

}  // namespace fairlead::coro
