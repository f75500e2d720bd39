// Operations on a scheduler in simulated time, against a model: see scheduler_check.hpp.
#include "fuzz/scheduler_check.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace fairlead;
    fuzz::scheduler_check<scheduler>{fuzz::input{{data, size}}}.run();
    return 0;
}
