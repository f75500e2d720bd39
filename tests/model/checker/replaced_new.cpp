#include "model/checker/replaced_new.hpp"

#include <sys/mman.h>

#include <new>

namespace fairlead::model {

void* reserve(std::uintptr_t where, std::size_t size) {
    void* const memory =
        mmap(reinterpret_cast<void*>(where), size, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc{};
    return memory;
}

}  // namespace fairlead::model

using fairlead::model::allocate_block;
using fairlead::model::free_block;

void* operator new(std::size_t size) { return allocate_block(size, 0); }
void* operator new[](std::size_t size) { return allocate_block(size, 0); }
void* operator new(std::size_t size, std::align_val_t alignment) {
    return allocate_block(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
    return allocate_block(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { free_block(memory); }
void operator delete[](void* memory) noexcept { free_block(memory); }
void operator delete(void* memory, std::size_t) noexcept { free_block(memory); }
void operator delete[](void* memory, std::size_t) noexcept { free_block(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { free_block(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { free_block(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { free_block(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { free_block(memory); }
