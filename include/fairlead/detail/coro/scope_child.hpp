// The children of a scope: the root of each, and what the scope keeps of it.
#pragma once

#include <fairlead/coro/task.hpp>
#include <fairlead/detail/coro/loose_fork.hpp>
#include <fairlead/detail/coro/root.hpp>
#include <fairlead/detail/coro/stop_on_token.hpp>
#include <fairlead/detail/sync/recycler.hpp>

#include <cstdint>
#include <stop_token>
#include <utility>

namespace fairlead {

class scope;

namespace coro {

class scope_child : public root, public sync::recycled {
public:
    scope_child(scope& owner, executor where, task<> body, task_label label, std::uint32_t depth,
                context_word context)
        : root{where, label, depth, context}, owner_{owner}, body_{std::move(body)} {
        body_.start_on(*this);
    }
    virtual ~scope_child() = default;

protected:
    [[nodiscard]] scope& owner() const noexcept { return owner_; }

    void on_end() noexcept override;
    void on_abandon() noexcept override;

private:
    friend class fairlead::scope;

    void fail() noexcept;

    [[nodiscard]] bool refuse(const std::exception_ptr& failure) noexcept final {
        body_.outcome().fail(failure);
        return true;
    }

    bool is_listed_ = false;  // first, where the base has room left
    scope& owner_;
    task<> body_;
    scope_child* previous_ = nullptr;  // the children of the scope, under its mutex
    scope_child* following_ = nullptr;
};

// A child that a token asks to stop.
class scope_child_with_token final : public scope_child {
public:
    scope_child_with_token(scope& owner, executor where, task<> body, std::stop_token stop,
                           task_label label, std::uint32_t depth, context_word context)
        : scope_child{owner, where, std::move(body), label, depth, context},
          on_stop_{*this, std::move(stop)} {}

private:
    void on_end() noexcept override {
        on_stop_.reset();
        scope_child::on_end();
    }
    void on_abandon() noexcept override {
        on_stop_.reset();
        scope_child::on_abandon();
    }

    stop_on_token on_stop_;
};

class forked_scope_child final : public scope_child, public loose_fork {
public:
    forked_scope_child(scope& owner, executor where, task<> body, task_label label,
                       std::uint32_t depth, context_word context)
        : scope_child{owner, where, std::move(body), label, depth, context},
          loose_fork{static_cast<root&>(*this)} {}

private:
    void begin_here() noexcept override;
    void become_task() noexcept override;
};

}  // namespace coro

}  // namespace fairlead
