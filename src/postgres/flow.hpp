// What is between the owner of a connection and the user of a stream of rows, or of a copy: the
// portions that one of them has and the other has not taken yet.
//
//     rows, copy out:   server --> owner: push ---> portions ---> user: take
//     copy in:          user: put ---> portions ---> owner: take_chunk --> server
//
// 1. There are at most `bytes_max` and one portion more. So the owner reads no more of the server
//    while the user takes nothing, and the user waits while the server takes nothing.
// 2. After a pause it goes on when half of them are gone: so a portion is not a wake.
// 3. An end is told after all portions that came before it.
#pragma once

#include <fairlead/coro/task.hpp>
#include <fairlead/detail/sync/mutex.hpp>
#include <fairlead/postgres/error.hpp>
#include <fairlead/postgres/rows.hpp>
#include <fairlead/wait/event.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace fairlead::postgres::detail {

struct seat;

class flow {
public:
    enum class kind : std::uint8_t { rows, copy_out, copy_in };
    /// Some rows, or bytes of a copy.
    struct portion {
        rows some;
        std::string bytes;
        std::size_t size = 0;
    };

    flow(kind what, std::shared_ptr<seat> at, std::size_t bytes_max);

    [[nodiscard]] kind what() const noexcept { return what_; }
    [[nodiscard]] bool is_copy() const noexcept { return what_ != kind::rows; }

    // For the user. One task at a time.

    /// The next portion; nothing: the end, then see `last`.
    [[nodiscard]] task<result<std::optional<portion>>> take(time_point deadline);
    /// Waits for room, and takes the bytes as a whole, or none of them.
    [[nodiscard]] task<result<void>> put(std::string_view bytes, time_point deadline);
    /// Nothing more is put; waits for the end.
    [[nodiscard]] task<result<void>> finish(time_point deadline);
    /// Nothing more is put or taken.
    void abandon() noexcept;
    /// After the end: what the server says of the whole.
    [[nodiscard]] rows last() const;
    /// The failure, if it has ended with one.
    [[nodiscard]] std::optional<error> failure() const;
    /// How many bytes wait.
    [[nodiscard]] std::size_t buffered() const noexcept;

    // For the owner.

    /// Whether more is to be read of the server. False: the owner is woken later.
    [[nodiscard]] bool may_push() noexcept;
    void push(rows some, std::size_t size);
    void push(std::string_view bytes);
    [[nodiscard]] std::optional<std::string> take_chunk();
    /// Nothing more will be put, and nothing is left.
    [[nodiscard]] bool is_finished() const noexcept;
    [[nodiscard]] bool is_abandoned() const noexcept;

    // For the pool.
    void end(const std::optional<error>& failure, rows last) noexcept;

private:
    [[nodiscard]] std::optional<result<std::optional<portion>>> try_take();
    [[nodiscard]] std::optional<result<void>> try_put(std::string_view bytes);
    [[nodiscard]] std::optional<result<void>> ended() const;
    [[nodiscard]] portion take_first();

    const kind what_;
    const std::shared_ptr<seat> at_;
    const std::size_t bytes_max_;

    mutable sync::mutex mutex_;
    // Guarded by mutex_.
    std::deque<portion> portions_;
    std::size_t bytes_ = 0;   // of the portions
    bool is_paused_ = false;  // the side that puts waits for room
    bool is_finished_ = false;
    bool is_abandoned_ = false;
    bool is_over_ = false;
    std::optional<error> failure_;
    rows last_;

    auto_event news_;  // for the user
};

}  // namespace fairlead::postgres::detail
