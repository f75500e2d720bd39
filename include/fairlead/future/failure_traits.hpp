// How exceptions and ended waits become failures of a future.
#pragma once

#include <fairlead/coro/stopped.hpp>
#include <fairlead/coro/waited.hpp>

#include <exception>

namespace fairlead {

/// The exception for a `wait_error`, other than `stopped`, which is a `stopped_error`.
class wait_failed : public std::exception {
public:
    /// For `why`.
    explicit wait_failed(wait_error why) noexcept : why_{why} {}

    /// Why there is no result.
    [[nodiscard]] wait_error why() const noexcept { return why_; }

    /// A text for a log.
    [[nodiscard]] const char* what() const noexcept override {
        return why_ == wait_error::broken ? "a promise was destroyed without a result"
                                          : "a wait has ended without a result";
    }

private:
    wait_error why_;
};

/// Says how the failure type `E` of a program comes from what is not of that type. No function here
/// may throw. To specialise once for each failure type:
///
///     template <>
///     struct fl::failure_traits<failure> {
///         static failure from(std::exception_ptr thrown) noexcept;   // by a continuation
///         static failure from(fl::wait_error why) noexcept;          // broken, stopped
///         static failure from(other_failure why) noexcept;           // if types are mixed
///     };
template <class E>
struct failure_traits;

/// Exceptions stay what they are.
template <>
struct failure_traits<std::exception_ptr> {
    /// The exception itself.
    static std::exception_ptr from(std::exception_ptr thrown) noexcept { return thrown; }
    /// A `stopped_error` or a `wait_failed`.
    static std::exception_ptr from(wait_error why) noexcept {
        if (why == wait_error::stopped) return std::make_exception_ptr(stopped_error{});
        return std::make_exception_ptr(wait_failed{why});
    }
};

}  // namespace fairlead
