#include <fairlead/sched/blocked_step.hpp>

#include "os/code_name.hpp"

#include <array>
#include <cstdint>

namespace fairlead {

void blocked_step::print(std::FILE* to) const noexcept {
    std::fprintf(to,
                 "fairlead: a step of the task \"%s\" blocks, and its worker %s: see "
                 "docs/manual/blocking.md\n",
                 name, keeps_slot ? "runs nothing else meanwhile" : "goes on on another thread");
    for (void* const each : stack) {
        std::array<char, 512> text;
        os::name_code(reinterpret_cast<std::uintptr_t>(each) - 1, text);  // - 1: within the call
        std::fprintf(to, "    %s\n", text.data());
    }
}

}  // namespace fairlead
