// How the save-game service handles bytes from clients and from its disk: see saves_check.hpp.
#include "fuzz/saves_check.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace fairlead::fuzz;
    check_saves<saves_code>(input{{data, size}});
    return 0;
}
