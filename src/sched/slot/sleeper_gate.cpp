#include "sched/slot/sleeper_gate.hpp"

#include <fairlead/base/time.hpp>
#include <fairlead/detail/os/futex.hpp>

#include <chrono>
#include <cstdint>

namespace fairlead::sched {

void sleeper_gate::close() noexcept {
    open_.store(false, sync::relaxed);  // the barrier orders it
    if (!may_open_ || os::heavy_barrier()) return;
    // The system has taken the barrier away since the start: a sandbox, say. Any store of a worker
    // that has seen the gate open is seen by all after some microseconds.
    const std::uint32_t nobody_wakes = 0;
    const time_point until = after(clock::system_now(), std::chrono::milliseconds{10});
    while (clock::system_now() < until) os::futex_wait(&nobody_wakes, 0, until);
}

}  // namespace fairlead::sched
