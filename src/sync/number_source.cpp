#include <fairlead/detail/sync/number_source.hpp>

#include <random>

namespace fairlead::sync {

std::uint64_t seed_of_system() {
    std::random_device system;
    const std::uint64_t high = system();
    return high << 32 | system();
}

}  // namespace fairlead::sync
