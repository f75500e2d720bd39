// Where a program writes a body that it sends piece by piece.
#pragma once

#include <fairlead/coro/task.hpp>

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace fairlead::http {

/// @cond internal
namespace detail {

// What sends the pieces: a connection.
class body_sink {
public:
    // Sends all three, in this order; the last one may wait for what is sent next.
    [[nodiscard]] task<std::error_code> send_piece(std::string_view before, std::string_view data,
                                                   std::string_view after);

protected:
    // A body that is not larger is copied behind its head.
    static constexpr std::size_t inline_max = std::size_t{16} << 10;

    ~body_sink() = default;

    // Sends what is in `out_`, which is empty afterwards.
    [[nodiscard]] virtual task<std::error_code> flush() = 0;
    // Sends that, and `text` behind it.
    [[nodiscard]] virtual task<std::error_code> write(std::string_view text) = 0;

    std::string out_;  // what is to be sent
};

}  // namespace detail
/// @endcond

/// Writes a body, of an answer by the function of `response::stream`, or of a request by that of
/// `client_request::stream`. For the task that runs the function alone.
class body_writer {
public:
    /// @cond internal
    body_writer(detail::body_sink& sink, std::optional<std::uint64_t> size, bool chunked) noexcept
        : sink_{sink}, left_{size}, chunked_{chunked} {}
    // Whether the body is what was announced, and was sent.
    [[nodiscard]] bool complete() const noexcept { return !failure_ && left_.value_or(0) == 0; }
    /// @endcond
    body_writer(const body_writer&) = delete;
    body_writer& operator=(const body_writer&) = delete;

    /// Sends `data` now, as one chunk unless the size was announced, and ends when the system has
    /// taken it: a peer that reads slowly makes the writer slow. Errors: those of the stream,
    /// `std::errc::timed_out`, `errc::wrong_size` for more data than was announced. After an error
    /// every call fails, and the function should return.
    [[nodiscard]] task<std::expected<void, std::error_code>> write(std::string_view data);

    /// The first error of `write`; none so far.
    [[nodiscard]] std::error_code failure() const noexcept { return failure_; }

private:
    detail::body_sink& sink_;
    std::optional<std::uint64_t> left_;
    const bool chunked_;
    std::error_code failure_;
};

}  // namespace fairlead::http
