// The plain accesses of a simulated program. The compiler calls these functions for each, as it
// would call those of the thread sanitizer.
#include "cores/simulation.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

namespace {

using fairlead::cores::access;
using fairlead::cores::simulation;

void touch(const void* at, access what) {
    if (simulation* const all = simulation::running()) all->touch_plainly(at, what);
}

void touch_range(const void* at, std::size_t size, access what) {
    constexpr std::size_t word = 8;
    for (std::size_t i = 0; i < size; i += word) touch(static_cast<const std::byte*>(at) + i, what);
}

constexpr access loads = access::plain_load;
constexpr access stores = access::plain_store;

}  // namespace

#define FAIRLEAD_CORES_ACCESS(size)                                    \
    void __tsan_read##size(void* at) { touch(at, loads); }             \
    void __tsan_write##size(void* at) { touch(at, stores); }           \
    void __tsan_unaligned_read##size(void* at) { touch(at, loads); }   \
    void __tsan_unaligned_write##size(void* at) { touch(at, stores); } \
    void __tsan_read_write##size(void* at) { touch(at, stores); }

extern "C" {

FAIRLEAD_CORES_ACCESS(1)
FAIRLEAD_CORES_ACCESS(2)
FAIRLEAD_CORES_ACCESS(4)
FAIRLEAD_CORES_ACCESS(8)
FAIRLEAD_CORES_ACCESS(16)

void __tsan_read_range(void* at, std::size_t size) { touch_range(at, size, loads); }
void __tsan_write_range(void* at, std::size_t size) { touch_range(at, size, stores); }
void __tsan_vptr_read(void** at) { touch(at, loads); }
void __tsan_vptr_update(void** at, void*) { touch(at, stores); }
void* __tsan_memcpy(void* to, const void* from, std::size_t size) {
    touch_range(from, size, loads);
    touch_range(to, size, stores);
    return std::memcpy(to, from, size);
}
void* __tsan_memmove(void* to, const void* from, std::size_t size) {
    touch_range(from, size, loads);
    touch_range(to, size, stores);
    return std::memmove(to, from, size);
}
void* __tsan_memset(void* at, int value, std::size_t size) {
    touch_range(at, size, stores);
    return std::memset(at, value, size);
}

}  // extern "C"
