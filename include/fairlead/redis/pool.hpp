// Connections of their own for tasks: for transactions, and for commands that wait.
//
//     redis::pool jobs{scheduler, redis::connect_tcp(address), {}, 8};
//     auto own = co_await jobs.acquire(deadline);
//     if (own) co_await own->send_waiting({"BLPOP", "jobs", 10}, 10s, deadline);
#pragma once

#include <fairlead/base/time.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/redis/client_options.hpp>
#include <fairlead/redis/commands.hpp>
#include <fairlead/redis/connector.hpp>
#include <fairlead/redis/error.hpp>
#include <fairlead/sched/executor.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace fairlead::redis {

namespace detail {
class pool_state;
class pooled_state;
}  // namespace detail

/// A connection that one task has for itself. The end gives it back. It is closed instead if a
/// command has changed it, as WATCH does, or if a reply is still to come.
///
/// The first command may wait for a new connection. All later ones go to the same connection as the
/// first: when that is lost they fail as `connection_lost`, because the server has forgotten what
/// the first ones have set up.
class pooled final : public commands {
public:
    /// @cond internal
    explicit pooled(std::unique_ptr<detail::pooled_state> of) noexcept;
    /// @endcond
    /// Takes over what `other` has.
    pooled(pooled&& other) noexcept;
    /// Gives back its own connection, and takes over that of `other`.
    pooled& operator=(pooled&& other) noexcept;
    /// Gives the connection back. Allocates nothing.
    ~pooled() override;

    /// As `commands::send`, one call at a time. Also commands that change the connection; not those
    /// without exactly one reply, which are `not_shared`.
    [[nodiscard]] task<result<value>> send(command what, time_point deadline = never) override;
    /// As `commands::send_all`, one call at a time.
    [[nodiscard]] task<result<std::vector<value>>> send_all(std::vector<command> all,
                                                            time_point deadline = never) override;
    /// As `send`, of a command for which the server may wait for so long before it replies, such as
    /// BLPOP: `client_options::stall` is counted from there.
    [[nodiscard]] task<result<value>> send_waiting(command what, duration waits,
                                                   time_point deadline = never);

private:
    friend class transaction;

    std::unique_ptr<detail::pooled_state> of_;
};

/// MULTI and EXEC, on a connection of its own.
///
///     auto change = co_await pool.begin(deadline);
///     co_await change->watch("stock", deadline);
///     const auto left = co_await change->get("stock", deadline);
///     ...
///     std::vector<redis::command> both{{"DECR", "stock"}, {"INCR", "sold"}};
///     const auto done = co_await change->exec(std::move(both), deadline);
///     if (!done && done.error().code() == redis::errc::aborted) ...   // once again
///
/// One task at a time. Dropped before `exec`: nothing is done.
class transaction {
public:
    /// @cond internal
    explicit transaction(pooled own) noexcept : own_{std::move(own)} {}
    /// @endcond

    /// WATCH: `exec` is `aborted` if one of the keys changes before it.
    [[nodiscard]] task<result<void>> watch_all(std::vector<std::string> keys,
                                               time_point deadline = never);
    /// The same of one key.
    [[nodiscard]] task<result<void>> watch(std::string key, time_point deadline = never);
    /// Sends a command at once, outside of the transaction, such as a read after `watch`.
    [[nodiscard]] task<result<value>> send(command what, time_point deadline = never);
    /// GET, at once.
    [[nodiscard]] task<result<std::optional<std::string>>> get(std::string key,
                                                               time_point deadline = never);
    /// MULTI, the commands, and EXEC, in one write: their replies; an error of a command alone is a
    /// value. `aborted`: a watched key has changed. `exec_abort`: the server has refused a command,
    /// and so all. `not_shared`: a command has no place in a transaction. After an error of the
    /// connection with `was_sent` the commands may have been done.
    [[nodiscard]] task<result<std::vector<value>>> exec(std::vector<command> all,
                                                        time_point deadline = never);

private:
    pooled own_;
};

/// Members may be called by any thread, tasks be awaited on any scheduler.
class pool {
public:
    /// `size`: how many connections there are at most. They are made when they are needed, on the
    /// scheduler of `where`.
    pool(executor where, connector connect, client_options options, std::uint32_t size);
    pool(const pool&) = delete;
    pool& operator=(const pool&) = delete;
    /// Closes what is idle; what is lent is closed when it comes back.
    ~pool();

    /// Waits for a connection, in the order of asking, until `deadline` at the latest. `closed`:
    /// the pool was.
    [[nodiscard]] task<result<pooled>> acquire(time_point deadline = never);
    /// The same for a transaction.
    [[nodiscard]] task<result<transaction>> begin(time_point deadline = never);

    /// Ends each wait, also each later one, as `closed`, and closes the connections that are idle.
    void close() noexcept;

    /// How many connections exist, lent or idle, for reports.
    [[nodiscard]] std::size_t connections() const;
    /// How many tasks wait, for reports.
    [[nodiscard]] std::size_t waiting() const;

private:
    const std::shared_ptr<detail::pool_state> state_;
};

}  // namespace fairlead::redis
