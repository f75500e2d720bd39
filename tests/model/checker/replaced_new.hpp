// What `operator new` and `delete` of a program call that has memory at addresses of its own: a
// program of model tests, and the simulation of many cores. The program defines `allocate_block`
// and `free_block`.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fairlead::model {

/// `alignment` 0: that of every object. Throws std::bad_alloc.
[[nodiscard]] void* allocate_block(std::size_t size, std::size_t alignment);
void free_block(void* block) noexcept;

/// Zeroed address space for the whole run of the program. Pages cost nothing until they are used.
/// Throws std::bad_alloc.
void* reserve(std::uintptr_t where, std::size_t size);

}  // namespace fairlead::model
