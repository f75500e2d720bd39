// What goes wrong with names.
#pragma once

#include <fairlead/detail/base/language.hpp>

#include <cstdint>
#include <system_error>

namespace fairlead::dns {

/// Errors beside those of waits: `std::errc::timed_out` at the deadline, `operation_canceled` when
/// the task is asked to stop, `stream_timeout` at a deadline of the context; and beside
/// `not_enough_memory`.
enum class errc : std::uint8_t {
    not_found = 1,  ///< the name does not exist
    no_data,        ///< the name exists, and has no address
    server_failed,  ///< the servers cannot say: SERVFAIL, as when a server behind them is down
    refused,        ///< the servers refuse to say
    no_answer,      ///< no server has answered in all tries, or none can be reached
    bad_answer,     ///< the answer cannot be read
    bad_name,       ///< this cannot be the name of a host; no server was asked
    too_many,       ///< `resolver_options::waiting_max` look-ups wait already
    closed,         ///< the resolver was destroyed
};

/// The category of `errc`, named "dns".
[[nodiscard]] const std::error_category& category() noexcept;
/// For `std::error_code`, which finds it.
[[nodiscard]] inline std::error_code make_error_code(errc code) noexcept {
    return {static_cast<int>(code), category()};
}

}  // namespace fairlead::dns

/// @cond internal
template <>
struct std::is_error_code_enum<fairlead::dns::errc> : std::true_type {};
/// @endcond
