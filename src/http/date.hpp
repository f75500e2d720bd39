// The time of the day as HTTP writes it: RFC 9110, 5.6.7.
#pragma once

#include <array>
#include <chrono>
#include <string_view>

namespace fairlead::http {

// "Sun, 06 Nov 1994 08:49:37 GMT"
using date_text = std::array<char, 29>;

[[nodiscard]] date_text date_of(std::chrono::sys_seconds time) noexcept;

// What the system says.
[[nodiscard]] std::chrono::sys_seconds time_of_day() noexcept;

}  // namespace fairlead::http
