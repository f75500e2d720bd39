// What is known of a post when it is made.
#pragma once

#include <cstdint>

namespace fairlead::sched {

// How much must be done before the tasks of a post run or sleep. A worker without the role can do
// it up to `again`. The holder of the role takes a task from the sleepers, or puts it there, up to
// `sleeps`. The rest needs a round.
enum class post_kind : std::uint8_t {
    plain,   // a fresh task, due at once
    again,   // due at once, and it goes on: it has had its turn
    woken,   // a sleeper
    sleeps,  // without a deadline and a source
    timed,   // with a deadline or a source
    batch,   // several that are due at once
};

// How many tasks of such a post are to run now, as far as is known. 2: or more.
[[nodiscard]] constexpr unsigned due_of(post_kind kind) noexcept {
    return kind == post_kind::batch ? 2 : kind <= post_kind::woken;
}

struct posted {
    post_kind kind;
    bool last;  // the step ends with it
};

}  // namespace fairlead::sched
