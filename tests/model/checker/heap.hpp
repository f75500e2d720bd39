// The memory of a scenario: the stacks of its threads, and what `operator new` and `delete` of this
// program return. A freed block is kept until the end of the execution, so that the checker notices
// touches of it. The checker also finds the blocks that the execution did not free. Addresses are
// the same in each execution.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace fairlead::model::heap {

// Where the memory of scenarios is, so that addresses are the same in each run of the program, too.
inline constexpr std::uintptr_t region = std::uintptr_t{1} << 44;
inline constexpr std::size_t region_size = std::size_t{32} << 20;
inline constexpr std::size_t stack_size = std::size_t{128} << 10;

/// The offset in the memory of scenarios; `region_size` or more for other memory.
[[nodiscard]] inline std::size_t offset(const void* memory) noexcept {
    return reinterpret_cast<std::uintptr_t>(memory) - region;
}

[[nodiscard]] std::span<std::byte> stack_of(std::size_t thread) noexcept;

/// Begins an execution: all blocks are free again.
void begin_execution() noexcept;

[[nodiscard]] bool is_freed(const void* block) noexcept;
[[nodiscard]] bool was_written_after_free(const void* block) noexcept;
[[nodiscard]] std::size_t size(const void* block) noexcept;

}  // namespace fairlead::model::heap
