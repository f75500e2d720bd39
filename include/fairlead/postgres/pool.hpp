// Connections to PostgreSQL that many tasks share.
//
//     postgres::pool db{scheduler, "host=/run/postgresql dbname=shop", {.max = 4}};
//     const auto found = co_await db.query({"select name from users where id = $1", id}, deadline);
//     const auto name = found.and_then(&postgres::rows::one<std::string>);
//
// Requests wait in one line for all connections, in the order of asking. A connection takes several
// of them at once and sends them without waiting for answers (pipeline mode); each is a transaction
// of its own, so the error of one harms no other. A transaction has a connection for itself.
//
// A request that is stopped or late ends at once. Its connection drops the answer when it comes,
// and goes on; no request ever gets the rows of another. When a connection ends, what was sent on
// it fails as `connection_lost`, and says so; what was not sent waits for the next connection.
#pragma once

#include <fairlead/base/time.hpp>
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/postgres/copy.hpp>
#include <fairlead/postgres/error.hpp>
#include <fairlead/postgres/pool_options.hpp>
#include <fairlead/postgres/rows.hpp>
#include <fairlead/postgres/statement.hpp>
#include <fairlead/postgres/stream.hpp>
#include <fairlead/postgres/subscription.hpp>
#include <fairlead/postgres/transaction.hpp>
#include <fairlead/sched/executor.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

namespace fairlead::postgres {

/// @cond internal
namespace detail {
class pool_state;

template <class T>
struct value_of_result;
template <class T>
struct value_of_result<task<result<T>>> {
    using type = T;
};
// What a body of `pool::transact` gives in its result.
template <class Body>
using value_of_body = value_of_result<std::invoke_result_t<Body&, transaction&>>::type;
}  // namespace detail
/// @endcond

/// For reports: how a pool is at the moment, and what it has done.
struct pool_stats {
    std::size_t open = 0;                ///< connections that are made
    std::size_t connecting = 0;          ///< connections that are being made
    std::size_t lent = 0;                ///< connections that have a transaction, or end one
    std::size_t queued = 0;              ///< requests that wait for a connection
    std::size_t in_flight = 0;           ///< requests that are sent, with those given up
    std::uint64_t connects = 0;          ///< connections made
    std::uint64_t connect_failures = 0;  ///< attempts that have failed
    std::uint64_t lost = 0;              ///< connections that have ended by themselves
    std::uint64_t closed = 0;            ///< connections that were ended: too old, idle, unclean
    std::uint64_t sent = 0;              ///< requests sent
    std::uint64_t given_up = 0;          ///< requests that ended before their answers
    std::uint64_t cancels = 0;           ///< cancels sent to the server
    std::uint64_t prepared = 0;          ///< statements prepared
    std::error_code last_failure;        ///< of a connection, or of an attempt to make one
};

/// How often `pool::transact` tries.
struct retry_limits {
    std::uint32_t attempts = 5;  ///< in all
    /// The longest pause before the second attempt; twice as long before each later one. A pause is
    /// drawn by lot.
    duration pause = std::chrono::milliseconds{2};
};

/// Members may be called by any thread, tasks be awaited on any scheduler; the destructor runs
/// after all calls.
class pool {
public:
    /// `conninfo`: as libpq has it, "host=/run/postgresql dbname=shop user=me" or
    /// "postgresql://me@host/shop?sslmode=verify-full". What it does not say comes from the
    /// environment and from the password file, as with other programs of libpq. Files are read, and
    /// names resolved without a `pool_options::resolve`, on threads that may block.
    /// Connects on the scheduler of `where`, which has an `epoll_driver`: `min` connections at
    /// once, in the background, and further ones when they are needed. Throws `std::bad_alloc`.
    pool(executor where, std::string conninfo, pool_options options = {});
    pool(const pool&) = delete;
    pool& operator=(const pool&) = delete;
    /// Closes at once: requests fail as `closed`, transactions that are not ended are rolled back
    /// by the server. The connections end in the background; the scheduler outlives them by its
    /// `drain`.
    ~pool();

