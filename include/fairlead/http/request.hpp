// A request as a handler gets it.
#pragma once

#include <fairlead/base/time.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/http/head.hpp>
#include <fairlead/io/address.hpp>

#include <cstddef>
#include <cstdint>
#include <expected>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace fairlead::http {

/// @cond internal
class server_connection;
/// @endcond

/// A request, while its handler runs and its answer is sent. Its views point into the buffer of the
/// connection. For the task of the connection alone.
class request {
public:
    /// @cond internal
    request(server_connection& connection, const request_head& head,
            std::optional<time_point> began) noexcept
        : connection_{connection}, head_{head}, began_{began} {}
    /// @endcond
    request(const request&) = delete;
    request& operator=(const request&) = delete;

    /// What the head says.
    [[nodiscard]] const request_head& head() const noexcept { return head_; }
    /// The method, such as "GET".
    [[nodiscard]] std::string_view method() const noexcept { return head_.method; }
    /// The path of the target, not decoded.
    [[nodiscard]] std::string_view path() const noexcept { return head_.path(); }
    /// What follows the question mark of the target, not decoded.
    [[nodiscard]] std::string_view query() const noexcept { return head_.query(); }
    /// The value of the first field of that name.
    [[nodiscard]] std::optional<std::string_view> field(std::string_view name) const noexcept {
        return head_.fields.find(name);
    }

    /// The address of the peer, as the transport has it. A call of the system, on TCP.
    [[nodiscard]] std::expected<io::address, std::error_code> peer_address() const;

    /// When the first wait for the rest of the head began; nothing if the head came at once. For
    /// deadlines of a whole request.
    [[nodiscard]] std::optional<time_point> began() const noexcept { return began_; }

    /// The next bytes of the body, wherever they were cut; empty: the body has ended. Valid until
    /// the next call. The peer sends no faster than the handler reads. Says "100 Continue" to a
    /// client that waits for it. Errors: those of the parser, `errc::incomplete`,
    /// `std::errc::timed_out` after `server_options::body_timeout`, those of the stream. After an
    /// error the connection is closed behind the answer; `response::refusing` makes one.
    [[nodiscard]] task<std::expected<std::string_view, std::error_code>> read_some();

    /// The rest of the body, at most `size_max` bytes: else `errc::body_too_large`.
    [[nodiscard]] task<std::expected<std::string, std::error_code>> read_all(
        std::size_t size_max = std::numeric_limits<std::size_t>::max());

    /// The body that was collected before a handler without coroutines was called; else empty.
    [[nodiscard]] std::string_view body() const noexcept { return collected_; }

    /// Until when the body may be read, instead of `server_options::body_timeout` after its first
    /// read. For large bodies that the handler stores as they come.
    void read_until(time_point deadline) noexcept { body_deadline_ = deadline; }

private:
    friend class server_connection;

    server_connection& connection_;
    request_head head_;
    std::optional<time_point> began_;
    std::string collected_;
    std::optional<time_point> body_deadline_;
};

}  // namespace fairlead::http
