// Which memory belongs to which part of the scheduler, for the table of lines.
#include "cores/machine.hpp"
#include "cores/simulation.hpp"
#include "sched/runtime/core.hpp"
#include "sched/worker/worker.hpp"

#include <cstddef>

namespace fairlead::cores {
namespace {

void name(const void* begin, const void* end, const char* part) {
    const auto size = static_cast<const std::byte*>(end) - static_cast<const std::byte*>(begin);
    simulation::running()->lines().name(begin, static_cast<std::size_t>(size), part);
}

void name_slot(const sched::slot& of) {
    name(&of.runs, &of.runs + 1, "run");
    name(&of.ready_consumer, &of.outbox, "slot, the owner's");
    name(&of.outbox, &of.outbox + 1, "outbox");
    name(&of.finished, &of + 1, "slot, counters");
}

}  // namespace

void name_parts() {
    const sched::core& of = sched::worker::current()->owner();
    name(&of, &of + 1, "core");
    name(&of.inbox, &of.inbox + 1, "inbox");
    name(&of.idle, &of.idle + 1, "idle");
    name(&of.ready, &of.ready + 1, "ready");
    name(&of.role, &of.role + 1, "role");
    for (const auto& each : of.slots) name_slot(*each);
    for (const auto& each : of.workers) name(each.get(), each.get() + 1, "worker");
}

}  // namespace fairlead::cores
