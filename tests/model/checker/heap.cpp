#include "model/checker/heap.hpp"

#include "model/checker/explorer.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

namespace fairlead::model::heap {
namespace {

constexpr unsigned char free_byte = 0xdd;

enum class owner : std::uint32_t { other, scenario, freed };

// Before each block.
struct alignas(16) header {
    void* begin;
    std::size_t size;
    owner owned_by;
};

header& header_of(const void* memory) noexcept {
    return *(static_cast<header*>(const_cast<void*>(memory)) - 1);
}

void* allocate(std::size_t size, std::size_t alignment) {
    void* const begin = std::malloc(sizeof(header) + alignment + size);
    if (begin == nullptr) throw std::bad_alloc{};
    const auto first = reinterpret_cast<std::uintptr_t>(begin) + sizeof(header);
    void* const memory = reinterpret_cast<void*>((first + alignment - 1) & ~(alignment - 1));
    const bool tracked = explorer::owns_allocations();
    ::new (&header_of(memory)) header{begin, size, tracked ? owner::scenario : owner::other};
    if (tracked) explorer::running()->add_allocation(memory);
    return memory;
}

void free(void* memory) noexcept {
    if (memory == nullptr) return;
    header& of = header_of(memory);
    if (of.owned_by == owner::freed) explorer::running()->fail("freed twice");
    if (of.owned_by == owner::other) {
        std::free(of.begin);
        return;
    }
    of.owned_by = owner::freed;
    std::memset(memory, free_byte, of.size);  // a `plain` or an atomic in it is seen to be gone
}

}  // namespace

bool is_freed(const void* memory) noexcept { return header_of(memory).owned_by == owner::freed; }
bool was_written_after_free(const void* memory) noexcept {
    const auto* const bytes = static_cast<const unsigned char*>(memory);
    return !std::all_of(bytes, bytes + size(memory), [](auto each) { return each == free_byte; });
}
std::size_t size(const void* memory) noexcept { return header_of(memory).size; }
void give_back(void* memory) noexcept { std::free(header_of(memory).begin); }

}  // namespace fairlead::model::heap

namespace heap = fairlead::model::heap;

void* operator new(std::size_t size) { return heap::allocate(size, 16); }
void* operator new[](std::size_t size) { return heap::allocate(size, 16); }
void* operator new(std::size_t size, std::align_val_t alignment) {
    return heap::allocate(size, std::max<std::size_t>(static_cast<std::size_t>(alignment), 16));
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
    return heap::allocate(size, std::max<std::size_t>(static_cast<std::size_t>(alignment), 16));
}
void operator delete(void* memory) noexcept { heap::free(memory); }
void operator delete[](void* memory) noexcept { heap::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { heap::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { heap::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { heap::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { heap::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { heap::free(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { heap::free(memory); }
