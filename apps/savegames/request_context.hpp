// What a client says about a request besides its contents: how long the client waits for the
// answer, and of which trace the request is a part.
//
//     X-Request-Timeout: 250       milliseconds, from the last byte of the request on
//     traceparent: 00-...-...-01   W3C Trace Context
#pragma once

#include <fairlead/context/trace.hpp>
#include <fairlead/http/fields.hpp>

#include <chrono>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "savegames/job.hpp"
#include "savegames/routes.hpp"

namespace savegames {

struct request_context {
    std::chrono::milliseconds timeout{0};  // at most that of the service
    fairlead::trace span{};  // of this request, in the trace of the client or a new one
};

// Reads the context. A wrong timeout, or several, are answered with 400. A wrong traceparent, or
// several, begin a new trace, as the standard asks for.
[[nodiscard]] std::expected<request_context, response> context_of(
    const fairlead::http::fields& fields, std::chrono::milliseconds timeout_max,
    fairlead::trace_source& spans);

// Which requests get a line in the log.
enum class request_log : std::uint8_t { none, failed, all };

// Nothing: there is no such choice.
[[nodiscard]] std::optional<request_log> parse_request_log(std::string_view name);

// Whether a request with this answer gets a line. Failed: the service could not do what it should.
[[nodiscard]] constexpr bool is_logged(request_log choice, int status) noexcept {
    return choice == request_log::all || (choice == request_log::failed && status >= 500);
}

// The line, without its end. `of`: null if there is no trace.
[[nodiscard]] std::string log_line(const fairlead::trace* of, request_kind kind, int status,
                                   std::chrono::nanoseconds took);

}  // namespace savegames
