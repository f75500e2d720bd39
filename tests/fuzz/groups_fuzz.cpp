// Operations on groups in simulated time, against a model: see groups_check.hpp.
#include "fuzz/groups_check.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace fairlead;
    fuzz::groups_check<>{fuzz::input{{data, size}}}.run();
    return 0;
}
