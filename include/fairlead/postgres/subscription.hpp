// Notifications of PostgreSQL: LISTEN and NOTIFY.
//
//     auto news = co_await db.listen("jobs", deadline);
//     for (;;) {
//         const auto came = co_await news->receive();
//         if (!came && came.error().code() == postgres::errc::messages_lost) look_at_the_table();
//         ...
//     }
#pragma once

#include <fairlead/base/time.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/postgres/error.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace fairlead::postgres {

namespace detail {
class subscriber;
}  // namespace detail

/// A notification.
struct notification {
    std::string channel;      ///< where it was sent
    std::string payload;      ///< at most 7,999 bytes
    std::int32_t sender = 0;  ///< the process of the server that has sent it
};

/// The receiving end of a connection for notifications. After a loss of the connection it listens
/// again by itself, and the receiver is told that notifications may be lost: the server keeps none.
/// One task at a time.
class subscription {
public:
    /// @cond internal
    explicit subscription(std::shared_ptr<detail::subscriber> of) noexcept;
    /// @endcond
    /// Takes over the connection of `other`, which has none afterwards.
    subscription(subscription&& other) noexcept;
    /// Ends its own connection, and takes over that of `other`.
    subscription& operator=(subscription&& other) noexcept;
    /// Ends the connection, in the background.
    ~subscription();

    /// The next notification, until `deadline` at the latest. Errors:
    /// - `messages_lost`: the connection was lost and made again, or `messages_max` notifications
    ///   were waiting: some may be missing. Told once for each gap; what was received before comes
    ///   first.
    /// - That of the last attempt to connect, after `offline_max`. Told once; the attempts go on.
    /// - `closed`: the scheduler ends.
    [[nodiscard]] task<result<notification>> receive(time_point deadline = never);

private:
    std::shared_ptr<detail::subscriber> of_;
};

}  // namespace fairlead::postgres
