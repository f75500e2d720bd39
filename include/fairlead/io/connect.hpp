// A connection to the first of several addresses that answers: Happy Eyeballs, RFC 8305.
//
//     auto stream = co_await fl::io::connect_any(addresses, fl::clock::now() + 5s);
//     if (!stream) std::puts(stream.error().to_string().c_str());
//
//     the addresses, by preference -> the families in turn -> attempts -> the first that succeeds
//
// An attempt begins `attempt_delay` after the one before, or at once when one has failed. Attempts
// go on side by side. The first success ends the rest: they are stopped and closed before the
// stream is given. The deadline is that of the whole, not of an attempt.
//
// The addresses may come while attempts are under way, by an `address_feed`: two queries for a name
// need not wait for each other. `dns::connect` does so.
#pragma once

#include <fairlead/base/time.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/detail/sync/mutex.hpp>
#include <fairlead/io/address.hpp>
#include <fairlead/io/network.hpp>
#include <fairlead/io/tcp.hpp>
#include <fairlead/wait/event.hpp>

#include <chrono>
#include <cstdint>
#include <expected>
#include <functional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace fairlead::io {

namespace detail {
class connection_race;
}

/// All have defaults, which are those of RFC 8305.
struct connect_options {
    /// How long after an attempt the next one begins, while none fails. The RFC allows 10 ms to 2
    /// s. Less makes more connections that are closed at once.
    duration attempt_delay = std::chrono::milliseconds{250};
    /// How long IPv4 addresses wait for IPv6 ones that may still come, before the first attempt.
    duration resolution_delay = std::chrono::milliseconds{50};
    /// Of the stream.
    stream_options stream = {};
};

/// An attempt to connect that has not given the stream.
struct failed_attempt {
    address to;           ///< where
    std::error_code why;  ///< what `tcp_stream::connect` has said
};

/// Why there is no connection.
class connect_error {
public:
    /// With the attempts, in the order of their beginning.
    explicit connect_error(std::error_code code, std::vector<failed_attempt> attempts = {}) noexcept
        : code_{code}, attempts_{std::move(attempts)} {}

    /// `timed_out`, `operation_canceled` or `stream_timeout`, as of any wait of IO, if that has
    /// ended it. Otherwise the error of the first attempt, or why there were no addresses to try.
    [[nodiscard]] std::error_code code() const noexcept { return code_; }
    /// Each attempt, with its own error. An attempt that the deadline or a stop has ended has that
    /// error.
    [[nodiscard]] const std::vector<failed_attempt>& attempts() const noexcept { return attempts_; }
    /// The code, and each attempt: "Connection refused ([::1]:80: Connection refused; ...)".
    /// Throws `std::bad_alloc`.
    [[nodiscard]] std::string to_string() const;

private:
    std::error_code code_;
    std::vector<failed_attempt> attempts_;
};

/// What a connect to several addresses gives.
using connect_result = std::expected<tcp_stream, connect_error>;

/// Addresses that come one after the other, for one `connect_any`, which it must outlive.
class address_feed {
public:
    /// None yet.
    address_feed() = default;

    /// Tells which addresses are known now, in the order of preference: those of before and new
    /// ones. What has been tried is not tried again. `complete`: no more will come. Any thread;
    /// throws `std::bad_alloc`.
    void set(std::vector<address> all, bool complete);
    /// Tells that no more will come. Any thread.
    void end() noexcept;

private:
    friend class detail::connection_race;

    sync::mutex mutex_;
    std::vector<address> all_;  // guarded by mutex_
    bool is_news_ = false;      // guarded by mutex_: `all_` was not looked at
    bool is_complete_ = false;  // guarded by mutex_
    auto_event changed_;        // addresses have come, or an attempt has ended
};

/// Connects to the first of `to` that answers, on the scheduler of the task. `to` is in the order
/// of preference; the families take turns, beginning with that of the first. Allocates, and throws
/// `std::bad_alloc`.
///
/// Errors: those of `connect_error::code`; `address_not_available` if `to` is empty. A connection
/// that is there before the deadline or a stop is noticed is a success.
[[nodiscard]] task<connect_result> connect_any(std::vector<address> to, time_point deadline = never,
                                               connect_options options = {});

/// The same with addresses that come meanwhile. It ends with the first success, at the deadline, at
/// a stop, or when the feed has ended and all attempts have failed. While IPv6 addresses may still
/// come, IPv4 ones wait for `resolution_delay`. One call for each feed.
[[nodiscard]] task<connect_result> connect_any(address_feed& from, time_point deadline = never,
                                               connect_options options = {});

/// Connects to a host by its name, until the deadline. Clients take one, so that they need not know
/// of a resolver; `dns::by_name` makes one. It may be called by many tasks at once, and must live
/// until the task of each call has ended.
using name_connector = std::function<task<std::expected<tcp_stream, std::error_code>>(
    std::string host, std::uint16_t port, time_point deadline)>;

}  // namespace fairlead::io
