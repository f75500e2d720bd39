#include "savegames/request_context.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>

#include <fmt/format.h>

namespace savegames {
namespace {

// An hour: no client waits longer, and no sum overflows.
constexpr std::uint32_t timeout_most = 3'600'000;

std::optional<std::chrono::milliseconds> parse_timeout(std::string_view text) {
    std::uint32_t value = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (code != std::errc{} || end != text.data() + text.size() || value > timeout_most) {
        return std::nullopt;
    }
    return std::chrono::milliseconds{value};
}

}  // namespace

std::expected<request_context, response> context_of(const fairlead::http::fields& fields,
                                                    std::chrono::milliseconds timeout_max,
                                                    fairlead::trace_source& spans) {
    request_context made{.timeout = timeout_max};
    std::optional<std::string_view> timeout_text;
    std::size_t timeouts = 0;
    std::string_view traceparent;
    std::size_t traceparents = 0;
    for (const fairlead::http::field& each : fields) {
        if (fairlead::http::same_name(each.name, "x-request-timeout")) {
            timeout_text = each.value;
            ++timeouts;
        } else if (fairlead::http::same_name(each.name, "traceparent")) {
            traceparent = each.value;
            ++traceparents;
        }
    }
    if (timeout_text) {
        const auto timeout = timeouts == 1 ? parse_timeout(*timeout_text) : std::nullopt;
        if (!timeout) {
            return std::unexpected(make_error(
                error::bad_request,
                fmt::format("X-Request-Timeout must be one number of milliseconds, at most {}",
                            timeout_most)));
        }
        made.timeout = std::min(timeout_max, *timeout);
    }
    const auto caller =
        fairlead::trace::parse(traceparents == 1 ? traceparent : std::string_view{});
    made.span = caller ? spans.child_of(*caller) : spans.start();
    return made;
}

std::optional<request_log> parse_request_log(std::string_view name) {
    if (name == "none") return request_log::none;
    if (name == "failed") return request_log::failed;
    if (name == "all") return request_log::all;
    return std::nullopt;
}

std::string log_line(const fairlead::trace* of, request_kind kind, int status,
                     std::chrono::nanoseconds took) {
    return fmt::format("savegames: request trace={} kind={} status={} ms={:.1f}",
                       of != nullptr ? of->trace_id_text() : "none", to_string(kind), status,
                       std::chrono::duration<double, std::milli>(took).count());
}

}  // namespace savegames
