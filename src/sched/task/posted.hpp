// What is known of a post when it is made.
#pragma once

#include <cstdint>

namespace fairlead::sched {

// How much must be done before the tasks of a post run or sleep. `plain` and `again` need no role.
// For `woken` and `sleeps` the holder of the role takes the task from the sleepers, or puts it
// there; a single worker needs no role if the task was woken before. The other kinds need a round.
enum class post_kind : std::uint8_t {
    plain,   // a fresh task, due at once
    again,   // a task that has run or slept, due at once: it has had its turn
    woken,   // a sleeper that was woken, and that the role must take from the sleepers
    sleeps,  // is put to sleep by the holder of the role; has no deadline and no source
    timed,   // with a deadline or a source
    batch,   // several tasks that are due at once
};

// How many tasks of a post of this kind are to run now, as far as is known. 2: two or more.
[[nodiscard]] constexpr unsigned due_of(post_kind kind) noexcept {
    return kind == post_kind::batch ? 2 : kind <= post_kind::woken;
}

struct posted {
    post_kind kind;
    bool last;  // the step ends with this post
};

}  // namespace fairlead::sched
