#include "cores/heap.hpp"

#include "model/checker/replaced_new.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <utility>

extern "C" char end;  // the linker's: behind the static memory

namespace fairlead::cores::heap {

const std::uintptr_t static_end = reinterpret_cast<std::uintptr_t>(&::end);

namespace {

constexpr std::size_t size_min = 64;  // no two blocks share a line

bool active = false;
std::size_t used_size = 0;

// Freed blocks by their size, a power of two. Each links to the next.
std::array<void*, 64> freed{};

// Before each block, on a line of its own: the size.
constexpr std::size_t header_size = size_min;

std::byte* begin() {
    static auto* const all = static_cast<std::byte*>(model::reserve(blocks, blocks_size));
    return all;
}

void* allocate_in_run(std::size_t size, std::size_t alignment) {
    const std::size_t rounded = std::bit_ceil(std::max(size, size_min));
    void*& first = freed[static_cast<std::size_t>(std::countr_zero(rounded))];
    if (first != nullptr && alignment <= size_min) {
        void* const block = first;
        first = *static_cast<void**>(block);
        return block;
    }
    const std::size_t grain = std::max(alignment, size_min);
    const std::size_t aligned = (used_size + header_size + grain - 1) / grain * grain;
    if (aligned + rounded > blocks_size) throw std::bad_alloc{};
    used_size = aligned + rounded;
    std::byte* const block = begin() + aligned;
    *reinterpret_cast<std::size_t*>(block - sizeof(std::size_t)) = rounded;
    return block;
}

}  // namespace

std::span<std::byte> stack_of(std::size_t thread) {
    static auto* const all = static_cast<std::byte*>(model::reserve(stacks, stacks_size));
    if ((thread + 1) * stack_size > stacks_size) throw std::bad_alloc{};
    return {all + thread * stack_size, stack_size};
}

void set_active(bool now) noexcept { active = now; }
bool is_active() noexcept { return active; }
std::size_t used() noexcept { return used_size; }

}  // namespace fairlead::cores::heap

namespace fairlead::model {

void* allocate_block(std::size_t size, std::size_t alignment) {
    if (cores::heap::active) return cores::heap::allocate_in_run(size, alignment);
    const std::size_t needed = std::max(alignment, alignof(std::max_align_t));
    void* const block = std::aligned_alloc(needed, (size + needed - 1) / needed * needed);
    if (block == nullptr) throw std::bad_alloc{};
    return block;
}

void free_block(void* block) noexcept {
    if (cores::heap::offset(block) >= cores::heap::blocks_size) return std::free(block);
    const std::size_t size = *(static_cast<std::size_t*>(block) - 1);
    void*& first = cores::heap::freed[static_cast<std::size_t>(std::countr_zero(size))];
    *static_cast<void**>(block) = std::exchange(first, block);
}

}  // namespace fairlead::model
