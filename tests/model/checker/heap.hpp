// The heap of a scenario: `operator new` and `delete` of this program, which keep what an execution
// frees until its end, so that a touch of it is seen, and know what it did not free.
#pragma once

#include <cstddef>

namespace fairlead::model::heap {

[[nodiscard]] bool is_freed(const void* memory) noexcept;
[[nodiscard]] bool was_written_after_free(const void* memory) noexcept;
[[nodiscard]] std::size_t size(const void* memory) noexcept;

/// Frees it for good. At the end of an execution.
void give_back(void* memory) noexcept;

}  // namespace fairlead::model::heap
