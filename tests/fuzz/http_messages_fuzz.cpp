// Bytes as HTTP messages, to the parsers of fairlead::http: see http_messages_check.hpp.
#include "fuzz/http_messages_check.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace fairlead;
    fuzz::check_http_messages<http::request_parser, http::response_parser>(
        fuzz::input{{data, size}});
    return 0;
}
