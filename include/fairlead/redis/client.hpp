// A client of Redis: one connection that many tasks share.
//
//     redis::client cache{scheduler, redis::connect_tcp(address)};
//     const auto page = co_await cache.get("page:1", fl::clock::now() + 50ms);
//     co_await cache.close(fl::clock::now() + 1s);
//
// One task owns the connection. What its users ask for meanwhile goes out in one write, and the
// replies are told apart by their order. A call that is stopped or late does not harm the
// connection. When the connection ends, what was sent fails as `connection_lost`, and says so;
// what was not sent waits for the next connection, which the owner makes.
//
// Commands that hold a connection up or change it are for a `pool`: see `command::is_shareable`.
#pragma once

#include <fairlead/base/time.hpp>
#include <fairlead/coro/join_handle.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/redis/client_options.hpp>
#include <fairlead/redis/commands.hpp>
#include <fairlead/redis/connector.hpp>
#include <fairlead/redis/error.hpp>
#include <fairlead/redis/subscription.hpp>
#include <fairlead/sched/executor.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

namespace fairlead::redis {

namespace detail {
class connection;
}  // namespace detail

/// For reports: how a client is at the moment, and what it has done.
struct client_stats {
    std::size_t queued = 0;            ///< calls whose commands were not sent
    std::size_t in_flight = 0;         ///< calls that wait for replies, and those given up
    std::uint64_t connects = 0;        ///< connections made
    std::uint64_t sent = 0;            ///< commands sent
    std::uint64_t given_up = 0;        ///< calls that ended before their replies
    std::uint64_t pushes_dropped = 0;  ///< messages that nothing has asked for
    std::error_code last_failure;      ///< of the connection, or of the last attempt to make one
};

/// Members may be called by any thread, tasks be awaited on any scheduler; the destructor runs
/// after all calls.
class client final : public commands {
public:
    /// Connects at once, in the background, on the scheduler of `where`, which has the driver that
    /// the connector needs. Throws `std::bad_alloc`.
    client(executor where, connector connect, client_options options = {});
    client(const client&) = delete;
    client& operator=(const client&) = delete;
    /// Closes at once: commands fail as `closed`. The owner ends in the background; the scheduler
    /// outlives it by its `drain`.
    ~client() override;

    /// Sends one command: its reply, or the error of the server. `not_shared`: it is for a `pool`.
    [[nodiscard]] task<result<value>> send(command what, time_point deadline = never) override;
    /// Sends commands together, at least one. `not_shared`: one of them is for a `pool`.
    [[nodiscard]] task<result<std::vector<value>>> send_all(std::vector<command> all,
                                                            time_point deadline = never) override;

    /// Listens to channels, on a connection of its own with the options of this client. Waits until
    /// the server has confirmed.
    [[nodiscard]] task<result<subscription>> subscribe_all(std::vector<std::string> channels,
                                                           time_point deadline = never);
    /// The same of one channel.
    [[nodiscard]] task<result<subscription>> subscribe(std::string channel,
                                                       time_point deadline = never);
    /// The same to all channels whose names match patterns.
    [[nodiscard]] task<result<subscription>> subscribe_to_patterns(
        std::vector<std::string> patterns, time_point deadline = never);

    /// Takes no more commands, waits for those that it has, until `deadline` at the latest, and
    /// ends the connection. False: some were failed, as `closed`. Once.
    [[nodiscard]] task<bool> close(time_point deadline = never);

    /// A snapshot. Takes a lock.
    [[nodiscard]] client_stats stats() const;

private:
    const executor where_;
    const std::shared_ptr<detail::connection> connection_;
    const connector connect_;
    join_handle<void> owner_;
};

}  // namespace fairlead::redis
