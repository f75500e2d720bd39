// The memory of the simulated program: the stacks of its threads, and what `operator new` returns.
// The addresses are the same in each run, and so are the cache lines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace fairlead::cores::heap {

inline constexpr std::uintptr_t stacks = std::uintptr_t{1} << 44;
inline constexpr std::size_t stack_size = std::size_t{128} << 10;
inline constexpr std::size_t stacks_size = std::size_t{512} * stack_size;
inline constexpr std::uintptr_t blocks = stacks + stacks_size;
inline constexpr std::size_t blocks_size = std::size_t{512} << 20;

/// Where the static memory of the program ends.
extern const std::uintptr_t static_end;

[[nodiscard]] std::span<std::byte> stack_of(std::size_t thread);

/// Whether the directory of lines knows it: a block, or static memory of the program, which is not
/// position-independent. Stacks are their thread's alone, and what is elsewhere moves from run to
/// run.
[[nodiscard]] inline bool has_lines(const void* at) noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(at);
    return address - blocks < blocks_size || address < static_end;
}
/// The offset among the blocks; `blocks_size` or more for other memory.
[[nodiscard]] inline std::size_t offset(const void* at) noexcept {
    return reinterpret_cast<std::uintptr_t>(at) - blocks;
}

/// From now on blocks come from there. Until then, and in between, from the C library.
void set_active(bool active) noexcept;
[[nodiscard]] bool is_active() noexcept;

/// How much of the blocks was ever used.
[[nodiscard]] std::size_t used() noexcept;

}  // namespace fairlead::cores::heap
