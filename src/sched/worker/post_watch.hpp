// How a worker that sleeps watches the posts that steps keep, in case a step takes long: it wakes
// up after a while and takes what a step that still runs has kept. One worker watches at a time.
//
// On the thread of the worker alone. Which posts are kept: outbox.hpp; when a worker must watch:
// idle.hpp.
#pragma once

#include "sched/slot/slot.hpp"

#include <fairlead/base/time.hpp>

#include <chrono>
#include <cstdint>
#include <vector>

namespace fairlead::sched {

class core;
class thief;

class post_watch {
public:
    // Throws std::bad_alloc.
    post_watch(core& in, slot& own, thief& thief);
    post_watch(const post_watch&) = delete;
    post_watch& operator=(const post_watch&) = delete;

    // Before each sleep of the worker. True: it watches, so it must sleep for `interval` at most,
    // and then call `end`.
    [[nodiscard]] bool begin() noexcept;
    [[nodiscard]] duration interval() const noexcept { return interval_; }

    // True: a step that runs still has kept posts since the watch began, so a round is to take
    // them.
    [[nodiscard]] bool end() noexcept;

private:
    [[nodiscard]] bool goes_on() noexcept;

    static constexpr duration interval_min = std::chrono::microseconds{100};
    static constexpr duration interval_max = std::chrono::milliseconds{1};
    static constexpr int quiet_max = 4;

    core& core_;
    slot& slot_;
    thief& thief_;
    duration interval_ = interval_min;
    int quiet_left_ = 0;                    // how many watches follow if no step keeps a post
    std::vector<std::uint64_t> finished_;   // of each slot, when the watch began
    std::vector<std::uint64_t> seen_kept_;  // of each slot, when the worker last went to sleep
};

}  // namespace fairlead::sched
