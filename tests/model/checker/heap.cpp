#include "model/checker/heap.hpp"

#include "model/checker/explorer.hpp"
#include "model/checker/races.hpp"
#include "model/checker/replaced_new.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

namespace fairlead::model::heap {
namespace {

constexpr unsigned char free_byte = 0xdd;
constexpr std::size_t alignment_min = 16;
constexpr std::size_t guard_size = 4096;
constexpr std::size_t stacks_size = threads_max * stack_size;

// Before each block of a scenario.
struct alignas(alignment_min) header {
    std::size_t size;
    bool freed;
};

std::byte* at(std::size_t offset) noexcept { return reinterpret_cast<std::byte*>(region) + offset; }

// Before the first use: protects the ends of the stacks, so that an overflow stops the program.
const bool is_ready = [] {
    reserve(region, region_size);
    for (std::size_t i = 0; i != threads_max; ++i) {
        mprotect(at(i * stack_size), guard_size, PROT_NONE);
    }
    return true;
}();

std::size_t used = stacks_size;

header& header_of(const void* block) noexcept {
    return *(static_cast<header*>(const_cast<void*>(block)) - 1);
}

void* allocate_for_scenario(std::size_t size, std::size_t alignment) {
    const std::size_t begin = (used + sizeof(header) + alignment - 1) & ~(alignment - 1);
    if (size > region_size || begin + size > region_size) {
        explorer::running()->fail("the scenario needs too much memory");
    }
    used = begin + size;
    void* const block = at(begin);
    ::new (&header_of(block)) header{size, false};
    explorer::running()->add_allocation(block);
    return block;
}

}  // namespace

std::span<std::byte> stack_of(std::size_t thread) noexcept {
    return {at(thread * stack_size), stack_size};
}

void begin_execution() noexcept { used = stacks_size; }

bool is_freed(const void* block) noexcept { return header_of(block).freed; }
bool was_written_after_free(const void* block) noexcept {
    const std::size_t bytes = size(block);
    if (bytes == 0) return false;
    const auto* const first = static_cast<const unsigned char*>(block);
    // Each byte is as the byte before it.
    return *first != free_byte || std::memcmp(first, first + 1, bytes - 1) != 0;
}
std::size_t size(const void* block) noexcept { return header_of(block).size; }

}  // namespace fairlead::model::heap

namespace fairlead::model {

void* allocate_block(std::size_t size, std::size_t alignment) {
    alignment = std::max(alignment, heap::alignment_min);
    if (explorer::in_scenario()) return heap::allocate_for_scenario(size, alignment);
    void* const block = std::aligned_alloc(alignment, (size + alignment - 1) & ~(alignment - 1));
    if (block == nullptr) throw std::bad_alloc{};
    return block;
}

void free_block(void* block) noexcept {
    if (heap::offset(block) >= heap::region_size) return std::free(block);
    heap::header& of = heap::header_of(block);
    if (of.freed) explorer::running()->fail("freed twice");
    of.freed = true;
    races::free(block, of.size);
    std::memset(block, heap::free_byte,
                of.size);  // a `plain` or an atomic in it is seen to be gone
}

}  // namespace fairlead::model
