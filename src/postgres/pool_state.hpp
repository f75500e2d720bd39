// A pool without its IO: one line of requests, and the connections that serve it.
//
//     query (any task)         owner of a connection (see session.hpp)
//       enqueue ---> line ---> assigned ---> in flight ---> settled
//                      |            take           settle
//                      `--> a connection for itself ---> lent ---> returning ---> free
//
// 1. A request is in exactly one state, and changes it under the mutex.
// 2. The line is in the order of asking. A request for a connection holds up what is behind it
//    until a connection has nothing under way; so it does not starve.
// 3. The ends of batches come in the order of the slots. A slot outlives its request: without one
//    its results are dropped.
// 4. A slot exists before any byte of its request leaves. So what is lost with a slot may have been
//    executed, and what is lost without one was not: that goes to the front of the line again.
// 5. A connection on which a request was given up, or a cancel is on its way, gets nothing new.
#pragma once

#include "postgres/pipeline.hpp"
#include "postgres/request.hpp"
#include "postgres/seat.hpp"

#include <fairlead/coro/task.hpp>
#include <fairlead/detail/io/reconnect_pauses.hpp>
#include <fairlead/detail/sync/mutex.hpp>
#include <fairlead/detail/sync/number_source.hpp>
#include <fairlead/postgres/pool.hpp>
#include <fairlead/postgres/pool_options.hpp>
#include <fairlead/sched/executor.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace fairlead::postgres::detail {

class pool_state : public std::enable_shared_from_this<pool_state> {
public:
    pool_state(executor where, std::string conninfo, pool_options options);

    /// Makes connections when they are needed, and ends those that are not.
    [[nodiscard]] static task<> keep(std::shared_ptr<pool_state> self);
    /// Stops everything at once.
    void shut() noexcept;
    /// Takes nothing new, and waits until all is done.
    [[nodiscard]] task<bool> drain(time_point deadline);
    /// After the keeper and all connections have ended.
    [[nodiscard]] event& ended() noexcept { return ended_; }
    [[nodiscard]] std::stop_token keeper_stop() const noexcept { return stop_.get_token(); }
    [[nodiscard]] pool_stats stats();

    [[nodiscard]] const pool_options& options() const noexcept { return options_; }
    [[nodiscard]] const std::string& conninfo() const noexcept { return conninfo_; }
    [[nodiscard]] executor where() const noexcept { return where_; }
    [[nodiscard]] std::uint64_t draw() noexcept { return lots_.draw(); }
    [[nodiscard]] io::detail::reconnect_pauses make_pauses() noexcept {
        return {options_.reconnect_min, options_.reconnect_max, lots_};
    }

    // For requests and leases.
    void enqueue(request& asked);
    [[nodiscard]] std::optional<bool> withdraw(request& gone) noexcept;
    void give_back(seat& of) noexcept;
    void make_unclean(seat& of) noexcept;

    // For the owner of a connection.
    void opened(seat& of);
    void attempt_failed(const error& why) noexcept;
    /// The next batch to send; null: none.
    [[nodiscard]] slot* take(seat& of);
    /// The owner is about to send a rollback, while nothing is in flight.
    void add_rollback(seat& of);
    /// The oldest batch has ended. Gives the batch that must be sent once again, or null.
    [[nodiscard]] slot* settle(seat& of, batch_end end);
    void lost(seat& of, const error& why) noexcept;
    /// Whether something is to be sent.
    [[nodiscard]] bool has_assigned(const seat& of) noexcept;
    /// Whether something is in flight.
    [[nodiscard]] bool is_used(const seat& of) noexcept;
    void cancel_ended(seat& of) noexcept;
    void add_prepared(std::uint64_t count) noexcept;
    /// The owner has ended.
    void leave(const std::shared_ptr<seat>& of) noexcept;

    enum class duty : std::uint8_t { none, roll_back, cancel, abandon, end };
    struct plan {
        duty now;
        time_point next;  // when to ask again, if nothing happens
    };
    /// What the owner must do. `in_transaction`: all is answered, and the server is in one.
    [[nodiscard]] plan plan_of(seat& of, time_point now, bool in_transaction);

private:
    // Requires mutex_, all.
    void match() noexcept;
    [[nodiscard]] seat* best_for(const request& next) noexcept;
    void fail_queued(const error& why) noexcept;
    void tell_if_drained() noexcept;
    void tell_if_ended() noexcept;
    void note_quiet(seat& of) noexcept;
    [[nodiscard]] bool may_cancel(time_point now) noexcept;

    struct chores {
        std::vector<std::shared_ptr<seat>> begin;  // connections to make
        time_point next;
    };
    [[nodiscard]] chores chores_at(time_point now) noexcept;
    void note_failed_attempt(time_point now, const error& why) noexcept;
    [[nodiscard]] std::size_t wanted() const noexcept;
    [[nodiscard]] time_point retire(time_point now) noexcept;

    const executor where_;
    const std::string conninfo_;
    const pool_options options_;
    sync::number_source lots_;
    std::stop_source stop_;  // of the keeper

    mutable sync::mutex mutex_;
    // Guarded by mutex_.
    request_list line_;
    std::vector<std::shared_ptr<seat>> seats_;
    std::size_t open_ = 0;
    bool grows_ = false;  // a request has met no free connection
    bool is_draining_ = false;
    bool is_shut_ = false;
    bool keeper_ended_ = false;
    io::detail::reconnect_pauses pauses_;
    time_point next_attempt_ = immediately;
    time_point offline_since_;      // that there is no connection, though one is wanted
    std::optional<error> offline_;  // fails each new request
    time_point cancels_since_{};
    std::uint32_t cancels_ = 0;  // since then
    pool_stats counts_;

    auto_event work_;  // for the keeper
    event drained_;
    event ended_;
};

}  // namespace fairlead::postgres::detail
