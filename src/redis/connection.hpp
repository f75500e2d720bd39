// One connection to Redis, kept up by one task, the owner.
//
//     send (any task)          writer                 server            reader
//       enqueue ----> queue ---------> one write ------------------> replies, by order
//                                 in flight <------------------------- complete
//
// The owner connects, says HELLO, and runs two children until one of them fails: the writer and the
// reader. Then it fails what was in flight, and connects again.
//
// 1. A request lives in the frame of its sender, and is in exactly one state: out, queued, sent, or
//    done. All transitions happen under `mutex_`.
// 2. The replies come in the order of the slots. A slot outlives its request: without one its
//    replies are dropped. So a request that is given up costs the connection nothing.
// 3. A request is told under the mutex that it is done, and its sender takes the mutex before the
//    request ends. So the reader touches no request that is gone.
// 4. A slot exists before any byte of its request leaves. So what is lost with a slot may have been
//    executed, and what is lost without one was not.
#pragma once

#include <fairlead/coro/scope.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/detail/io/reconnect_pauses.hpp>
#include <fairlead/detail/sync/mutex.hpp>
#include <fairlead/detail/sync/number_source.hpp>
#include <fairlead/redis/client_options.hpp>
#include <fairlead/redis/command.hpp>
#include <fairlead/redis/connector.hpp>
#include <fairlead/redis/error.hpp>
#include <fairlead/redis/parser.hpp>
#include <fairlead/wait/event.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace fairlead::redis::detail {

class connection;

/// What a sender waits for: the replies of some commands, which are sent together.
class request {
public:
    /// One place of `into` for each reply. A `subscribe` has one reply, after `confirmations`.
    request(connection& to, std::span<const command> commands, std::span<value> into) noexcept
        : to_{to}, commands_{commands}, into_{into} {}
    request(const request&) = delete;
    request& operator=(const request&) = delete;
    ~request() { static_cast<void>(withdraw()); }

    /// Only on the connection with this number, on which the commands before were sent; 0: on any.
    std::uint64_t generation = 0;
    /// How long the server may wait before it replies.
    duration blocks_for = duration::zero();
    /// How many pushes confirm the command; 0: it has replies.
    std::size_t confirmations = 0;

    /// Sends it and waits until it is done. The results are in `into`.
    [[nodiscard]] task<result<void>> finish(time_point deadline);

private:
    friend class connection;
    enum class state : std::uint8_t { out, queued, sent, done };

    /// Ends its place. Whether it was sent; nothing: it is done.
    std::optional<bool> withdraw() noexcept;

    connection& to_;
    const std::span<const command> commands_;
    const std::span<value> into_;
    std::size_t got_ = 0;
    state state_ = state::out;
    std::uint64_t slot_ = 0;  // its number, while it is sent
    request* previous_ = nullptr;
    request* following_ = nullptr;
    std::optional<error> failure_;
    event done_;
};

class connection {
public:
    connection(connector connect, client_options options);
    connection(const connection&) = delete;
    connection& operator=(const connection&) = delete;
    virtual ~connection() = default;

    /// The owner: keeps `self` connected until it is asked to stop.
    [[nodiscard]] static task<> run(std::shared_ptr<connection> self);

    /// Takes no more requests, and waits until the last one is done. Then the owner should stop.
    [[nodiscard]] task<bool> drain(time_point deadline);
    /// After the owner has ended.
    [[nodiscard]] event& ended() noexcept { return ended_; }

    struct counts {
        std::size_t queued, in_flight;
        std::uint64_t connects, sent, given_up, pushes_dropped;
        std::error_code last_failure;
    };
    [[nodiscard]] counts count();
    [[nodiscard]] const client_options& options() const noexcept { return options_; }
    /// Whether nothing is queued or in flight.
    [[nodiscard]] bool is_quiet();

protected:
    /// What is sent on each new connection before anything else, with its confirmations.
    struct opening {
        command what;
        std::size_t confirmations;
    };
    [[nodiscard]] virtual std::vector<opening> openings() { return {}; }
    /// All openings were confirmed; or the server has refused one. By the reader.
    virtual void on_opened(const value* /*refused*/) {}
    /// A message has come. By the reader.
    virtual void on_push(value /*message*/) { dropped(); }
    /// The connection has ended; or it was not made for `offline_max`, because of `why`.
    virtual void on_lost() {}
    virtual void on_offline(const error& /*why*/) {}
    /// Whether arrays can be messages, as in RESP2.
    [[nodiscard]] virtual bool is_subscriber() const noexcept { return false; }

    void dropped();

    mutable sync::mutex mutex_;

private:
    friend class request;

    struct slot {
        request* of;  // null: given up, or none
        std::size_t left;
        bool by_push;
        bool is_opening;
        duration blocks_for;
        time_point sent_at;  // never: it is being written
    };

    // Requests.
    void enqueue(request& asked);
    [[nodiscard]] std::optional<bool> withdraw(request& gone) noexcept;
    void unlink(request& queued) noexcept;
    void settle(request& done, std::optional<error> failure) noexcept;
    void fail_queued(const error& why, bool only_bound) noexcept;
    void fail_in_flight(const error& why) noexcept;
    void tell_if_drained() noexcept;

    // The owner.
    [[nodiscard]] task<result<void>> open();
    [[nodiscard]] task<> serve();
    void begin_generation();
    void end_generation();
    void note_failed_attempt(const error& why);
    void end() noexcept;

    // The children.
    [[nodiscard]] task<> write_loop(scope& both);
    [[nodiscard]] task<> write_until_lost();
    [[nodiscard]] task<> read_loop(scope& both);
    [[nodiscard]] task<> read_until_lost();
    void take_queued(std::string& out);
    void add_slot(request* of, std::size_t replies, std::size_t confirmations, bool is_opening,
                  duration blocks_for);
    void pop_slot() noexcept;
    void note_written();
    [[nodiscard]] time_point read_limit(time_point now);
    [[nodiscard]] bool has_stalled(time_point now);
    [[nodiscard]] bool deliver();
    [[nodiscard]] bool take_reply(value reply);
    void take_push(value message);
    void lose(std::error_code why) noexcept;

    const client_options options_;
    const connector connect_;
    sync::number_source lots_;

    // Of the owner and its children alone.
    std::optional<any_stream> stream_;
    parser parser_;
    bool resp3_ = false;
    std::vector<opening> openings_;

    // Guarded by mutex_.
    request* first_ = nullptr;  // of the queue
    request* last_ = nullptr;
    std::size_t queued_ = 0;
    std::deque<slot> in_flight_;
    std::uint64_t first_slot_ = 0;  // the number of the first one in flight
    std::size_t written_ = 0;       // how many of these were written
    std::uint64_t generation_ = 0;
    std::size_t openings_left_ = 0;
    bool is_connected_ = false;
    bool is_draining_ = false;
    bool has_ended_ = false;
    bool ping_wanted_ = false;
    time_point received_at_{};
    time_point offline_since_{};
    std::optional<error> offline_;  // fails each new request
    std::error_code lost_by_;
    counts counts_{};

    auto_event more_;  // for the writer
    event drained_;
    event ended_;
};

}  // namespace fairlead::redis::detail
