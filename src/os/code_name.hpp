// Code, as people and addr2line know it.
#pragma once

#include <cstdint>
#include <span>

namespace fairlead::os {

// Writes "<object>+0x<offset> <function>+0x<offset>" for an address, ended by a 0; without the function if the object exports none there, or as
// "0x<address>" if it is in no object. Takes locks of the loader, and allocates; does without if there is no memory.
void name_code(std::uintptr_t address, std::span<char> text) noexcept;

}  // namespace fairlead::os
