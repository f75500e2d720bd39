// The monitor gives hints that depend on time, and only on time when: in a model nobody is asked.
#include "sched/monitor.hpp"

namespace fairlead::sched {

void monitor::start() {}
void monitor::stop() noexcept {}

}  // namespace fairlead::sched
