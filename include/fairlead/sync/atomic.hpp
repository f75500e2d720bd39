// The atomic seam: the only header that names `std::atomic` and its memory orders.
//
// Everything concurrent in the library says `sync::atomic<T>` and `sync::acquire`, so that the same
// code can be compiled against a model checker, which supplies these names with
// `FAIRLEAD_ATOMIC_HEADER`. There are no standalone fences but `light_barrier`: thread sanitizers cannot see them. Where
// two threads each write and then look at what the other wrote, both sides are read-modify-writes of
// one word, or all four accesses are sequentially consistent.
#pragma once

#include <fairlead/base/language.hpp>

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

// Between a store and a load of a thread, against another that has os::heavy_barrier between its own: of the two loads
// one sees the other's store [HO1]. Two light ones order nothing. Costs nothing but what the compiler may not do: seq_cst, as no
// weaker order keeps it from moving the load before the store.
inline void light_barrier() noexcept { std::atomic_signal_fence(std::memory_order_seq_cst); }

}  // namespace fairlead::sync

#endif
