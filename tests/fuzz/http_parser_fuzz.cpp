// Bytes as HTTP requests, to the parser of the save-game service alone: see http_parser_check.hpp.
#include "fuzz/http_parser_check.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace fairlead::fuzz;
    check_http_parser<http_parser>(input{{data, size}});
    return 0;
}
