// A select: a task waits for the first of several things, and takes exactly that one.
//
//     auto selected = co_await fl::select(
//         fl::on(jobs.receive(), [&](fl::waited<job> next) { ... }),
//         fl::on(results.send(std::move(done)), [&](fl::waited<void> sent) { ... }),
//         fl::on(child.join(), [&](fl::waited<int> result) { ... }),
//         fl::on(fl::sleep_for(1s), [&] { ... }));
//     if (!selected) co_return;  // the task was asked to stop
//
// The branches are waits of the library: for channels, broadcasts, watched values and pipelines;
// permits, semaphores, mutexes, events and latches; joins of tasks; results of futures; sleeps and
// intervals; and one read or write of a stream or a socket, or a wait for a descriptor. The handler
// of the branch that has ended is called with the result of its wait. Every other branch is
// as if it had never been tried: no element is taken, a value that was not sent is unchanged, no
// permit is held, a future has its result to come, and a place in a FIFO is given up. So nothing is
// lost, whatever happens at the same time.
//
// A branch with a deadline ends as `expired` when that has passed. A closed channel ends its branch
// at once, as `closed`: to go on without it, disable the branch with `on_if`.
//
// Costs: if a branch can end at once, the attempts up to that one. Otherwise an attempt, a lock to
// wait and a lock to leave for each branch. No allocation.
//
// Spec: Select in spec/MAP.md.
#pragma once

#include <fairlead/coro/waited.hpp>
#include <fairlead/detail/coro/select_wait.hpp>

#include <array>
#include <cstddef>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

namespace fairlead {
namespace coro {

template <class Wait>
concept has_branch = requires { typename std::remove_cvref_t<Wait>::as_branch; };

// An object that is awaited itself, such as a future.
template <class Object>
using wait_of = decltype(std::declval<Object>().operator co_await());
template <class Object>
concept awaited_by_branch =
    !has_branch<Object> && requires { requires has_branch<wait_of<Object>>; };

template <class Wait>
concept selectable = has_branch<Wait> || awaited_by_branch<Wait>;

// The branch that a wait is; of an object that is awaited itself, with the wait.
template <class Wait>
struct branch_holder {
    explicit branch_holder(Wait&& wait) : branch{wait} {}

    std::remove_cvref_t<Wait>::as_branch branch;
};
template <awaited_by_branch Object>
struct branch_holder<Object> {
    explicit branch_holder(Object&& object)
        : wait(std::forward<Object>(object).operator co_await()), branch{wait} {}

    wait_of<Object> wait;
    wait_of<Object>::as_branch branch;
};

template <class Wait>
using branch_of = decltype(branch_holder<Wait>::branch);

template <class Branch>
using wait_result = decltype(std::declval<Branch&>().collect(std::nullopt));

template <class Handler, class Result>
struct handler_result : std::invoke_result<Handler, Result> {};
template <class Handler>
struct handler_result<Handler, void> : std::invoke_result<Handler> {};

// Whether a branch of this wait can call it.
template <class Handler, class Wait>
concept handler_of =
    requires { typename handler_result<Handler, wait_result<branch_of<Wait>>>::type; };

// Whether there is a type for the result of any of them.
template <class... Cases>
concept of_common_result = requires { typename std::common_type_t<typename Cases::result...>; };

#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ < 13
template <class Handler>
inline constexpr bool survives_gcc12 =
    std::is_lvalue_reference_v<Handler> || std::is_trivially_destructible_v<Handler>;
#else
template <class Handler>
inline constexpr bool survives_gcc12 = true;
#endif

// What `on` gives: references, for the expression of the select. `Wait` is a reference if the wait
// was passed as an lvalue.
template <class Wait, class Handler>
struct select_case {
    // Not an aggregate: see survives_gcc12.
    select_case(Wait&& of, Handler&& with, bool enabled)
        : wait(std::forward<Wait>(of)), handler(std::forward<Handler>(with)), is_enabled{enabled} {}

    Wait&& wait;
    Handler handler;
    bool is_enabled;
};

// A branch and its handler.
template <class Wait, class Handler>
class select_arm {
    using branch = branch_of<Wait>;

public:
    explicit select_arm(select_case<Wait, Handler>&& from)
        : holder_{std::forward<Wait>(from.wait)},
          handler_(std::forward<Handler>(from.handler)),
          is_enabled_{from.is_enabled} {}

    [[nodiscard]] select_branch& as_branch() noexcept { return holder_.branch; }
    [[nodiscard]] bool is_enabled() const noexcept { return is_enabled_; }

    using result = handler_result<Handler, wait_result<branch>>::type;