    /// Executes a statement as a transaction of its own. `not_shared`: it would change the
    /// connection of other tasks, as BEGIN, SET, LISTEN and COPY do.
    [[nodiscard]] task<result<rows>> query(statement what, time_point deadline = never);
    /// Executes statements in one round trip and as one transaction: all or none.
    [[nodiscard]] task<result<std::vector<rows>>> query_all(std::vector<statement> all,
                                                            time_point deadline = never);

    /// Waits for a connection of which no other request is under way, and begins a transaction. A
    /// task that has a transaction and waits for a further connection of the pool may wait for
    /// ever, if all do so.
    [[nodiscard]] task<result<transaction>> begin(transaction_options how,
                                                  time_point deadline = never);
    /// The same with the defaults.
    [[nodiscard]] task<result<transaction>> begin(time_point deadline = never) {
        return begin(transaction_options{}, deadline);
    }
    /// Begins a transaction, awaits `body(transaction&)`, which gives a `task<result<T>>`, and
    /// commits if that gives no error. After a serialization failure or a deadlock, of the body or
    /// of the commit, all is done again, after a pause. Gives what the last body gives, or the
    /// error of begin or commit. `body` is kept until the end.
    template <class Body>
    [[nodiscard]] task<result<detail::value_of_body<Body>>> transact(transaction_options how,
                                                                     Body body,
                                                                     time_point deadline = never,
                                                                     retry_limits limits = {});

    /// Executes a statement, of which the rows come as they are read: see `row_stream`. Waits for a
    /// connection for itself, as `begin` does. Its errors are told at the first row.
    [[nodiscard]] task<result<row_stream>> stream(statement what, time_point deadline = never);
    /// COPY to this end: `sql` is "copy ... to stdout" in any format. The same otherwise.
    [[nodiscard]] task<result<copy_reader>> copy_out(std::string sql, time_point deadline = never);
    /// COPY from this end: `sql` is "copy ... from stdin" in any format. It is a transaction of its
    /// own. Its errors are told by the writes or by the end.
    [[nodiscard]] task<result<copy_writer>> copy_in(std::string sql, time_point deadline = never);

    /// Listens to a channel, on a connection of its own, with the options of the pool. Waits until
    /// the server has confirmed.
    [[nodiscard]] task<result<subscription>> listen(std::string channel,
                                                    time_point deadline = never);
    /// The same to several channels.
    [[nodiscard]] task<result<subscription>> listen_all(std::vector<std::string> channels,
                                                        time_point deadline = never);

    /// Takes no more requests, waits for those that it has and for the transactions, until
    /// `deadline` at the latest, and ends the connections. False: some were failed, as `closed`, or
    /// rolled back. Once.
    [[nodiscard]] task<bool> close(time_point deadline = never);

    /// A snapshot. Takes a lock.
    [[nodiscard]] pool_stats stats() const;

private:
    [[nodiscard]] duration drawn(duration longest) const noexcept;

    const std::shared_ptr<detail::pool_state> state_;
};

template <class Body>
task<result<detail::value_of_body<Body>>> pool::transact(transaction_options how, Body body,
                                                         time_point deadline, retry_limits limits) {
    using T = detail::value_of_body<Body>;
    duration pause = limits.pause;
    for (std::uint32_t attempt = 1;; ++attempt) {
        result<transaction> change = co_await begin(how, deadline);
        if (!change) co_return std::unexpected{std::move(change.error())};
        result<T> done = co_await std::invoke(body, *change);
        if (done) {
            result<void> committed = co_await change->commit(deadline);
            if (committed) co_return std::move(done);
            done = std::unexpected{std::move(committed.error())};
        }
        const bool is_last = !done.error().is_retryable() || attempt >= limits.attempts;
        // Waits for the rollback, so that it does not meet the next attempt.
        const result<void> undone = co_await change->rollback(deadline);
        if (is_last || !undone) co_return std::move(done);
        const duration length = drawn(pause);
        co_await sleep_for(length);
        pause *= 2;
    }
}

}  // namespace fairlead::postgres
