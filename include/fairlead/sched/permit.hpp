// A permit in the queue of a group with a bound, and the wait for one.
//
//     if (fl::permit one = game.try_permit()) std::move(one).post([] { ... });
//     fl::waited<fl::permit> one = co_await fl::permit_in(game);
//     if (one) fl::spawn(std::move(*one), session(std::move(stream))).detach();
//
// The second form waits; a stop or a deadline ends the wait without a permit: coro/permit_in.hpp.
//
// The bound counts tasks that were posted with a permit and have not begun their first step. A task
// that is posted to the group itself, and a task that was asleep, need no permit: the bound never
// holds up a task that has begun.
#pragma once

#include <fairlead/detail/sync/line.hpp>
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
}  // namespace sched

/// The right to post one task. The destructor gives a right back that was not used. Any thread; one
/// at a time. A permit keeps its group alive, and so must be gone before the scheduler.
class [[nodiscard]] permit {
public:
    /// No permit.
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

    /// Whether there is a permit: not after it was used or moved from.
    explicit operator bool() const noexcept { return of_ != nullptr; }

    /// The group of the permit; there must be one.
    [[nodiscard]] executor where() const noexcept;

    /// Uses the permit: posts the task as `executor::post` does. A group that drops its oldest
    /// tasks may drop this one: see `group_options`.
    void post(basic_task& task) && noexcept;

    /// The same for a copy of `callable`. Allocates one object; throws `std::bad_alloc`, and then
    /// the permit is not used.
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

    // The permit is taken; in a group that drops its oldest tasks it is taken when it is used.
    explicit permit(sched::group_state& of) noexcept;
    void give_back() noexcept {
        if (of_ != nullptr) give_back_taken();
    }
    void give_back_taken() noexcept;

    sched::group_state* of_ = nullptr;
};

namespace sched {

/// A wait for a permit. Waits get permits in the order of their beginning.
class permit_waiter : protected sync::line_waiter {
public:
    permit_waiter() = default;
    permit_waiter& operator=(const permit_waiter&) = delete;

    /// True: the wait has begun, and `tell` will be called. False: there is a permit already; or it
    /// is a branch of a select that has ended.
    [[nodiscard]] bool begin(group& of) noexcept;

    /// Gets a permit at once, and claims a branch of a select. False: it would have to wait.
    [[nodiscard]] bool try_begin(group& of) noexcept;

    /// Ends the wait without a permit. False: there is a permit, or `tell` is about to be called.
    [[nodiscard]] bool withdraw() noexcept;

    /// The permit that was granted; none before that, and after `withdraw`.
    [[nodiscard]] permit take() noexcept;

protected:
    /// Before it has begun.
    permit_waiter(permit_waiter&&) noexcept = default;
    /// Gives back a permit that was not taken.
    ~permit_waiter() { static_cast<void>(take()); }

private:
    void hold(group& of) noexcept;

    // From `begin` until `withdraw` or `take`, and kept alive meanwhile.
    group_state* waits_for_ = nullptr;
};

}  // namespace sched
}  // namespace fairlead
