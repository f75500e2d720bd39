// The memory of a scenario: the stacks of its threads, and what `operator new` and `delete` of this
// program give it. What an execution frees is kept until its end, so that a touch of it is seen,
// and what it did not free is known. Addresses are the same in each execution.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace fairlead::model::heap {

// Where the memory of scenarios is, so that addresses are the same in each run of the program, too.
inline constexpr std::uintptr_t region = std::uintptr_t{1} << 44;
inline constexpr std::size_t region_size = std::size_t{32} << 20;
inline constexpr std::size_t stack_size = std::size_t{128} << 10;

/// Zeroed memory for the whole run of the program, which costs nothing until it is used.
void* reserve(std::uintptr_t where, std::size_t size);

/// Where in the memory of scenarios it is; `region_size` or more: elsewhere.
[[nodiscard]] inline std::size_t offset(const void* memory) noexcept {
    return reinterpret_cast<std::uintptr_t>(memory) - region;
}

[[nodiscard]] std::span<std::byte> stack_of(std::size_t thread) noexcept;

/// All blocks are free, for good.
void begin_execution() noexcept;

[[nodiscard]] bool is_freed(const void* block) noexcept;
[[nodiscard]] bool was_written_after_free(const void* block) noexcept;
[[nodiscard]] std::size_t size(const void* block) noexcept;

}  // namespace fairlead::model::heap
