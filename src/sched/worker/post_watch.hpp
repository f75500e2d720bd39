// How a worker that sleeps watches the posts that steps keep, in case a step takes long: it wakes
// up after a while and takes what a step that still runs has kept. One worker watches at a time.
//
// A watch is *due* if a step keeps a post now. The worker also lingers: it goes on watching while
// steps on other slots keep a post now and then, and for some milliseconds after that. Otherwise
// each of these steps would have to wake a worker: in a chain in which each step posts the next at
// its end, a worker that goes to sleep during a step finds no post that is kept.
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

    // Before each sleep of the worker, which sleeps until the result at most, and calls `end` then.
    // `never`: it does not watch.
    [[nodiscard]] time_point begin() noexcept;

    // True: a step that has run since the watch began keeps a post, so a round is to take it.
    [[nodiscard]] bool end() noexcept;

private:
    [[nodiscard]] bool lingers() noexcept;

    static constexpr duration interval_min = std::chrono::microseconds{100};
    static constexpr duration interval_max = std::chrono::milliseconds{1};
    static constexpr int quiet_max = 4;

    core& core_;
    slot& slot_;
    thief& thief_;
    bool is_due_ = false;                  // the watch that has begun
    time_point lingers_until_{};           // and then looks whether it lingers on
    duration interval_ = interval_min;     // of the next watch that is due
    int quiet_left_ = 0;                   // how often it lingers on although no step keeps a post
    std::vector<std::uint64_t> finished_;  // of each slot, when the watch began
    std::vector<std::uint64_t> seen_posts_;  // of each slot: `kept_posts` when it looked last
};

}  // namespace fairlead::sched
