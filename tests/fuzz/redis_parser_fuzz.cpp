// Bytes as replies of Redis: see redis_parser_check.hpp. It counts the memory in use.
#include "fuzz/redis_parser_check.hpp"

#include <malloc.h>

#include <cstdlib>
#include <new>

namespace {

std::size_t in_use = 0;

}  // namespace

void* operator new(std::size_t size) {
    void* const made = std::malloc(size);
    if (made == nullptr) throw std::bad_alloc{};
    in_use += malloc_usable_size(made);
    return made;
}
void operator delete(void* gone) noexcept {
    if (gone != nullptr) in_use -= malloc_usable_size(gone);
    std::free(gone);
}
void operator delete(void* gone, std::size_t) noexcept { operator delete(gone); }

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace fairlead::fuzz;
    check_redis_parser<fairlead::redis::parser>(input{{data, size}}, [] { return in_use; });
    return 0;
}
