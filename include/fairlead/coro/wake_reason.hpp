// How a wait that gives no value says why it ended.
#pragma once

#include <fairlead/detail/base/language.hpp>

#include <cstdint>

namespace fairlead::coro {

/// Why a wait ended.
enum class [[nodiscard]] wake_reason : std::uint8_t {
    expired,    ///< the deadline has passed
    woken,      ///< a thread or a task called `wakeup`
    signalled,  ///< a signal was received
    stopped,    ///< the task was asked to stop: every later wait ends so, too
    overdue,    ///< an inherited deadline has passed: every later wait ends so, too
};

}  // namespace fairlead::coro
