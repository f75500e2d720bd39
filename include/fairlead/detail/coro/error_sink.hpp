// The error sink of a context: where failures go that no task joins.
#pragma once

#include <fairlead/detail/coro/context_node.hpp>
#include <fairlead/sched/options.hpp>

namespace fairlead::coro {

/// The key of its node. Its address counts.
inline constexpr char error_sink_key = 0;

/// The nearest; null: failures go to `on_unhandled` of the scheduler.
[[nodiscard]] inline const unhandled_reporter* error_sink_of(context_word context) noexcept {
    const context_node* const found = context.find(&error_sink_key);
    if (found == nullptr) return nullptr;
    return &static_cast<const value_node<unhandled_reporter>*>(found)->value();
}

}  // namespace fairlead::coro
