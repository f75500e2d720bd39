// Functions that record their return addresses, to compare with the addresses that an unwinder
// finds.
#pragma once

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <fstream>
#include <span>
#include <string>

namespace fairlead::test {

/// Whether the system reports where a thread waits, and copies memory that may be unmapped. An
/// emulator and some containers do not.
inline bool system_tells_stacks() {
    std::ifstream file{"/proc/self/task/" + std::to_string(::gettid()) + "/syscall"};
    std::string line;
    long here = 1;
    long there = 2;
    const iovec local{&here, sizeof(here)};
    const iovec remote{&there, sizeof(there)};
    return std::getline(file, line) && line.contains(" 0x") &&
           ::process_vm_readv(::getpid(), &local, 1, &remote, 1, 0) == sizeof(there);
}

/// The return addresses of four functions, each of which calls the next.
class return_addresses {
public:
    static constexpr std::size_t depth = 4;

    /// Records the address for the function `level` calls above the innermost one.
    void note(std::size_t level, void* address) { noted_[level] = address; }

    /// The index of the first in `stack`, where the addresses follow each other; the size of
    /// `stack` if they do not.
    [[nodiscard]] std::size_t find_in(std::span<void* const> stack) const {
        std::array<void*, depth> wanted;
        std::ranges::copy(noted_, wanted.begin());
        const auto found = std::ranges::search(stack, wanted);
        return static_cast<std::size_t>(found.begin() - stack.begin());
    }

private:
    std::array<std::atomic<void*>, depth> noted_{};
};

/// Keeps the compiler from removing memory, and from turning the call before it into a jump.
inline void use(const void* memory) { asm volatile("" : : "r"(memory) : "memory"); }

}  // namespace fairlead::test

/// At the beginning of a function that is not inlined.
#define FAIRLEAD_TEST_NOTE_RETURN(to, level) \
    (to).note(level, __builtin_extract_return_addr(__builtin_return_address(0)))
