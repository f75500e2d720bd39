// Texts and values that a user gives: see options_check.hpp.
#include "fuzz/options_check.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace fairlead::fuzz;
    check_options<options_code>(input{{data, size}});
    return 0;
}
