// How a pool of connections to PostgreSQL behaves.
#pragma once

#include <fairlead/base/time.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/io/address.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <string>
#include <system_error>
#include <vector>

namespace fairlead::postgres {

/// Finds the addresses of a name, with a port: as `dns::resolver::resolve`. Any task, several at
/// once. It ends at its deadline and at a stop, as a wait does.
using name_resolver = std::function<task<std::expected<std::vector<io::address>, std::error_code>>(
    std::string host, std::uint16_t port, time_point deadline)>;

/// Of a pool and of its subscriptions.
struct pool_options {
    /// So many connections are kept when nothing is asked for.
    std::uint32_t min = 0;
    /// There are never more, but for those of subscriptions. At least one.
    std::uint32_t max = 8;
    /// How many connections are made at the same time.
    std::uint32_t connecting_max = 2;
    /// How many requests wait for a connection at most; those beyond are refused.
    std::size_t queue_max = 10'000;
    /// How many requests of several tasks a connection has under way at most. The server executes
    /// them one after the other, so a slow one holds up those behind it. 1: a connection for each.
    std::size_t pipeline_max = 64;

    /// How long one attempt to connect may take.
    duration connect_limit = std::chrono::seconds{5};
    /// Resolves the names of hosts; all addresses of a name are tried, in their order. Nothing:
    /// libpq does it, on a thread that may block, and a name that hangs holds that thread. It is
    /// not asked for names in a service file, nor beside `hostaddr`. TLS checks the name.
    name_resolver resolve = {};
    /// A connection beyond `min` that was not used for so long is ended.
    duration idle = std::chrono::minutes{5};
    /// A connection that is so old is ended when it is free, and made anew when it is needed.
    duration age_max = std::chrono::hours{1};
    /// The pause after the first failed attempt to connect; each later one is twice as long, up to
    /// `reconnect_max`. The same after a connection that was lost sooner than such a pause would
    /// take. Half of a pause is drawn by lot. After a failed attempt one is made at a time, until
    /// one succeeds.
    duration reconnect_min = std::chrono::milliseconds{50};
    /// The longest pause between two attempts.
    duration reconnect_max = std::chrono::seconds{2};
    /// So long requests wait while there is no connection. Afterwards those that wait, and each new
    /// one, fail with the error of the last attempt, until an attempt succeeds.
    duration offline_max = std::chrono::seconds{5};

    /// A statement of which the request has ended, by its deadline or a stop, runs on for so long.
    /// Then the server is asked to cancel it. While it runs, its connection gets no new requests.
    duration cancel_after = std::chrono::milliseconds{50};
    /// If the connection is not free so long after that, it is closed.
    duration abandon_after = std::chrono::seconds{5};
    /// The server itself ends a statement some time after the deadline of its request, by
    /// `statement_timeout`, which is set when it changes by more than half: exactly that statement,
    /// and none beside it. False: for a PgBouncer in transaction mode, which does not keep it.
    bool server_deadlines = true;

    /// Statements are prepared once for each connection, and sent by their names afterwards. False:
    /// for a PgBouncer before 1.21 in transaction mode, which does not know them.
    bool prepare = true;
    /// How many statements a connection keeps prepared: those that were used last.
    std::size_t statements_max = 200;

    /// So many bytes of a stream or of a copy wait for its reader, or for the server. Beyond them
    /// nothing more is read of the server, and a writer waits. One row or one write may be beyond.
    std::size_t stream_bytes = std::size_t{256} * 1024;

    /// How many messages wait for the receiver of a subscription; what comes beyond is lost.
    std::size_t messages_max = 1024;
    /// Of the lots that are drawn; 0: from the system.
    std::uint64_t seed = 0;
};

}  // namespace fairlead::postgres
