// Names of code, for people and for addr2line.
#pragma once

#include <cstdint>
#include <span>

namespace fairlead::diagnostics {

// Writes the name of an address, ended by a 0:
//     <object>+0x<offset> <function>+0x<offset>
//     <object>+0x<offset>      the object exports no function there
//     0x<address>              the address is in no object
// Takes locks of the loader. Allocates, and leaves the name of the function out if there is no
// memory.
void name_code(std::uintptr_t address, std::span<char> text) noexcept;

}  // namespace fairlead::diagnostics
