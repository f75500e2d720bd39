// Functions that note where they return to, to compare with what is found on their stack.
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

/// Whether the system tells where a thread waits, and copies memory that may not be there: not in
/// an emulator, nor in some containers.
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

/// Where four functions return to of which each calls the next.
class return_addresses {
public:
    static constexpr std::size_t depth = 4;

    /// Of the function that is so many calls away from the innermost.
    void note(std::size_t level, void* address) { noted_[level] = address; }

    /// At which place of the stack they stand, one after the other; its size: at none.
    [[nodiscard]] std::size_t find_in(std::span<void* const> stack) const {
        std::array<void*, depth> wanted;
        std::ranges::copy(noted_, wanted.begin());
        const auto found = std::ranges::search(stack, wanted);
        return static_cast<std::size_t>(found.begin() - stack.begin());
    }

private:
    std::array<std::atomic<void*>, depth> noted_{};
};

/// Keeps the compiler from leaving out memory, and from making the call before a jump.
inline void use(const void* memory) { asm volatile("" : : "r"(memory) : "memory"); }

}  // namespace fairlead::test

/// At the beginning of a function that is not inlined.
#define FAIRLEAD_TEST_NOTE_RETURN(to, level) \
    (to).note(level, __builtin_extract_return_addr(__builtin_return_address(0)))
