// A permit in the queue of a group with a bound, and who waits for one.
//
//     if (fl::permit one = game.try_permit()) std::move(one).post([] { ... });
//     if (fl::permit one = co_await fl::permit_in(game)) fl::spawn(std::move(one), session(std::move(stream))).detach();
//
// The second waits, and gets none if it was asked to stop: coro/permit_in.hpp.
//
// The bound is of tasks that were posted so and have not begun their first step. What is posted to the group itself, and
// tasks that were asleep, need no permit: a task that has begun is never held up by the bound.
#pragma once

#include <fairlead/base/list.hpp>
#include <fairlead/sched/executor.hpp>
#include <fairlead/sched/scheduler.hpp>

#include <concepts>
#include <memory>
#include <type_traits>
#include <utility>

namespace fairlead {

class group;

namespace sched {
class group_state;
class permit_waiter;
class permits;
}  // namespace sched

/// The right to post one task. If it is not used, its destructor gives it back. Any thread; one at a time. It keeps its group,
/// and so must be gone before the scheduler.
class [[nodiscard]] permit {
public:
    /// None.
    permit() = default;
    /// Takes over the right of `other`, which is none afterwards.
    permit(permit&& other) noexcept : of_{std::exchange(other.of_, nullptr)} {}
    /// Gives its own right back, and takes over that of `other`.
    permit& operator=(permit&& other) noexcept {
        if (this != &other) {
            give_back();
            of_ = std::exchange(other.of_, nullptr);
        }
        return *this;
    }
    ~permit() { give_back(); }

    /// Whether it is one.
    explicit operator bool() const noexcept { return of_ != nullptr; }

    /// The group that it is a permit of; it must be one.
    [[nodiscard]] executor where() const noexcept;

    /// Uses it, as `executor::post` does. If the group drops its oldest tasks, this may be one: see `group_options`.
    void post(basic_task& task) && noexcept;

    /// Likewise. Throws `std::bad_alloc`, and is not used then.
    template <std::invocable Callable>
        requires(!std::derived_from<std::remove_cvref_t<Callable>, basic_task>)
    void post(Callable&& callable) && {
        auto* const task =
            new sched::one_shot<std::decay_t<Callable>>(std::forward<Callable>(callable));
        std::move(*this).post(static_cast<basic_task&>(*task));
    }

private:
    friend class group;
    friend class sched::permit_waiter;

    // It is taken. Of a group that drops its oldest tasks it is when it is used.
    explicit permit(sched::group_state& of) noexcept;
    void give_back() noexcept {
        if (of_ != nullptr) give_back_taken();
    }
    void give_back_taken() noexcept;

    sched::group_state* of_ = nullptr;
};

namespace sched {

/// Who waits for a permit, in the order of coming.
class permit_waiter {
public:
    permit_waiter() = default;
    permit_waiter(const permit_waiter&) = delete;
    permit_waiter& operator=(const permit_waiter&) = delete;

    /// True: it waits, and `granted` will be called. False: it has a permit.
    [[nodiscard]] bool begin(group& of) noexcept;

    /// It goes without one. False: it has one, or `granted` is about to be called.
    [[nodiscard]] bool withdraw() noexcept;

    /// What it was granted; none if it went.
    [[nodiscard]] permit take() noexcept { return std::exchange(granted_, {}); }

protected:
    /// Any thread. The last touch of it.
    virtual void granted() noexcept = 0;

    ~permit_waiter() = default;

private:
    friend class permits;

    void grant() noexcept;

    base::list_links<permit_waiter>
        links_;  // in the line; then in a chain of those that are to be told
    group_state* waits_for_ = nullptr;
    permit granted_;
};

}  // namespace sched
}  // namespace fairlead
