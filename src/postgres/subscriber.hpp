// A connection for notifications: it listens again by itself, and keeps what comes until it is
// received.
#pragma once

#include "postgres/link.hpp"
#include "postgres/pool_state.hpp"

#include <fairlead/coro/task.hpp>
#include <fairlead/detail/sync/mutex.hpp>
#include <fairlead/postgres/subscription.hpp>
#include <fairlead/wait/event.hpp>

#include <deque>
#include <memory>
#include <optional>
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

    [[nodiscard]] task<result<notification>> receive(time_point deadline);
    void end() noexcept { stop_.request_stop(); }

private:
    [[nodiscard]] task<result<void>> opened(time_point deadline);
    [[nodiscard]] task<result<void>> connect(link& over);
    [[nodiscard]] task<result<void>> serve(link& over);
    [[nodiscard]] task<result<void>> wait_and_consume(link& over, time_point deadline);
    [[nodiscard]] std::optional<result<notification>> try_receive();
    void take_notifications(PGconn& of);
    void keep(notification came);
    void note_opened() noexcept;
    void note_lost() noexcept;
    void note_failed_attempt(const error& why) noexcept;
    void note_end() noexcept;

    const std::shared_ptr<pool_state> pool_;  // its options and lots
    const std::vector<std::string> channels_;
    std::stop_source stop_;

    sync::mutex mutex_;
    // Guarded by mutex_.
    std::deque<std::optional<notification>> messages_;  // nothing: a gap
    bool has_gap_ = false;                              // behind the last message
    bool was_opened_ = false;
    bool is_over_ = false;
    std::optional<error> failure_;
    time_point offline_since_;

    auto_event news_;  // for the receiver
};

}  // namespace fairlead::postgres::detail
