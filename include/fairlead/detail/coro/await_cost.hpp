// What a step may do without waiting, before other tasks have their turn.
#pragma once

#include <cstdint>

namespace fairlead::coro {

/// What an await that need not wait uses of the budget of its step.
enum class await_cost : std::uint16_t {
    usual = 1,
    compound = 8,      ///< it looks at several things: a select, a scope, a loop
    system_call = 32,  ///< it calls the system
};

/// The budget of a step: some 25 us. A sender fills a channel of 1,024 places in one.
inline constexpr std::uint16_t budget_of_step = 2047;

}  // namespace fairlead::coro
