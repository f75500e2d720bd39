// The types of `sync/atomic.hpp`, `sync/mutex.hpp` and `sync/per_thread.hpp` on simulated
// processors: each use takes its time. They have the layout of the real ones, so the cache lines
// are the same.
#pragma once

#include "cores/simulation.hpp"

#include <atomic>
#include <cstdint>
#include <type_traits>

// The value of an atomic is no memory of the program beside the use itself.
#define FAIRLEAD_CORES_OWN __attribute__((no_sanitize("thread")))

namespace fairlead::sync {

inline constexpr auto relaxed = std::memory_order_relaxed;
inline constexpr auto acquire = std::memory_order_acquire;
inline constexpr auto release = std::memory_order_release;
inline constexpr auto acq_rel = std::memory_order_acq_rel;
inline constexpr auto seq_cst = std::memory_order_seq_cst;

inline void light_barrier() noexcept {}

template <class T>
class alignas(sizeof(T)) atomic {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(std::uint64_t));
    using order = std::memory_order;
    using use = fairlead::cores::access;

public:
    constexpr atomic() noexcept : atomic(T{}) {}
    FAIRLEAD_CORES_OWN constexpr atomic(T value) noexcept : value_{value} {}
    atomic(const atomic&) = delete;
    atomic& operator=(const atomic&) = delete;

    [[nodiscard]] FAIRLEAD_CORES_OWN T load(order = seq_cst) const noexcept {
        begin(use::load);
        return value_;
    }
    FAIRLEAD_CORES_OWN void store(T value, order how = seq_cst) noexcept {
        begin(how == seq_cst ? use::fenced_store : use::store);
        value_ = value;
    }
    FAIRLEAD_CORES_OWN T exchange(T value, order = seq_cst) noexcept {
        begin(use::change);
        const T before = value_;
        value_ = value;
        return before;
    }
    FAIRLEAD_CORES_OWN T fetch_add(T more, order = seq_cst) noexcept {
        begin(use::change);
        const T before = value_;
        value_ = static_cast<T>(before + more);
        return before;
    }
    FAIRLEAD_CORES_OWN T fetch_sub(T less, order = seq_cst) noexcept {
        begin(use::change);
        const T before = value_;
        value_ = static_cast<T>(before - less);
        return before;
    }
    FAIRLEAD_CORES_OWN T fetch_or(T bits, order = seq_cst) noexcept {
        begin(use::change);
        const T before = value_;
        value_ = static_cast<T>(before | bits);
        return before;
    }
    FAIRLEAD_CORES_OWN T fetch_and(T bits, order = seq_cst) noexcept {
        begin(use::change);
        const T before = value_;
        value_ = static_cast<T>(before & bits);
        return before;
    }
    FAIRLEAD_CORES_OWN bool compare_exchange_strong(T& expected, T desired, order, order) noexcept {
        begin(use::change);
        const bool is_same = __builtin_memcmp(&value_, &expected, sizeof(T)) == 0;
        if (is_same) {
            value_ = desired;
        } else {
            expected = value_;
        }
        return is_same;
    }
    bool compare_exchange_weak(T& expected, T desired, order success, order failure) noexcept {
        return compare_exchange_strong(expected, desired, success, failure);
    }

private:
    void begin(use what) const noexcept {
        if (auto* const all = fairlead::cores::simulation::running()) all->touch(this, what);
    }

    T value_;
};

/// A value that each simulated thread has for itself.
template <class T, class Tag>
class per_thread {
    static_assert(std::is_pointer_v<T>);

public:
    [[nodiscard]] static T get() noexcept {
        auto* const all = fairlead::cores::simulation::running();
        return all == nullptr ? nullptr : reinterpret_cast<T>(all->storage(which_));
    }
    static void set(T value) noexcept {
        fairlead::cores::simulation::running()->storage(which_) =
            reinterpret_cast<std::uint64_t>(value);
    }

private:
    static inline const std::size_t which_ = fairlead::cores::simulation::new_storage();
};

}  // namespace fairlead::sync

// The library's own mutex, on these atomics.
#include <fairlead/detail/sync/futex_mutex.hpp>

namespace fairlead::sync {

using mutex = futex_mutex;

}  // namespace fairlead::sync
