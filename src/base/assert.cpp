#include <fairlead/detail/base/assert.hpp>

#include <cstdio>
#include <cstdlib>

namespace fairlead::base {

void assertion_failed(const char* condition, const char* reason, const char* file,
                      int line) noexcept {
    std::fprintf(stderr, "fairlead: %s:%d: %s (broken: %s)\n", file, line, reason, condition);
    std::abort();
}

}  // namespace fairlead::base
