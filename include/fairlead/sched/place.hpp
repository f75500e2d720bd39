// A place in the queue of a group with a bound, and the wait for one.
//
//     if (fl::place one = game.try_place()) std::move(one).post([] { ... });
//     fl::place one = co_await fl::place_in(game);
//     if (one) fl::spawn(std::move(one), session(std::move(stream))).detach();
//
// The second form waits, and gets no place if the task was asked to stop: coro/place_in.hpp.
//
// The bound counts tasks that were posted with a place and have not begun their first step. A task
// that is posted to the group itself, and a task that was asleep, need no place: the bound never
// holds up a task that has begun.
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
class place_waiter;
class places;
}  // namespace sched

/// The right to post one task. The destructor gives a right back that was not used. Any thread; one
/// at a time. A place keeps its group alive, and so must be gone before the scheduler.
class [[nodiscard]] place {
public:
    /// No place.
    place() = default;
    /// Takes over the right of `other`, which is none afterwards.
    place(place&& other) noexcept : of_{std::exchange(other.of_, nullptr)} {}
    /// Gives its own right back, and takes over that of `other`.
    place& operator=(place&& other) noexcept {
        if (this != &other) {
            give_back();
            of_ = std::exchange(other.of_, nullptr);
        }
        return *this;
    }
    ~place() { give_back(); }

    /// Whether there is a place: not after it was used or moved from.
    explicit operator bool() const noexcept { return of_ != nullptr; }

    /// The group of the place; there must be one.
    [[nodiscard]] executor where() const noexcept;

    /// Uses the place: posts the task as `executor::post` does. A group that drops its oldest tasks
    /// may drop this one: see `group_options`.
    void post(basic_task& task) && noexcept;

    /// The same for a copy of `callable`. Allocates one object; throws `std::bad_alloc`, and then
    /// the place is not used.
    template <std::invocable Callable>
        requires(!std::derived_from<std::remove_cvref_t<Callable>, basic_task>)
    void post(Callable&& callable) && {
        auto* const task =
            new sched::one_shot<std::decay_t<Callable>>(std::forward<Callable>(callable));
        std::move(*this).post(static_cast<basic_task&>(*task));
    }

private:
    friend class group;
    friend class sched::place_waiter;

    // The place is taken; in a group that drops its oldest tasks it is taken when it is used.
    explicit place(sched::group_state& of) noexcept;
    void give_back() noexcept {
        if (of_ != nullptr) give_back_taken();
    }
    void give_back_taken() noexcept;

    sched::group_state* of_ = nullptr;
};

namespace sched {

/// A wait for a place. Waits get places in the order of their beginning.
class place_waiter {
public:
    place_waiter() = default;
    place_waiter(const place_waiter&) = delete;
    place_waiter& operator=(const place_waiter&) = delete;

    /// True: the wait has begun, and `granted` will be called. False: there is a place already.
    [[nodiscard]] bool begin(group& of) noexcept;

    /// Ends the wait without a place. False: there is a place, or `granted` is about to be called.
    [[nodiscard]] bool withdraw() noexcept;

    /// The place that was granted; none after `withdraw`.
    [[nodiscard]] place take() noexcept { return std::exchange(granted_, {}); }

protected:
    /// Any thread calls it. The last touch of this object.
    virtual void granted() noexcept = 0;

    ~place_waiter() = default;

private:
    friend class places;

    void grant() noexcept;

    base::list_links<place_waiter> links_;  // in the line; then in a chain of waits to be told
    group_state* waits_for_ = nullptr;
    place granted_;
};

}  // namespace sched
}  // namespace fairlead
