// The system below a simulated program: futexes, threads and time.
#include "cores/pause.hpp"
#include "cores/simulation.hpp"

#include <fairlead/base/clock_override.hpp>
#include <fairlead/detail/os/barrier.hpp>
#include <fairlead/detail/os/futex.hpp>
#include <fairlead/detail/os/thread.hpp>

#include <cstdint>
#include <utility>

namespace {

using fairlead::cores::access;
using fairlead::cores::simulation;

simulation& here() { return *simulation::running(); }

}  // namespace

void fairlead_cores_pause() noexcept { here().spend(here().of().pause); }

namespace fairlead::os {

void futex_wait(const std::uint32_t* word, std::uint32_t expected, time_point deadline) noexcept {
    here().spend(here().of().call);
    here().touch(word, access::load);
    if (*word != expected) return;
    const double limit = deadline == never
                             ? simulation::no_limit
                             : static_cast<double>(deadline.time_since_epoch().count());
    if (limit > here().now()) here().sleep(word, limit);
}

void futex_wake(const std::uint32_t* word, int count) noexcept {
    here().go_in_order();
    const std::size_t woken = here().wake(word, static_cast<std::size_t>(count));
    here().spend(woken == 0 ? here().of().call : here().of().wake);
}

std::expected<thread, std::error_code> start_thread(const std::string& name,
                                                    std::move_only_function<void()> body) {
    here().go_in_order();
    const bool beside = name.ends_with("/monitor");
    here().spend(here().of().wake);
    return thread{here().start_thread(std::move(body), beside)};
}

void thread::join() noexcept {
    here().join_thread(handle_);
    joinable_ = false;
}

int thread_id() noexcept { return static_cast<int>(here().index()) + 1; }

// No step of a scenario waits in the kernel.
bool is_blocked(int) noexcept { return false; }

bool has_heavy_barrier() noexcept { return true; }

bool heavy_barrier() noexcept {
    here().spend(here().of().barrier);
    return true;
}

void yield() noexcept {
    here().spend(here().of().yield);
    here().go_in_order();
}

}  // namespace fairlead::os

namespace fairlead {

// The clock of the thread that asks, in place of src/base/time.cpp.
time_point clock::now() noexcept {
    here().spend(here().of().clock);
    return time_point{duration{static_cast<std::int64_t>(here().now())}};
}

time_point clock::system_now() noexcept { return now(); }

bool clock_override::is_active() noexcept { return false; }

}  // namespace fairlead
