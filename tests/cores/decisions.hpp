// What the simulation hears from the scheduler beside accesses: when a worker searches.
#pragma once

#include "cores/simulation.hpp"

namespace fairlead::sched {

template <class... Decided>
[[gnu::always_inline]] inline void trace(const char* what, const Decided&...) noexcept {
    if (__builtin_strcmp(what, "begin_search") == 0) {
        fairlead::cores::simulation::running()->begin_search();
    }
    if (__builtin_strcmp(what, "end_search") == 0) {
        fairlead::cores::simulation::running()->end_search();
    }
}

}  // namespace fairlead::sched
