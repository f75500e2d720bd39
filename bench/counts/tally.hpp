// What a thread has done so far, as the program itself counts it.
#pragma once

#include <cstdint>

namespace bench::counts {

struct tally {
    std::uint64_t clock_reads = 0;
    // Only in the program with counting atomics:
    std::uint64_t loads = 0;
    std::uint64_t stores = 0;  // but for the sequentially consistent ones
    std::uint64_t seq_cst_stores = 0;
    std::uint64_t read_modify_writes = 0;
};

inline thread_local constinit tally here;

}  // namespace bench::counts