    result handle(std::optional<wait_error> early) {
        if constexpr (std::is_void_v<wait_result<branch>>) {
            holder_.branch.collect(early);
            return std::invoke(std::forward<Handler>(handler_));
        } else {
            return std::invoke(std::forward<Handler>(handler_), holder_.branch.collect(early));
        }
    }

private:
    branch_holder<Wait> holder_;
    Handler handler_;
    const bool is_enabled_;
};

template <class... Arms>
using select_result = waited<std::common_type_t<typename Arms::result...>>;

template <class... Arms>
class [[nodiscard]] select_awaiter final : public select_wait {
public:
    using refers_to_its_expression = void;

    template <class... Cases>
    explicit select_awaiter(bool in_order, Cases&&... cases)
        : select_wait{branches_, in_order}, arms_{std::forward<Cases>(cases)...} {
        std::apply(
            [this](Arms&... arms) {
                std::size_t each = 0;
                ((branches_[each++] = &arms.as_branch()), ...);
                (set_enabled(arms.as_branch(), arms.is_enabled()), ...);
            },
            arms_);
    }

    [[nodiscard]] select_result<Arms...> await_resume() { return handle<0>(ended()); }

private:
    template <std::size_t Index>
    [[nodiscard]] select_result<Arms...> handle(number which) {
        if constexpr (Index == sizeof...(Arms)) {
            return std::unexpected{*early()};
        } else {
            if (which != Index) return handle<Index + 1>(which);
            auto& arm = std::get<Index>(arms_);
            if constexpr (std::is_void_v<typename select_result<Arms...>::value_type>) {
                arm.handle(early());
                return {};
            } else {
                return arm.handle(early());
            }
        }
    }

    std::array<select_branch*, sizeof...(Arms)> branches_{};
    std::tuple<Arms...> arms_;
};

}  // namespace coro

/// A branch of a select: when `wait` ends, `handler` is called with its result. `wait` is what
/// `co_await` would wait for, such as `jobs.receive()` or `std::move(future)`; if that has no
/// result, as a sleep, the handler has no parameter. What the wait throws leaves the select.
/// The handler is called once; a handler that has a name is not copied. If `condition` does not
/// hold, the branch does not exist for this select.
template <class Wait, class Handler>
[[nodiscard]] auto on_if(bool condition, Wait&& wait, Handler&& handler) {
    static_assert(coro::selectable<Wait>,
                  "a branch of a select is a wait of the library, such as channel.receive() or "
                  "std::move(future): for anything else spawn a task, and join that");
    static_assert(coro::survives_gcc12<Handler>,
                  "GCC 12 destroys a temporary with a destructor in the operand of co_await twice: "
                  "give the handler a name, or let it capture by reference");
    static_assert(coro::handler_of<Handler, Wait>,
                  "the handler of a branch takes what its wait gives, such as waited<T>; that of a "
                  "sleep takes nothing");
    return coro::select_case<Wait, Handler>{std::forward<Wait>(wait),
                                            std::forward<Handler>(handler), condition};
}

/// The same without a condition.
template <class Wait, class Handler>
[[nodiscard]] auto on(Wait&& wait, Handler&& handler) {
    return fairlead::on_if(true, std::forward<Wait>(wait), std::forward<Handler>(handler));
}

/// Waits for the first branch that ends, and calls its handler, on the worker of the task:
/// `waited<R>`, which is what the handler has returned, or `stopped` if the task was asked to stop,
/// or `overdue`; then no handler was called. `R` is the common type of the results of the handlers.
/// If several branches can end, it is the first one of them, beginning at another branch for each
/// select of the task, by a fixed sequence; so no branch is starved by another, also if the task
/// has several selects. Rethrows what the handler throws. If all
/// branches are disabled it waits for a stop.
///
/// To be awaited in the expression that makes it. At most 255 branches, and one of them a read or
/// a write of a stream.
template <class... Waits, class... Handlers>
[[nodiscard]] auto select(coro::select_case<Waits, Handlers>&&... cases) {
    static_assert(sizeof...(cases) > 0 && sizeof...(cases) < 255);
    static_assert(coro::of_common_result<coro::select_arm<Waits, Handlers>...>,
                  "the handlers of a select give results of a common type, or all give none");
    return coro::select_awaiter<coro::select_arm<Waits, Handlers>...>{false, std::move(cases)...};
}

/// The same, biased: of several branches that can end it is the first in the order of the call. A
/// branch that can always end starves those behind it.
template <class... Waits, class... Handlers>
[[nodiscard]] auto select_in_order(coro::select_case<Waits, Handlers>&&... cases) {
    static_assert(sizeof...(cases) > 0 && sizeof...(cases) < 255);
    static_assert(coro::of_common_result<coro::select_arm<Waits, Handlers>...>,
                  "the handlers of a select give results of a common type, or all give none");
    return coro::select_awaiter<coro::select_arm<Waits, Handlers>...>{true, std::move(cases)...};
}

}  // namespace fairlead
