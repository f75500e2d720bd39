// The events of an inotify descriptor: read in batches, taken one by one, moves in one piece.
//
// Answers: what is the next event? `take` never waits; it is called by the task that waits for
// events, and `forget` by any thread, both under the mutex.
//
// 1. Events are kept as the kernel has written them, and made into values when they are taken. So
//    no memory is needed to read them, and none is lost for the lack of it.
// 2. A move is two events with the same cookie. The kernel queues them one after the other, but
//    events of other threads may be between them, and a read may fall between them. So the first
//    half waits in front until the second one is there, or `events_between_max` events are behind
//    it, or `file_watch::move_patience` has passed. Then what it was is told without the other
//    half, and the second half, if it comes, is a move of its own: that is also true.
// 3. A watch that was removed has events in the kernel's queue still. They are dropped when they
//    come. The numbers are forgotten at the kernel's last event of the watch (IN_IGNORED), or, as
//    that one may be lost by an overflow, when the queue was empty.
#pragma once

#include <fairlead/base/time.hpp>
#include <fairlead/detail/sync/mutex.hpp>
#include <fairlead/io/file_event.hpp>

#include <sys/inotify.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace fairlead::io {

class inotify_queue {
public:
    static constexpr std::size_t events_between_max = 64;

    // Of a non-blocking inotify descriptor, which outlives it.
    explicit inotify_queue(int fd) noexcept : fd_{fd} {}

    // The next event; or an error of the system; or neither: nothing before `until`, unless the
    // descriptor becomes readable. Throws std::bad_alloc; then nothing has been taken.
    struct taken {
        std::optional<file_event> event = {};
        int error = 0;
        time_point until = never;
    };
    [[nodiscard]] taken take(time_point now);

    // Ends the watch `which`, and drops its events. 0, or an error of the system. Throws
    // std::bad_alloc; then nothing has changed.
    [[nodiscard]] int forget(watched_id which);

private:
    struct entry {
        std::size_t at;
        std::size_t size;  // of the whole event
        int watch;
        std::uint32_t mask;  // 0: it was taken, or dropped
        std::uint32_t cookie;
        std::string_view name;
    };

    [[nodiscard]] entry entry_at(std::size_t at) const noexcept;
    void drop(const entry& one) noexcept;
    [[nodiscard]] int fill() noexcept;
    [[nodiscard]] bool is_forgotten(const entry& one) noexcept;
    [[nodiscard]] bool may_wait_for_half(std::size_t behind, time_point now) noexcept;
    [[nodiscard]] taken take_first_half(const entry& first, time_point now);

    const int fd_;

    sync::mutex mutex_;
    // Guarded by mutex_:
    std::size_t begin_ = 0;
    std::size_t end_ = 0;
    std::optional<time_point> half_until_;  // until when the half in front waits for the other
    std::vector<int> forgotten_;
    std::array<std::byte, 16 * 1024> buffer_;  // 60 events with the longest names
};

}  // namespace fairlead::io
