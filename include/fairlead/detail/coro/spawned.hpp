// The task that `spawn` makes: the root of a coroutine, with its result and its joiner.
#pragma once

#include <fairlead/coro/stopped.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/detail/coro/error_sink.hpp>
#include <fairlead/detail/coro/home_pin.hpp>
#include <fairlead/detail/coro/joiner.hpp>
#include <fairlead/detail/coro/stop_on_token.hpp>
#include <fairlead/detail/sync/atomic.hpp>

#include <exception>
#include <memory>
#include <span>
#include <stop_token>
#include <utility>

namespace fairlead::coro {

// A spawned task. It lives until it has ended and its handle is gone: the second of the two frees
// it.
template <class T>
class spawned : public root, public sync::recycled {
public:
    spawned(executor where, task<T> body, task_label label, context_word context)
        : root{where, label, sched::access::depth_of_new_task(), context}, body_{std::move(body)} {
        body_.start_on(*this);
    }

    // --- the handle ----------------------------------------------------------------------------

    [[nodiscard]] bool ended() const noexcept {
        return state_.load(sync::acquire) == has_ended;  // [SP1] sees the result
    }

    // False: it has ended already, and `who` is not told.
    [[nodiscard]] bool join(joiner& who) noexcept {
        joiner_ = &who;
        std::uint8_t expected = nobody;
        // [SP1] release: publishes the joiner; acquire on failure: sees the result.
        return state_.compare_exchange_strong(expected, somebody_joins, sync::acq_rel,
                                              sync::acquire) ||
               !is_ended(expected);
    }

    T take() {
        if (is_abandoned()) throw stopped_error{stopped_by::shutdown};
        return body_.outcome().take();
    }

    // The same for a task, which learns where an exception came from.
    T take_in(root* const& waiting) {
        if (is_abandoned()) throw stopped_error{stopped_by::shutdown};
        if (body_.outcome().has_failed()) [[unlikely]]
            tell_origin(*waiting);
        return body_.outcome().take();
    }

    // The joiner goes away, and is not told. False: it is being told.
    [[nodiscard]] bool withdraw() noexcept {
        std::uint8_t expected = somebody_joins;
        // [SP1] acquire: pairs with the end, if it was faster.
        return state_.compare_exchange_strong(expected, nobody, sync::acq_rel, sync::acquire);
    }

    // For a thread that joins, and looks at the scheduler that the task was started on.
    [[nodiscard]] home_pin& pin() noexcept { return pin_; }

    // The handle goes away: no joiner will see an exception, so it is reported. The last touch.
    void detach() noexcept {
        std::uint8_t expected = nobody;
        // [SP1] as in join: after it, the end frees this object.
        if (state_.compare_exchange_strong(expected, detached, sync::acq_rel, sync::acquire))
            return;
        static_cast<void>(is_ended(expected));
        report_failure();
        delete this;
    }

    virtual ~spawned() = default;

protected:
    // The last that runs of it, but for what its handle asks.
    void on_end() noexcept override {
        if (!is_abandoned() && body_.outcome().failure() != nullptr)
            reporter_ = sched::access::reporter_of(home());
        // [SP1] release: publishes the result; acquire: sees the joiner. The last touch, unless the
        // handle is gone, or its owner waits to be told: then it frees this object after that.
        const std::uint8_t before = state_.exchange(has_ended, sync::acq_rel);
        if (before == detached) {
            report_failure();
            delete this;
        } else if (before == somebody_joins) {
            joiner_->tell();
        }
    }

    void on_abandon() noexcept final { on_end(); }

    void on_move() noexcept final { pin_.move(); }

    [[nodiscard]] bool refuse(const std::exception_ptr& failure) noexcept final {
        body_.outcome().fail(failure);
        return true;
    }

private:
    enum : std::uint8_t { nobody, somebody_joins, detached, has_ended };

    // Why a join or a detach comes too late: the task has ended.
    [[nodiscard]] static bool is_ended(std::uint8_t seen) noexcept {
        FAIRLEAD_ASSERT(seen == has_ended,
                        "a handle was awaited twice at the same time, by two tasks or in two "
                        "branches of a select; or it was destroyed while it was awaited");
        return true;
    }

    void report_failure() noexcept {
        if (is_abandoned()) return;
        if (auto failure = body_.outcome().failure()) report(std::move(failure));
    }
    // Apart: it is rare, and catches.
    [[gnu::noinline]] void report(std::exception_ptr failure) noexcept {
        if (is_stop(failure)) return;
        const std::unique_ptr<failure_trail> trail = trail_at_end(failure);
        const failed_task self = as_failed();
        const failure_origin origin{trail != nullptr ? std::span<const failed_task>{trail->tasks}
                                                     : std::span{&self, 1}};
        report_unjoined(std::move(failure), origin, context(), reporter_);
    }
    [[gnu::noinline]] void tell_origin(root& waiting) noexcept {
        waiting.trail().keep(trail_at_end(body_.outcome().failure()));
    }

    sync::atomic<std::uint8_t> state_{nobody};
    home_pin pin_;
    task<T> body_;
    joiner* joiner_ = nullptr;
    unhandled_reporter reporter_;  // of a failure; the scheduler may be gone when it is needed
};

// A spawned task that a token asks to stop.
template <class T>
class spawned_with_token final : public spawned<T> {
public:
    spawned_with_token(executor where, task<T> body, std::stop_token stop, task_label label,
                       context_word context)
        : spawned<T>{where, std::move(body), label, context}, on_stop_{*this, std::move(stop)} {}

private:
    void on_end() noexcept override {
        on_stop_.reset();
        spawned<T>::on_end();
    }

    stop_on_token on_stop_;
};

}  // namespace fairlead::coro
