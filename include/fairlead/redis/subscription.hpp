// Messages of the channels of Redis.
//
//     auto news = co_await client.subscribe("news", deadline);
//     for (;;) {
//         const auto message = co_await news->receive();
//         if (!message && message.error().code() == redis::errc::messages_lost) reload();
//         ...
//     }
#pragma once

#include <fairlead/base/time.hpp>
#include <fairlead/coro/join_handle.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/redis/error.hpp>

#include <memory>
#include <string>
#include <vector>

namespace fairlead::redis {

namespace detail {
class subscriber;
}  // namespace detail

/// A message.
struct message {
    std::string channel;  ///< where it was published
    std::string pattern;  ///< which pattern has matched; empty: it was subscribed by its name
    std::string payload;  ///< what was published
};

/// The receiving end of a connection for messages. After a loss of the connection it subscribes
/// again by itself, and the receiver is told that messages may be lost. One task at a time.
class subscription {
public:
    /// @cond internal
    subscription(std::shared_ptr<detail::subscriber> of, join_handle<void> owner) noexcept;
    /// @endcond
    /// Takes over the connection of `other`, which has none afterwards.
    subscription(subscription&& other) noexcept;
    /// Ends its own connection, and takes over that of `other`.
    subscription& operator=(subscription&& other) noexcept;
    /// Ends the connection, in the background.
    ~subscription();

    /// The next message, until `deadline` at the latest. Errors:
    /// - `messages_lost`: the connection was lost and made again, or `messages_max` messages were
    ///   waiting: some may be missing. Told once for each gap; what was received before comes
    ///   first.
    /// - The server's, if it refuses the channels; or that of the last attempt to connect, after
    ///   `offline_max`. Told once; the attempts go on.
    /// - `closed`: the scheduler ends.
    [[nodiscard]] task<result<message>> receive(time_point deadline = never);

    /// Listens to a further channel. After an error of the connection it is subscribed with the
    /// next one.
    [[nodiscard]] task<result<void>> add(std::string channel, time_point deadline = never);
    /// Listens to a channel no more.
    [[nodiscard]] task<result<void>> remove(std::string channel, time_point deadline = never);

private:
    void end() noexcept;

    std::shared_ptr<detail::subscriber> of_;
    join_handle<void> owner_;
};

}  // namespace fairlead::redis
