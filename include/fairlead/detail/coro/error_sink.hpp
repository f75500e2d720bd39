// The error sink of a context: where failures go that no task joins.
#pragma once

#include <fairlead/coro/overdue.hpp>
#include <fairlead/detail/coro/context_node.hpp>
#include <fairlead/sched/failure_origin.hpp>
#include <fairlead/sched/options.hpp>

#include <exception>
#include <utility>

namespace fairlead::coro {

/// The key of its node. Its address counts.
inline constexpr char error_sink_key = 0;

/// The nearest; null: failures go to `on_unhandled` of the scheduler.
[[nodiscard]] inline const unhandled_reporter* error_sink_of(context_word context) noexcept {
    const context_node* const found = context.find(&error_sink_key);
    if (found == nullptr) return nullptr;
    return &static_cast<const value_node<unhandled_reporter>*>(found)->value();
}

/// Reports a failure to the sink of `context`, or else to `reporter`. Without a handler it ends the
/// program, unless the failure is that the work was overdue.
inline void report_unjoined(std::exception_ptr failure, const failure_origin& from,
                            context_word context, const unhandled_reporter& reporter) noexcept {
    const unhandled_reporter* const sink = error_sink_of(context);
    const unhandled_reporter& to = sink != nullptr ? *sink : reporter;
    if (is_overdue_failure(failure)) {
        to.tell(std::move(failure), from);
    } else {
        to(std::move(failure), from);
    }
}

}  // namespace fairlead::coro
