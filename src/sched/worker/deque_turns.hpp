// With policy::stealing: which task a worker takes next, so that all have their turn though its
// deque may never be empty.
//
// Nearly always that is the newest task of the deque. Once in `turn_interval` tasks it is the
// oldest of the deque or, by turns, a task from elsewhere: a run, ready, the inbox. The parts that
// such a task divides into come to lie on top of the deque, which grows. So the oldest task has one
// turn in a round_interval. A task from elsewhere has no turn within that interval while the deque
// is longer than at the last such turn. But after `skipped_max` skipped turns each has one, as in
// simulated time an interval may never pass.
//
// Plain code without a clock: the caller says what time it is.
#pragma once

#include <fairlead/base/time.hpp>

#include <cstddef>
#include <cstdint>

namespace fairlead::sched {

class deque_turns {
public:
    enum class turn : std::uint8_t { newest, oldest, elsewhere };

    // A task is about to be taken: whether `next` is to be asked.
    [[nodiscard]] bool is_due() noexcept {
        if (++taken_ < turn_interval) return false;
        taken_ = 0;
        return true;
    }

    [[nodiscard]] turn next(time_point now, duration round_interval, std::size_t size) noexcept {
        oldest_next_ = !oldest_next_;
        if (oldest_next_ &&
            (now - last_oldest_ >= round_interval || ++skipped_oldest_ == skipped_max)) {
            skipped_oldest_ = 0;
            last_oldest_ = now;
            return turn::oldest;
        }
        const bool is_early = size > size_at_turn_ && now - last_elsewhere_ < round_interval;
        if (is_early && ++skipped_ < skipped_max) return turn::newest;
        skipped_ = 0;
        size_at_turn_ = size;
        last_elsewhere_ = now;
        return turn::elsewhere;
    }

    // A round may have found something: a turn is due at once, and not too early for it.
    void hurry() noexcept {
        taken_ = turn_interval;
        size_at_turn_ = SIZE_MAX;
    }

private:
    static constexpr unsigned turn_interval = 64;
    static constexpr unsigned skipped_max = 256;

    unsigned taken_ = 0;
    bool oldest_next_ = false;
    time_point last_oldest_{};
    unsigned skipped_oldest_ = 0;  // turns of the oldest, since then
    time_point last_elsewhere_{};
    std::size_t size_at_turn_ = 0;  // of the deque, at the last turn from elsewhere
    unsigned skipped_ = 0;          // turns from elsewhere, since then
};

}  // namespace fairlead::sched
