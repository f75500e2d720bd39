// A response as a client gives it to a program.
#pragma once

#include <fairlead/coro/task.hpp>
#include <fairlead/http/head.hpp>

#include <cstddef>
#include <expected>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace fairlead::http {

/// @cond internal
class client_exchange;
/// @endcond

/// A response whose head has come. Its body is read from the connection as the program asks for it,
/// until the deadline of the request. One task at a time.
///
/// The end of the object gives the connection back to the client, for the next request, if the body
/// was read to its end, or its rest has come already; else it closes the connection.
class client_response {
public:
    /// @cond internal
    explicit client_response(std::unique_ptr<client_exchange> of) noexcept;
    /// @endcond
    /// Takes over that of `other`, which may only be destroyed or assigned to afterwards.
    client_response(client_response&& other) noexcept;
    /// Gives up its own response before.
    client_response& operator=(client_response&& other) noexcept;
    ~client_response();

    /// What the head says. Its views are valid as long as this response, also if it moves.
    [[nodiscard]] const response_head& head() const noexcept;
    /// The status.
    [[nodiscard]] int status() const noexcept { return head().status; }
    /// The value of the first field of that name.
    [[nodiscard]] std::optional<std::string_view> field(std::string_view name) const noexcept {
        return head().fields.find(name);
    }

    /// The next bytes of the body, wherever they were cut; empty: the body has ended. Valid until
    /// the next call. Errors: those of the parser, `errc::incomplete`, `std::errc::timed_out`,
    /// those of the stream. An error stays.
    [[nodiscard]] task<std::expected<std::string_view, std::error_code>> read_some();

    /// The rest of the body, at most `size_max` bytes: else `errc::body_too_large`.
    [[nodiscard]] task<std::expected<std::string, std::error_code>> read_all(
        std::size_t size_max = std::numeric_limits<std::size_t>::max());

private:
    std::unique_ptr<client_exchange> of_;
};

}  // namespace fairlead::http
