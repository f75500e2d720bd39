// A connection for notifications: it listens again by itself, and keeps what comes until it is
// received.
#pragma once

#include "postgres/link.hpp"
#include "postgres/pool_state.hpp"

#include <fairlead/coro/task.hpp>
#include <fairlead/detail/io/subscription_queue.hpp>
#include <fairlead/postgres/subscription.hpp>

#include <memory>
#include <stop_token>
#include <string>
#include <vector>

namespace fairlead::postgres::detail {

class subscriber {
public:
    subscriber(const std::shared_ptr<pool_state>& pool, std::vector<std::string> channels);

    /// Begins one, and waits until the server has confirmed.
    [[nodiscard]] static task<result<subscription>> listen(std::shared_ptr<pool_state> pool,
                                                           std::vector<std::string> channels,
                                                           time_point deadline);
    /// The owner of the connection.
    [[nodiscard]] static task<> run(std::shared_ptr<subscriber> self);

    [[nodiscard]] auto& messages() noexcept { return messages_; }
    void end() noexcept { stop_.request_stop(); }

private:
    [[nodiscard]] task<result<void>> connect(link& over);
    [[nodiscard]] task<result<void>> serve(link& over);
    [[nodiscard]] task<result<void>> wait_and_consume(link& over, time_point deadline);
    void take_notifications(PGconn& of);
    void note_failed_attempt(const error& why);

    const std::shared_ptr<pool_state> pool_;  // its options and lots
    const std::vector<std::string> channels_;
    std::stop_source stop_;

    io::detail::subscription_queue<notification, error, errc> messages_;
    time_point offline_since_;  // the owner's
};

}  // namespace fairlead::postgres::detail
