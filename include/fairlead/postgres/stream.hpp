// Rows that are read as they are taken: for results that do not fit in memory, or need not.
//
//     auto found = co_await db.stream({"select id, name from users"}, deadline);
//     if (!found) co_return std::unexpected{found.error()};
//     for (;;) {
//         const auto some = co_await found->next(deadline);
//         if (!some) co_return std::unexpected{some.error()};
//         if (some->empty()) break;
//         for (const postgres::row each : *some) ...
//     }
#pragma once

#include <fairlead/base/time.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/postgres/error.hpp>
#include <fairlead/postgres/rows.hpp>

#include <cstddef>
#include <memory>

namespace fairlead::postgres {

namespace detail {
class flowing;
}  // namespace detail

/// The rows of a statement that is under way. It has a connection, or that of its transaction.
/// About `pool_options::stream_bytes` wait for the reader; beyond them nothing is read of the
/// server, which waits, too. One task at a time.
///
/// A stream that is destroyed before its end gives its statement up: the connection drops the rows
/// that still come, cancels the statement after `pool_options::cancel_after`, and goes back to the
/// pool; a transaction can only be rolled back.
class [[nodiscard]] row_stream {
public:
    /// @cond internal
    explicit row_stream(std::unique_ptr<detail::flowing> of) noexcept;
    /// @endcond
    /// Takes over the statement of `other`, which can only be destroyed or assigned afterwards.
    row_stream(row_stream&& other) noexcept;
    /// Gives its own statement up, and takes over that of `other`.
    row_stream& operator=(row_stream&& other) noexcept;
    /// Gives the statement up, unless it has ended.
    ~row_stream();

    /// The next rows, one or several, until `deadline` at the latest. None: the end, with
    /// `rows::command` and `rows::affected`; again at each later call. An error of the server, or
    /// the loss of the connection, comes after the rows that came before it, and ends the stream.
    /// After a deadline or a stop the stream goes on where it was: no row is lost.
    [[nodiscard]] task<result<rows>> next(time_point deadline = never);

    /// How many bytes of rows wait. Takes a lock.
    [[nodiscard]] std::size_t buffered() const noexcept;

private:
    std::unique_ptr<detail::flowing> of_;
};

}  // namespace fairlead::postgres
