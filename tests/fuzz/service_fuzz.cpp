// Requests to a connection of the save-game service: see service_check.hpp.
#include "fuzz/service_check.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace fairlead::fuzz;
    check_service<service_code>(input{{data, size}});
    return 0;
}
