// Calling functions in parallel inside a step, for work that computes and does not wait.
//
//     std::uint64_t sum(std::span<const std::uint64_t> of) {
//         if (of.size() < 1000) return std::accumulate(of.begin(), of.end(), std::uint64_t{0});
//         const std::size_t half = of.size() / 2;
//         const auto [left, right] = fl::parallel_invoke([&] { return sum(of.first(half)); },
//                                                        [&] { return sum(of.subspan(half)); });
//         return left + right;
//     }
#pragma once

#include <fairlead/detail/sched/offered_call.hpp>

#include <concepts>
#include <cstddef>
#include <exception>
#include <functional>
#include <iterator>
#include <optional>
#include <ranges>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

namespace fairlead {
namespace sched {

// What stands for the result of a call in a tuple: a value, or std::monostate.
template <class Function, class Result = std::invoke_result_t<Function&>>
using call_result =
    std::conditional_t<std::is_void_v<Result>, std::monostate, std::remove_cvref_t<Result>>;

template <class Function>
call_result<Function> result_of_call(Function& function) {
    if constexpr (std::is_void_v<std::invoke_result_t<Function&>>) {
        std::invoke(function);
        return {};
    } else {
        return std::invoke(function);
    }
}

template <class First, class Second>
using both_results = std::tuple<call_result<First>, call_result<Second>>;

template <class First, class Second>
both_results<First, Second> call_in_turn(First& first, Second& second) {
    call_result<First> left = result_of_call(first);
    return {std::move(left), result_of_call(second)};
}

template <class Function>
class call_offer final : public offered_call {
public:
    call_offer(const step_forks& here, Function& function) noexcept
        : offered_call{here}, function_{function} {}

    // Makes the call of the parent itself. If it throws, the offered one is not to be made.
    template <class First>
    call_result<First> call_beside(First& first, offered_forks& from) {
        try {
            return result_of_call(first);
        } catch (...) {
            drop(from);
            throw;
        }
    }

    // The call is made elsewhere.
    [[gnu::noinline]] call_result<Function> wait() {
        if (std::exception_ptr failure = join()) std::rethrow_exception(std::move(failure));
        return std::move(*left_);
    }

private:
    [[gnu::cold, gnu::noinline]] void drop(offered_forks& from) noexcept {
        if (!take_back(from)) static_cast<void>(join());
    }

    void call() override { left_.emplace(result_of_call(function_)); }

    Function& function_;
    std::optional<call_result<Function>> left_;
};

template <class First, class Second>
[[gnu::always_inline]] inline both_results<First, Second> call_offered(const step_forks& here,
                                                                       First& first,
                                                                       Second& second) {
    offered_forks& from = *here.offers;
    call_offer<Second> offer{here, second};
    if (!from.offer(offer)) [[unlikely]]
        return call_in_turn(first, second);
    if (from.must_open()) [[unlikely]]
        from.open_some();
    call_result<First> left = offer.call_beside(first, from);
    if (!offer.take_back(from)) [[unlikely]]
        return {std::move(left), offer.wait()};
    return {std::move(left), result_of_call(second)};
}

template <class First, class Second>
[[gnu::noinline]] both_results<First, Second> call_outermost(First& first, Second& second) {
    const outermost_call calls;
    if (calls.forks().offers == nullptr) return call_in_turn(first, second);
    return call_offered(calls.forks(), first, second);
}

template <class First, class Second>
both_results<First, Second> call_both(First& first, Second& second) {
    const step_forks here = forks_of_step();
    if (here.offers != nullptr) return call_offered(here, first, second);
    if (here.context != nullptr) return call_outermost(first, second);
    return call_in_turn(first, second);
}

// Those from `Begin` on, so many of them, by halves.
template <std::size_t Begin, std::size_t Count, class... Functions>
auto call_some(const std::tuple<Functions&...>& all) {
    if constexpr (Count == 1) {
        auto& only = std::get<Begin>(all);
        return std::tuple<call_result<std::remove_reference_t<decltype(only)>>>{
            result_of_call(only)};
    } else {
        constexpr std::size_t half = Count / 2;
        const auto front = [&all] { return call_some<Begin, half>(all); };
        const auto back = [&all] { return call_some<Begin + half, Count - half>(all); };
        auto [left, right] = call_both(front, back);
        return std::tuple_cat(std::move(left), std::move(right));
    }
}

// The elements [begin, begin + count), of which there are some.
template <class Iterator, class Function>
void call_for_range(Iterator begin, std::iter_difference_t<Iterator> count,
                    const Function& function) {
    if (count == 1) {
        std::invoke(function, *begin);
        return;
    }
    const auto half = count / 2;
    const auto front = [&] { call_for_range(begin, half, function); };
    const auto back = [&] { call_for_range(begin + half, count - half, function); };
    call_both(front, back);
}

}  // namespace sched

/// Calls both functions in parallel, and gives their results in order, `std::monostate` for `void`;
/// it copies a result that is a reference. The first is called here. The second is offered to
/// workers that have nothing else to do, and is called here after the first unless a worker has
/// taken it.
///
/// The caller blocks until both have returned. The functions may call `parallel_invoke` in turn,
/// as deep as the stack allows. While the caller waits for a function that another worker calls, it
/// calls functions that the other worker has offered meanwhile. Such a function may want a lock
/// that the caller holds, so hold none. The step of the caller lasts until the whole tree ends,
/// and other tasks of its worker wait: a computation that takes longer than a slice is for
/// `fork_join`, which lets them have their turn. `block_in_place` keeps the worker meanwhile.
///
/// Both functions are called here, one after the other, outside a step, with one worker, in a group
/// with a limit or bound to a worker, and in a step that has lost its slot to `block_in_place`.
///
/// Workers see as many of the oldest functions that a step has offered as there are other workers.
/// When they have taken these they see further ones only when the step offers or calls its next. So
/// functions that take long should be offered by the outermost calls.
///
/// If the first throws, the second is not called unless it was taken, and the exception of the
/// second is dropped. An exception leaves once both have returned. Allocates nothing.
template <class First, class Second>
    requires std::invocable<First&> && std::invocable<Second&>
std::tuple<sched::call_result<First>, sched::call_result<Second>> parallel_invoke(First&& first,
                                                                                  Second&& second) {
    return sched::call_both(first, second);
}

/// The same for more functions, by halves: for four it is `parallel_invoke` of two that call it for
/// two each.
template <class... Functions>
    requires(sizeof...(Functions) > 2 && (std::invocable<Functions&> && ...))
std::tuple<sched::call_result<Functions>...> parallel_invoke(Functions&&... functions) {
    return sched::call_some<0, sizeof...(Functions)>(
        std::tuple<std::remove_reference_t<Functions>&...>{functions...});
}

/// Calls `function(element)` for each element in parallel, as `parallel_invoke` calls functions: it
/// halves the range again and again, down to one element. So each call should take a microsecond or
/// more. `for_each` is for loops of small bodies, and for loops that let other tasks have their
/// turn. Several workers call `function` at once, as a constant. When a call throws, halves that a
/// worker has taken are called to their end.
template <std::ranges::random_access_range Elements, class Function>
    requires std::ranges::sized_range<Elements> &&
             std::invocable<const Function&, std::ranges::range_reference_t<Elements>>
void parallel_for_each(Elements&& elements, const Function& function) {
    const auto size =
        static_cast<std::ranges::range_difference_t<Elements>>(std::ranges::size(elements));
    if (size != 0) sched::call_for_range(std::ranges::begin(elements), size, function);
}

}  // namespace fairlead
