// What a scenario asks of the machine that it runs on: a simulated one (simulated.cpp), or this one
// (real.cpp).
#pragma once

#include "cores/waits.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace fairlead {
class scheduler;
}

namespace fairlead::cores {

/// Before `run`: "name=value". False: the machine has no such setting.
[[nodiscard]] bool set(std::string_view name, double value);

/// Runs `body`, on a machine for so many workers.
void run(std::size_t workers, std::function<void()> body);

/// The time in ns, by a reading of the clock.
[[nodiscard]] std::int64_t now() noexcept;

/// Works, with an eye on the clock, until then. Returns the time.
std::int64_t work_until(std::int64_t end) noexcept;

/// A task has waited for so long. It counts within the window.
void count_wait(std::int64_t ns) noexcept;

/// The memory belongs to the tasks of the scenario.
void name_tasks(const void* at, std::size_t size);
/// From a step: the memory of the parts of its scheduler.
void name_parts();

/// The window in which all is counted. From the thread of `run`.
void begin_window();
void end_window();

/// The waits of all tasks in the window.
[[nodiscard]] waits waits_of_all();

/// Further members of a JSON object on the window, each with a comma before it.
[[nodiscard]] std::string print_window();

}  // namespace fairlead::cores
