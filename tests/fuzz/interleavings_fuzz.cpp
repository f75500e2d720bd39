// The real scheduler in the model checker: see interleavings_check.hpp. A failure prints its
// choices, which `options::replay` takes, and what happened step by step.
//
// It has no sanitizers. The address sanitizer cannot follow the switches between the checker's
// fibers, whose stacks are not unwound, and the checker tracks the memory of a scenario itself. The
// sanitizer of undefined behaviour sees the same code in scheduler_fuzz, and would cost executions
// here.
#include "fuzz/interleavings_check.hpp"

#include <cstdio>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace fairlead;
    const model::verdict found = fuzz::check_interleaving<scheduler>(fuzz::input{{data, size}});
    if (found.passed) return 0;
    std::fprintf(stderr, "%s\nreplay: %s\n%s", found.what.c_str(), found.choices.c_str(),
                 found.trace.c_str());
    std::abort();
}
