// Waits and continuations of a shared future. Each keeps the shared result while it waits.
#pragma once

#include <fairlead/detail/coro/task_wait.hpp>
#include <fairlead/detail/future/future_wait.hpp>
#include <fairlead/detail/future/shared_state.hpp>

#include <expected>
#include <optional>
#include <utility>

namespace fairlead::futures {

/// Until the result is there.
template <class T, class E>
class shared_settled_operation : public coro::operation_on<sync::line> {
public:
    explicit shared_settled_operation(share<T, E> of) noexcept
        : operation_on{of.of().is_there(), 1U, 0U}, of_{std::move(of)} {}

protected:
    shared_settled_operation(shared_settled_operation&&) noexcept = default;
    ~shared_settled_operation() = default;

    share<T, E> of_;
};

/// The same, and copies the result.
template <class T, class E>
class copy_operation : public shared_settled_operation<T, E> {
public:
    using shared_settled_operation<T, E>::shared_settled_operation;

    [[nodiscard]] awaited<T, E> collect(std::optional<wait_error> early) {
        const auto there = shared_settled_operation<T, E>::collect(early);
        if (!there) return as_awaited<T, E>(there.error());
        return as_awaited<T, E>(std::expected<T, E>{this->of_.of().result()});
    }

protected:
    copy_operation(copy_operation&&) noexcept = default;
    ~copy_operation() = default;
};

/// A future of a copy of the result.
template <class T, class E>
class copied final : public pair<T, E>, continuation {
public:
    explicit copied(share<T, E> of) noexcept : of_{std::move(of)}, wait_{*this} {}

    void start() noexcept {
        if (!of_.of().is_there().enter(wait_)) this->tell();
    }

private:
    class line_wait final : public sync::line_waiter {
    public:
        explicit line_wait(continuation& next) noexcept : line_waiter{1U, 0U}, next_{next} {}

    private:
        void tell() noexcept override { next_.tell(); }

        continuation& next_;
    };

    void run() noexcept override {
        try {
            this->emplace(std::expected<T, E>{of_.of().result()});
        } catch (...) {
            this->fail_with_current_exception();
        }
        of_ = {};
        this->settle();
    }
    void abandon() noexcept override { run(); }

    share<T, E> of_;
    line_wait wait_;
};

}  // namespace fairlead::futures
