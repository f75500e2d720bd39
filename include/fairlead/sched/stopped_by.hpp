// Why a task was asked to stop.
#pragma once

#include <fairlead/detail/base/assert.hpp>
#include <fairlead/detail/base/language.hpp>

#include <cstdint>

namespace fairlead {

/// The reason of a stop. The first request that reaches a task counts, with its reason or without
/// one: `stop_reason()` tells it for good. A stop that a task passes on to the tasks that it waits
/// for has the reason of the task.
///
///     constexpr fl::stopped_by kicked = fl::own_reason(1);
///     player.request_stop(kicked);
///     if (co_await fl::stop_reason() == kicked) co_await say("goodbye");
enum class stopped_by : std::uint16_t {
    unsaid,     ///< the request gave no reason; or there was none
    token,      ///< the `std::stop_token` of its `spawn_options`
    timeout,    ///< a deadline that its parent gave it: `with_timeout`, `when_all` with a deadline
    overdue,    ///< a deadline of the context of its parent, which the task itself does not have
    lost_race,  ///< the end of another task has decided: `when_any`, `race`
    failure,    ///< a sibling has failed, or what owns its scope has
    unwanted,   ///< its result is not wanted any more: `completions::finish`, `single_flight`
    shutdown,   ///< its scheduler stops, or is destroyed
};

/// Reasons of the program begin here.
inline constexpr std::uint16_t first_own_reason = 256;

/// A reason of the program: `number` is below 65,280.
[[nodiscard]] constexpr stopped_by own_reason(std::uint16_t number) noexcept {
    FAIRLEAD_ASSERT(number < 65'536 - first_own_reason, "a stop has no reason of this number");
    return static_cast<stopped_by>(first_own_reason + number);
}

/// For reports: a text that is never freed. All reasons of the program have one text.
[[nodiscard]] const char* to_string(stopped_by why) noexcept;

}  // namespace fairlead
