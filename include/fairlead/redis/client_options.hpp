// How a connection to Redis behaves.
#pragma once

#include <fairlead/base/time.hpp>
#include <fairlead/redis/parser.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace fairlead::redis {

/// Of a client, of each connection of a pool, and of a subscription.
struct client_options {
    std::string user{};          ///< empty: "default"
    std::string password{};      ///< empty: no authentication
    std::string name{};          ///< what CLIENT LIST shows; empty: none
    std::uint32_t database = 0;  ///< what SELECT selects
    bool resp3 = true;           ///< ask for RESP3; a server without it gets RESP2
    /// How long one attempt to connect may take, with the first commands.
    duration connect_limit = std::chrono::seconds{5};
    /// Commands wait for a reply, and nothing at all has come for so long: the connection is lost.
    /// At least as long as the slowest command runs.
    duration stall = std::chrono::seconds{5};
    /// Nothing has come for so long, and nothing waits for a reply: a PING is sent, so that a peer
    /// that has gone without a word is noticed.
    duration ping_after = std::chrono::seconds{30};
    /// The pause after the first failed attempt to connect; each later one is twice as long, up to
    /// `reconnect_max`. The same after a connection that was lost sooner than such a pause would
    /// take. Half of a pause is drawn by lot.
    duration reconnect_min = std::chrono::milliseconds{50};
    /// The longest pause between two attempts.
    duration reconnect_max = std::chrono::seconds{2};
    /// So long commands wait for a connection. Afterwards those that wait, and each new one, fail
    /// with the error of the last attempt, until an attempt succeeds.
    duration offline_max = std::chrono::seconds{5};
    /// How many commands may wait to be sent or for their replies. Those that were given up count
    /// until their replies have come.
    std::size_t queue_max = 10'000;
    /// How many bytes of commands are put together for one write, but for the last command.
    std::size_t batch_bytes = 64UL << 10;
    /// How many messages wait for the receiver of a subscription; what comes beyond is lost.
    std::size_t messages_max = 1024;
    /// Of replies.
    parser_limits limits{};
    /// Of the lots that are drawn; 0: from the system.
    std::uint64_t seed = 0;
};

}  // namespace fairlead::redis
