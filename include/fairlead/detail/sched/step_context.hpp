// What the functions that a step calls in parallel have in common.
#pragma once

namespace fairlead {

class basic_task;

namespace sched {

struct home;

struct step_context {
    home* of = nullptr;            // where its task was posted
    basic_task* bearer = nullptr;  // see access::bearer
};

}  // namespace sched
}  // namespace fairlead
