// COPY of PostgreSQL: many rows at once, in the text, CSV or binary format of the server.
//
//     auto into = co_await db.copy_in("copy points from stdin", deadline);
//     if (!into) co_return std::unexpected{into.error()};
//     for (const point& each : all) {
//         const auto put = co_await into->write(postgres::copy_row(each.name, each.x), deadline);
//         if (!put) co_return std::unexpected{put.error()};
//     }
//     const auto count = co_await into->finish(deadline);
#pragma once

#include <fairlead/base/time.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/postgres/error.hpp>
#include <fairlead/postgres/statement.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace fairlead::postgres {

/// @cond internal
namespace detail {
class flowing;
// Adds a value in the text format, and a tab.
void append_copy_value(std::string& into, const parameter& value);
}  // namespace detail
/// @endcond

/// A row in the text format of COPY, with the end of its line. Throws `std::bad_alloc`.
template <std::convertible_to<parameter>... Values>
    requires(sizeof...(Values) != 0)
[[nodiscard]] std::string copy_row(const Values&... values) {
    std::string line;
    (detail::append_copy_value(line, parameter{values}), ...);
    line.back() = '\n';
    return line;
}

/// What a COPY TO STDOUT sends. It has a connection, or that of its transaction. As a `row_stream`
/// it bounds what waits, goes on after a deadline or a stop, and gives the statement up when it is
/// destroyed before its end. One task at a time.
class [[nodiscard]] copy_reader {
public:
    /// @cond internal
    explicit copy_reader(std::unique_ptr<detail::flowing> of) noexcept;
    /// @endcond
    /// Takes over the copy of `other`, which can only be destroyed or assigned afterwards.
    copy_reader(copy_reader&& other) noexcept;
    /// Gives its own copy up, and takes over that of `other`.
    copy_reader& operator=(copy_reader&& other) noexcept;
    /// Gives the copy up, unless it has ended.
    ~copy_reader();

    /// The next bytes, until `deadline` at the latest: one row or several, each as a whole, in the
    /// format of the statement. Empty: the end; again at each later call.
    [[nodiscard]] task<result<std::string>> read(time_point deadline = never);

    /// After the end: how many rows there were.
    [[nodiscard]] std::uint64_t affected() const;
    /// How many bytes wait. Takes a lock.
    [[nodiscard]] std::size_t buffered() const noexcept;

private:
    std::unique_ptr<detail::flowing> of_;
};

/// What a COPY FROM STDIN takes. It has a connection, or that of its transaction. A copy that is
/// destroyed before `finish` has succeeded fails in the server, which keeps nothing of it, unless
/// `finish` was called: then it may be kept. One task at a time.
class [[nodiscard]] copy_writer {
public:
    /// @cond internal
    explicit copy_writer(std::unique_ptr<detail::flowing> of) noexcept;
    /// @endcond
    /// Takes over the copy of `other`, which can only be destroyed or assigned afterwards.
    copy_writer(copy_writer&& other) noexcept;
    /// Gives its own copy up, and takes over that of `other`.
    copy_writer& operator=(copy_writer&& other) noexcept;
    /// Gives the copy up, unless it has ended.
    ~copy_writer();

    /// Takes bytes in the format of the statement, divided anywhere, when less than
    /// `pool_options::stream_bytes` wait for the server; until `deadline` at the latest. All of
    /// them or, with an error, none: after a deadline or a stop the copy goes on. Once the copy has
    /// failed, as by the loss of the connection: its error. The server's own errors, such as a row
    /// that violates a constraint, are told by `finish`. `bytes` are valid until it has ended.
    [[nodiscard]] task<result<void>> write(std::string_view bytes, time_point deadline = never);

    /// Ends the copy, and waits until the server has taken all. Gives how many rows it has taken.
    /// After a deadline or a stop it is not known whether they are kept: it may be called again.
    [[nodiscard]] task<result<std::uint64_t>> finish(time_point deadline = never);

    /// How many bytes wait. Takes a lock.
    [[nodiscard]] std::size_t buffered() const noexcept;

private:
    std::unique_ptr<detail::flowing> of_;
};

}  // namespace fairlead::postgres
