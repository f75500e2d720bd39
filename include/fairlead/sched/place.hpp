// A place in the queue of a group with a bound, and who waits for one.
//
//     if (fl::place one = game.try_place()) std::move(one).post([] { ... });
//     if (fl::place one = co_await fl::place_in(game)) fl::spawn(std::move(one), session(std::move(stream))).detach();
//
// The second waits, and gets none if it was asked to stop: coro/place_in.hpp.
//
// The bound is of tasks that were posted so and have not begun their first step. What is posted to the group itself, and
// tasks that were asleep, need no place: a task that has begun is never held up by the bound.
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

/// The right to post one task. If it is not used, its destructor gives it back. Any thread; one at a time. It keeps its group,
/// and so must be gone before the scheduler.
class [[nodiscard]] place {
public:
    /// None.
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

    /// Whether it is one.
    explicit operator bool() const noexcept { return of_ != nullptr; }

    /// The group that it is a place of; it must be one.
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
    friend class sched::place_waiter;

    // It is taken. Of a group that drops its oldest tasks it is when it is used.
    explicit place(sched::group_state& of) noexcept;
    void give_back() noexcept {
        if (of_ != nullptr) give_back_taken();
    }
    void give_back_taken() noexcept;

    sched::group_state* of_ = nullptr;
};

namespace sched {

/// Who waits for a place, in the order of coming.
class place_waiter {
public:
    place_waiter() = default;
    place_waiter(const place_waiter&) = delete;
    place_waiter& operator=(const place_waiter&) = delete;

    /// True: it waits, and `granted` will be called. False: it has a place.
    [[nodiscard]] bool begin(group& of) noexcept;

    /// It goes without one. False: it has one, or `granted` is about to be called.
    [[nodiscard]] bool withdraw() noexcept;

    /// What it was granted; none if it went.
    [[nodiscard]] place take() noexcept { return std::exchange(granted_, {}); }

protected:
    /// Any thread. The last touch of it.
    virtual void granted() noexcept = 0;

    ~place_waiter() = default;

private:
    friend class places;

    void grant() noexcept;

    base::list_links<place_waiter>
        links_;  // in the line; then in a chain of those that are to be told
    group_state* waits_for_ = nullptr;
    place granted_;
};

}  // namespace sched
}  // namespace fairlead
