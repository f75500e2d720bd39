// Waits of tasks and threads for the result of a future.
#pragma once

#include <fairlead/detail/coro/task_wait.hpp>
#include <fairlead/detail/coro/told_branch.hpp>
#include <fairlead/detail/future/consumer.hpp>
#include <fairlead/detail/future/trampoline.hpp>
#include <fairlead/sched/scheduler.hpp>

#include <expected>
#include <optional>

namespace fairlead::futures {

/// Until the result is there. The word of the pair decides between the result and an early end.
template <class T, class E>
class settled_operation : public listener {
public:
    explicit settled_operation(consumer<T, E>& of) noexcept : of_{of} {}

    [[nodiscard]] bool enter() noexcept { return of_.of().attach(*this); }
    [[nodiscard]] bool leave() noexcept { return of_.of().withdraw(); }

    [[nodiscard]] waited<void> collect(std::optional<wait_error> early) noexcept {
        if (early) return std::unexpected{*early};
        return {};
    }

protected:
    settled_operation(settled_operation&&) noexcept = default;
    ~settled_operation() = default;

    consumer<T, E>& of_;
};

/// The same, and takes the result. After an early end the future has its result to come.
template <class T, class E>
class take_operation : public settled_operation<T, E> {
public:
    using settled_operation<T, E>::settled_operation;

    [[nodiscard]] awaited<T, E> collect(std::optional<wait_error> early) {
        if (early) return as_awaited<T, E>(*early);
        return as_awaited<T, E>(this->of_.take());
    }

protected:
    take_operation(take_operation&&) noexcept = default;
    ~take_operation() = default;
};

/// For `co_await` of either. As a branch of a select it ends without a mutex, as a join does. A
/// branch that has not ended leaves the future as it was.
template <class Operation>
class [[nodiscard]] future_wait final : public coro::task_wait<Operation> {
public:
    using coro::task_wait<Operation>::task_wait;

    /// @cond internal
    class as_branch final : public coro::told_branch<listener> {
    public:
        explicit as_branch(future_wait& wait) noexcept : wait_{wait} {}

        [[nodiscard]] time_point begin(coro::select_wait& of,
                                       sync::choice::branch number) override {
            this->begin_in(of, number);
            return wait_.deadline();
        }
        [[nodiscard]] bool try_enter() override {
            return wait_.of_.of().is_settled() && this->claim();
        }
        [[nodiscard]] bool enter() override { return this->entered(wait_.of_.of().attach(*this)); }
        [[nodiscard]] bool leave() noexcept override { return wait_.of_.of().withdraw(); }
        [[nodiscard]] auto collect(std::optional<wait_error> early) { return wait_.collect(early); }

    private:
        future_wait& wait_;
    };
    /// @endcond
};

/// Before this thread blocks until `is_there()`. Runs the continuations that the thread has queued,
/// and leaves the worker of a step to another thread. False: the thread need not wait.
template <class IsThere>
[[nodiscard]] bool may_block(IsThere is_there) {
    trampoline::run_queued();
    if (is_there()) return false;
    if (scheduler* const here = scheduler::current()) {
        FAIRLEAD_ASSERT(!here->runs_on_caller(),
                        "a wait that blocks the only thread of a scheduler: co_await the future");
        static_cast<void>(sched::access::about_to_block());
    }
    return true;
}

/// On this thread.
template <class T, class E>
[[nodiscard]] waited<void> wait_on_thread(consumer<T, E>& of, time_point deadline) {
    if (!may_block([&] { return of.of().is_settled(); })) return {};
    return coro::thread_of_wait<settled_operation<T, E>>{of}.run(deadline);
}

}  // namespace fairlead::futures
