// Calls that are made again when they fail.
#pragma once

#include <fairlead/base/time.hpp>
#include <fairlead/combine/retry_budget.hpp>
#include <fairlead/combine/retry_policy.hpp>
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/stopped.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/coro/waited.hpp>
#include <fairlead/detail/base/assert.hpp>
#include <fairlead/detail/coro/as_task.hpp>
#include <fairlead/detail/coro/child_group.hpp>

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

namespace fairlead {

inline duration retry_policy::delay_before(std::uint32_t number, time_point begun) const noexcept {
    const auto longest = static_cast<double>(longest_delay.count());
    auto delay = static_cast<double>(first_delay.count());
    double power = factor;
    for (std::uint32_t left = number - 1; left != 0 && delay < longest; left /= 2) {
        if (left % 2 != 0) delay *= power;
        power *= power;
    }
    delay = std::min(delay, longest);
    // SplitMix64 of Steele, Lea and Flood.
    std::uint64_t mixed = seed ^ static_cast<std::uint64_t>(begun.time_since_epoch().count());
    mixed += 0x9e3779b97f4a7c15 * (std::uint64_t{number} + 1);
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
    mixed ^= mixed >> 31;
    const double part = static_cast<double>(mixed >> 11) * 0x1p-53;  // from 0 to 1
    // Saturates, as a long delay of a policy without a bound must.
    return time_span{std::chrono::duration<double, std::nano>{delay * (1 - jitter * part)}};
}

/// @cond internal
namespace combine {

// Every failure is worth another attempt.
struct any_failure {
    bool operator()(const auto&) const noexcept { return true; }
};

// The attempts of one call: when the next one may begin.
class attempts {
public:
    attempts(const retry_policy& policy, coro::root& caller) noexcept
        : policy_{policy}, caller_{caller}, begun_{caller.home().now()} {
        FAIRLEAD_ASSERT(policy.attempts != 0, "retry with no attempt");
        if (policy.budget != nullptr) policy.budget->deposit();
    }

    // Of the attempt that runs, from 1.
    [[nodiscard]] std::uint32_t number() const noexcept { return number_; }

    // An attempt has failed. When the next one is to begin; none: there is none.
    [[nodiscard]] std::optional<time_point> next() noexcept {
        if (number_ == policy_.attempts || caller_.ends_waits()) return std::nullopt;
        const time_point due = after(caller_.home().now(), policy_.delay_before(number_, begun_));
        if (due > after(begun_, policy_.total) || due > caller_.context().deadline())
            return std::nullopt;
        if (policy_.budget != nullptr && !policy_.budget->try_take()) return std::nullopt;
        ++number_;
        return due;
    }

private:
    const retry_policy& policy_;
    coro::root& caller_;
    const time_point begun_;
    std::uint32_t number_ = 1;
};

template <class Make>
auto make_attempt(Make& make, std::uint32_t number) {
    if constexpr (std::invocable<Make&, std::uint32_t>) {
        return make(number);
    } else {
        return make();
    }
}

template <class Make>
using attempt_result = coro::awaited_t<decltype(make_attempt(std::declval<Make&>(), 1U))>;

// Whether an attempt has failed, and may be made again. A stop is no failure.
template <class RetryIf, class T>
bool is_worth(RetryIf& retry_if, const coro::result<T>& ended) {
    if (const std::exception_ptr failure = ended.failure(); failure != nullptr) {
        if (coro::is_stop(failure)) return false;
        if constexpr (std::predicate<RetryIf&, const std::exception_ptr&>) return retry_if(failure);
    } else if constexpr (coro::is_expected<T>) {
        using error = typename T::error_type;
        if (ended.value().has_value()) return false;
        if constexpr (std::same_as<error, wait_error>) {
            if (ended.value().error() == wait_error::stopped) return false;
        }
        if constexpr (std::predicate<RetryIf&, const error&>)
            return retry_if(ended.value().error());
    }
    return false;
}

}  // namespace combine
/// @endcond

/// Awaits `make()`, or `make(number)` with the number of the attempt from 1, which gives a task or
/// any other awaitable; and awaits a new one when it fails, as `policy` says. Gives the result of
/// the first success, or fails as the last attempt has.
///
/// An attempt fails by an exception, or by an error if its result is a `std::expected`.
/// `retry_if(failure)` says whether a failure is worth another attempt: a callable that takes
/// `const std::exception_ptr&`, or `const E&` of the error, or either. A kind of failure that it
/// does not take is not tried again. By default every failure is worth one.
///
/// No delay begins that would end after the deadline of the context: the last failure is given at
/// once. A stop is no failure: it is not tried again, and ends a delay with `stopped_error`. What
/// `retry_if` throws leaves `retry`. The attempts run in the calling task. To bound an attempt, let
/// `make` return a `with_timeout`; to bound the whole call, put the `retry` into one.
///
///     co_await fl::retry({}, [&] { return fl::with_timeout(store.load(key), 1s); });
template <class Make, class RetryIf = combine::any_failure>
[[nodiscard]] task<combine::attempt_result<Make>> retry(retry_policy policy, Make make,
                                                        RetryIf retry_if = {}) {
    using result = combine::attempt_result<Make>;
    coro::root& self = co_await coro::running_root();
    combine::attempts attempts{policy, self};
    for (;;) {
        coro::result<result> ended;
        try {
            if constexpr (std::is_void_v<result>) {
                co_await combine::make_attempt(make, attempts.number());
            } else {
                ended.return_value(co_await combine::make_attempt(make, attempts.number()));
            }
        } catch (...) {
            ended.unhandled_exception();
        }
        std::optional<time_point> next;
        if (combine::is_worth(retry_if, ended)) next = attempts.next();
        if (!next) co_return ended.take();
        co_await sleep_until(*next);
    }
}

}  // namespace fairlead
