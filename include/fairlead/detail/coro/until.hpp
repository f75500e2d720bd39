// What ends the wait of a root, and what does not.
#pragma once

#include <fairlead/detail/base/language.hpp>

#include <cstdint>

namespace fairlead::coro {

/// What ends the wait of the leaf.
enum class until : std::uint8_t {
    start,       // nothing: its first step is due
    anything,    // a wakeup, a signal, the deadline or a stop
    attempt,     // that the operation succeeds when it is tried, the deadline, or a stop
    deadline,    // only the deadline or a stop
    signal,      // a signal, the deadline, or a stop
    turn,        // nothing: then the operation begins
    completion,  // that the operation has ended; see awaited_operation::interrupt
    agreement,   // a completion after which the operation need not wait: `must_wait` says so
};

/// From what a task is shielded.
struct shield {
    bool from_stop;
    bool from_deadline;
};

}  // namespace fairlead::coro
