// What a pool knows of a connection. Guarded by the mutex of the pool.
#pragma once

#include "postgres/request.hpp"

#include <fairlead/base/time.hpp>
#include <fairlead/wait/event.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <stop_token>

namespace fairlead::postgres::detail {

/// A batch that is in flight.
struct slot {
    request* of = nullptr;        // null: it was given up, or is of the owner
    statements what;              // of the owner of the connection alone
    std::shared_ptr<flow> into;   // null: the results come as a whole
    time_point deadline = never;  // of the request
    bool is_again = false;        // it was sent before, with a statement that was stale
    bool was_given_up = false;
};

/// A connection as the pool sees it.
struct seat : std::enable_shared_from_this<seat> {
    // The connection is made, and has not ended.
    bool is_open = false;
    // A transaction has it; then its owner ends the transaction: `is_returning`.
    bool is_lent = false;
    bool is_returning = false;
    // No other user may get it: a statement has changed it.
    bool is_unclean = false;
    // A statement that was sent was given up: the transaction can only be rolled back.
    bool is_broken = false;
    // A stream or a copy has not ended: the statements behind it would wait for its user.
    bool is_flowing = false;
    // It gets nothing new and ends when it is free.
    bool is_retiring = false;
    // A cancel is on its way: nothing must be sent, because the cancel could hit it.
    bool is_cancelling = false;
    bool has_rolled_back = false;

    request_list assigned;
    std::deque<slot, sync::recycling_allocator<slot>> in_flight;
    std::uint64_t first_slot = 0;  // the number of the first one in flight
    std::size_t live = 0;          // how many in flight have a request
    std::size_t given_up = 0;      // how many in flight have none any more

    time_point made_at{};
    time_point quiet_since{};  // while it has nothing to do
    time_point next_cancel = immediately;
    time_point unasked_since{};  // while something is in flight and nothing is live

    auto_event more;  // for the owner
    std::stop_source stop;

    [[nodiscard]] std::size_t load() const noexcept { return assigned.size() + in_flight.size(); }
    [[nodiscard]] bool takes_new() const noexcept {
        return is_open && !is_lent && !is_retiring && !is_cancelling && given_up == 0;
    }
};

}  // namespace fairlead::postgres::detail
