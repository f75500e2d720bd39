#include <fairlead/sched/blocked_step.hpp>

#include "sched/block/stack_reader.hpp"

#include <array>
#include <cstdint>

namespace fairlead {

void blocked_step::print(std::FILE* to) const noexcept {
    const sched::stack_reader* const reader = sched::current_stack_reader();
    std::fprintf(
        to,
        "fairlead: a step of the task \"%s\" blocks, and its worker %s: see "
        "docs/manual/blocking.md\n%s",
        name, keeps_slot ? "runs nothing else meanwhile" : "goes on on another thread",
        reader == nullptr ? "    to see its calls: fairlead::diagnostics::enable_stacks()\n" : "");
    if (reader == nullptr) return;
    for (void* const each : stack) {
        std::array<char, 512> text;
        reader->name(reinterpret_cast<std::uintptr_t>(each) - 1, text);  // - 1: within the call
        std::fprintf(to, "    %s\n", text.data());
    }
}

}  // namespace fairlead
