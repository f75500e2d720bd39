// What a push leaves to its caller: to wake a worker. `core::see_to` carries it out.
#pragma once

#include <cstdint>

namespace fairlead::sched {

enum class wake_duty : std::uint8_t {
    none,
    watch,     // the worker keeps the post: another worker must watch it, in case the step is long
    wake,      // there is more than one task for the worker: another worker must search
    announce,  // the push found a front empty: it is to be counted, and a worker must search
};

}  // namespace fairlead::sched
