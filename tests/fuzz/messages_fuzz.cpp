// Operations on ports, receivers, choices, gathers and joins against a model: see
// messages_check.hpp.
#include "fuzz/messages_check.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace fairlead;
    fuzz::messages_check<>{fuzz::input{{data, size}}}.run();
    return 0;
}
