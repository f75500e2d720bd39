// The atomic seam: the only header that names `std::atomic` and its memory orders.
//
// All concurrent code of the library says `sync::atomic<T>` and `sync::acquire`, so that the same
// code can be compiled against a model checker, which supplies these names with
// `FAIRLEAD_ATOMIC_HEADER`. The only standalone fence is `light_barrier`, because thread sanitizers
// do not see fences. Where two threads each write and then look at what the other wrote, both sides
// are read-modify-writes of one word, or all four accesses are sequentially consistent.
#pragma once

#include <fairlead/detail/base/language.hpp>

#ifdef FAIRLEAD_ATOMIC_HEADER
#include FAIRLEAD_ATOMIC_HEADER
#else

#include <atomic>

namespace fairlead::sync {

template <class T>
using atomic = std::atomic<T>;

inline constexpr auto relaxed = std::memory_order_relaxed;
inline constexpr auto acquire = std::memory_order_acquire;
inline constexpr auto release = std::memory_order_release;
inline constexpr auto acq_rel = std::memory_order_acq_rel;
inline constexpr auto seq_cst = std::memory_order_seq_cst;

// Stands between a store and a load of one thread, against a second thread with os::heavy_barrier
// between its own store and load: at least one of the two loads sees the store of the other thread
// [HO1]. Two light barriers order nothing. It costs no instruction, and only restricts the
// compiler: seq_cst, as no weaker order keeps the compiler from moving the load before the store.
inline void light_barrier() noexcept { std::atomic_signal_fence(std::memory_order_seq_cst); }

}  // namespace fairlead::sync

#endif
