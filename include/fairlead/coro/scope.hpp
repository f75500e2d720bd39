// A scope: a set of child tasks that ends before the block that owns it does.
#pragma once

#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/stopped.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/sync/mutex.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <type_traits>
#include <utility>

namespace fairlead {

class scope;

namespace coro {

class scope_child final : public root, public sync::recycled {
public:
    scope_child(scope& owner, scheduler& home, task<> body, const char* name, std::uint32_t depth)
        : root{home, name, depth}, owner_{owner}, body_{std::move(body)} {
        body_.start_on(*this);
    }

private:
    friend class fairlead::scope;

    void on_end() noexcept override;
    void on_abandon() noexcept override;

    scope& owner_;
    task<> body_;
    scope_child* previous_ = nullptr;  // the children of the scope, under its mutex
    scope_child* following_ = nullptr;
};

}  // namespace coro

/// Spawns child tasks and waits for all of them:
///
///     fl::scope sessions{scheduler};
///     sessions.spawn(session(std::move(stream)));
///     co_await sessions.join();
///
/// Every child has ended when `join` returns; the scope must have been joined before it is destroyed
/// (`with_scope` sees to that). When a child throws, the others are asked to stop, nothing new is
/// started, and `join` rethrows the first exception. A stop of the joining task is passed on, whether
/// it comes during the join or came before.
///
/// A scheduler that is destroyed gives back the children before their owner. If one of them may have
/// gone to another scheduler by then, which goes on running it, use `with_scope`: it keeps the owner
/// until the child has ended, whatever the owner waits for.
class scope final : public coro::awaited_operation {
public:
    explicit scope(scheduler& home) noexcept : home_{home} {}
    scope(const scope&) = delete;
    scope& operator=(const scope&) = delete;
    ~scope() {
        FAIRLEAD_ASSERT(children_ == nullptr,
                        "a scope was destroyed with running children: co_await its join(), or "
                        "use with_scope");
    }

    /// Starts a child. Any thread, while the scope is not joined. False: the scope was asked to stop,
    /// and the child was not started. Allocates one object. `name` must have static storage.
    bool spawn(task<> body, const char* name = "scope child") {
        auto* const started = new coro::scope_child{
            *this, home_, std::move(body), name, std::max(depth_, scheduler::depth_of_new_task())};
        {
            std::lock_guard lock{mutex_};
            if (!stopping_) {
                started->following_ = children_;
                if (children_ != nullptr) children_->previous_ = started;
                children_ = started;
                ++size_;
                home_.post(*started);  // under the mutex: a stop must find it posted or not at all
                return true;
            }
        }
        delete started;
        return false;
    }

    /// Asks all children to stop, and starts no more. Any thread, while the scope is not joined.
    void request_stop() noexcept {
        std::lock_guard lock{mutex_};
        stop_all();
    }

    /// How many children have not ended. Any thread.
    [[nodiscard]] std::size_t size() const noexcept {
        std::lock_guard lock{mutex_};
        return size_;
    }

    class joining {
    public:
        explicit joining(scope& owner) noexcept : owner_{owner} {}
        [[nodiscard]] bool await_ready() const noexcept { return false; }
        template <coro::on_a_root Promise>
        [[nodiscard]] bool await_suspend(std::coroutine_handle<Promise> leaf) noexcept {
            coro::root& bottom = *leaf.promise().bottom;
            std::lock_guard lock{owner_.mutex_};
            if (owner_.children_ == nullptr) return false;
            // Also one that has ended a wait of the joiner before, such as that for the next child.
            if (bottom.stop_requested()) owner_.stop_all();
            owner_.joiner_ = &bottom;
            bottom.wait_at(leaf, leaf.promise(), coro::root::until::completion, never);
            bottom.await_operation(owner_);
            return true;
        }
        void await_resume() const {
            if (owner_.failure_) std::rethrow_exception(std::exchange(owner_.failure_, nullptr));
        }

    private:
        scope& owner_;
    };

    /// Waits until every child has ended.
    [[nodiscard]] joining join() noexcept { return joining{*this}; }

private:
    friend class coro::scope_child;

    void pass_stop_on() noexcept override { request_stop(); }

    // Requires mutex_. Children are in the list until their end, so they exist.
    void stop_all() noexcept {
        stopping_ = true;
        for (auto* child = children_; child != nullptr; child = child->following_) {
            child->request_stop();
        }
    }

    [[nodiscard]] bool outlasts(coro::root& holder) noexcept override {
        std::lock_guard lock{mutex_};
        if (children_ == nullptr) return false;
        stop_all();  // nobody else would ask them
        joiner_ = &holder;
        return true;
    }

    // The last touch of the scope by a child, which it frees.
    void child_ended(coro::scope_child& child, std::exception_ptr failure) noexcept {
        coro::root* to_tell = nullptr;
        {
            std::lock_guard lock{mutex_};
            if (child.previous_ != nullptr) child.previous_->following_ = child.following_;
            if (child.following_ != nullptr) child.following_->previous_ = child.previous_;
            if (children_ == &child) children_ = child.following_;
            --size_;
            if (failure != nullptr) {
                if (coro::gives_way(failure_)) failure_ = std::move(failure);
                stop_all();
            }
            if (children_ == nullptr) to_tell = std::exchange(joiner_, nullptr);
        }
        delete &child;
        if (to_tell != nullptr) to_tell->complete();
    }

    scheduler& home_;
    const std::uint32_t depth_ = scheduler::depth_of_new_task();  // children go before their owner
    mutable sync::mutex mutex_;
    coro::scope_child* children_ = nullptr;  // guarded by mutex_
    std::size_t size_ = 0;                   // guarded by mutex_
    bool stopping_ = false;                  // guarded by mutex_
    coro::root* joiner_ = nullptr;           // guarded by mutex_
    std::exception_ptr failure_;             // guarded by mutex_ until all children have ended
};

inline void coro::scope_child::on_end() noexcept {
    std::exception_ptr failure = body_.outcome().failure();
    body_ = {};  // its parameters may refer to what the joiner destroys next
    owner_.child_ended(*this, std::move(failure));
}

inline void coro::scope_child::on_abandon() noexcept { owner_.child_ended(*this, nullptr); }

/// Runs `body(scope)`, a callable that returns a `task<>`, and joins the scope whatever happens: an
/// exception that leaves the body asks the children to stop, and is rethrown after they have ended.
template <class Body>
    requires std::is_invocable_r_v<task<>, Body&, scope&>
task<> with_scope(Body body) {
    auto& holder =
        co_await coro::root_question{[](coro::root& self) noexcept -> auto& { return self; }};
    scope children{holder.home()};
    const coro::held_operation held{holder, children};
    std::exception_ptr failure;
    try {
        co_await body(children);
    } catch (...) {
        failure = std::current_exception();
        children.request_stop();
    }
    try {
        co_await children.join();
    } catch (...) {
        if (coro::gives_way(failure)) failure = std::current_exception();
    }
    if (failure != nullptr) std::rethrow_exception(failure);
}

}  // namespace fairlead
