// Errors of the system, and of waits, as error codes.
#pragma once

#include <fairlead/coro/waited.hpp>

#include <cerrno>
#include <expected>
#include <system_error>

namespace fairlead::io::detail {

[[nodiscard]] inline std::error_code system_error(int error) noexcept {
    return {error, std::system_category()};
}

[[nodiscard]] inline std::unexpected<std::error_code> last_failure() noexcept {
    return std::unexpected{system_error(errno)};
}

// Of a wait that has ended early.
[[nodiscard]] inline std::error_code code_of(wait_error why) noexcept {
    switch (why) {
        case wait_error::expired:
            return std::make_error_code(std::errc::timed_out);
        case wait_error::overdue:
            return std::make_error_code(std::errc::stream_timeout);
        default:
            return std::make_error_code(std::errc::operation_canceled);
    }
}

}  // namespace fairlead::io::detail
