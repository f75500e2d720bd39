// A transaction: a connection that one user has until the end.
//
//     auto change = co_await db.begin(deadline);
//     if (!change) co_return std::unexpected{change.error()};
//     const auto taken = co_await change->query({"update ..."}, deadline);
//     if (!taken) co_return std::unexpected{taken.error()};     // rolled back
//     co_return co_await change->commit(deadline);
//
// What leaves it without a commit, an error, an exception or a stop, rolls it back.
#pragma once

#include <fairlead/base/time.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/postgres/copy.hpp>
#include <fairlead/postgres/error.hpp>
#include <fairlead/postgres/rows.hpp>
#include <fairlead/postgres/statement.hpp>
#include <fairlead/postgres/stream.hpp>

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace fairlead::postgres {

namespace detail {
class lease;
}  // namespace detail

/// What other transactions may be seen to do.
enum class isolation : std::uint8_t {
    server_default,   ///< what `default_transaction_isolation` says
    read_committed,   ///< each statement sees what was committed before it
    repeatable_read,  ///< all statements see one state
    serializable,     ///< as if one transaction ran after the other: some fail and are done again
};

/// How a transaction begins.
struct transaction_options {
    isolation level = isolation::server_default;  ///< what it sees
    bool read_only = false;                       ///< it changes nothing
    bool deferrable = false;  ///< serializable and read-only: waits until it cannot fail
};

/// A transaction that has begun. Several tasks may use it at once: their statements go out in the
/// order of the calls. Any thread.
///
/// A statement that was sent and is given up, by its deadline or a stop, ends the transaction:
/// nothing but `rollback` and the destruction is left. After an error of a statement the server
/// executes nothing but a rollback to a savepoint.
class [[nodiscard]] transaction {
public:
    /// @cond internal
    explicit transaction(std::shared_ptr<detail::lease> of) noexcept;
    /// @endcond
    /// Takes over that of `other`, which has none afterwards.
    transaction(transaction&& other) noexcept;
    /// Rolls back its own, and takes over that of `other`.
    transaction& operator=(transaction&& other) noexcept;
    /// Rolls back, in the background, unless it has ended. The connection goes back to the pool
    /// afterwards, or is closed if that does not succeed in `pool_options::abandon_after`.
    ~transaction();

    /// Executes a statement. `not_shared`: BEGIN, COMMIT and the like. A statement that changes the
    /// connection beyond the transaction, such as SET without LOCAL, is executed, and the
    /// connection is closed afterwards, so that no other task meets the change.
    [[nodiscard]] task<result<rows>> query(statement what, time_point deadline = never);
    /// Executes statements in one round trip. After the first error the rest is not executed.
    [[nodiscard]] task<result<std::vector<rows>>> query_all(std::vector<statement> all,
                                                            time_point deadline = never);

    /// Executes a statement, of which the rows come as they are read: see `row_stream`. While the
    /// stream has not ended, other statements and the commit are refused as `stream_open`. A stream
    /// that is destroyed before its end ends the transaction, as a statement that is given up; the
    /// same holds for a copy. Does not wait.
    [[nodiscard]] result<row_stream> stream(statement what);
    /// COPY to this end: `sql` is "copy ... to stdout". The same otherwise.
    [[nodiscard]] result<copy_reader> copy_out(std::string_view sql);
    /// COPY from this end: `sql` is "copy ... from stdin". The same otherwise.
    [[nodiscard]] result<copy_writer> copy_in(std::string_view sql);

    /// Commits. The transaction has ended afterwards, unless the error says that nothing was sent.
    /// Errors: those of constraints that are checked at the end; `rolled_back` if a statement has
    /// failed before; `outcome_unknown` if the connection has ended before the answer. A call that
    /// ends by its deadline or a stop with `was_sent` does not know the outcome either.
    [[nodiscard]] task<result<void>> commit(time_point deadline = never);
    /// Rolls back and waits for it.
    [[nodiscard]] task<result<void>> rollback(time_point deadline = never);

private:
    std::shared_ptr<detail::lease> of_;  // null: ended, or moved from
};

}  // namespace fairlead::postgres
