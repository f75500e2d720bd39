// Stands in for the atomics of the library and counts the exchanges that failed: how often threads
// were in each other's way. A program of its own, so that counting costs the measured one nothing.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

namespace bench::q1 {

/// Failed exchanges, or mutexes that had to be waited for, on the calling thread.
inline thread_local std::uint64_t contended_here = 0;

}  // namespace bench::q1

namespace fairlead::sync {

inline constexpr auto relaxed = std::memory_order_relaxed;
inline constexpr auto acquire = std::memory_order_acquire;
inline constexpr auto release = std::memory_order_release;
inline constexpr auto acq_rel = std::memory_order_acq_rel;
inline constexpr auto seq_cst = std::memory_order_seq_cst;

inline void light_barrier() noexcept { std::atomic_signal_fence(std::memory_order_seq_cst); }

template <class T>
class atomic {
public:
    atomic() = default;
    constexpr atomic(T value) noexcept : value_{value} {}

    T load(std::memory_order order) const noexcept { return value_.load(order); }
    void store(T value, std::memory_order order) noexcept { value_.store(value, order); }
    T exchange(T value, std::memory_order order) noexcept { return value_.exchange(value, order); }

    bool compare_exchange_weak(T& expected, T desired, std::memory_order success,
                               std::memory_order failure) noexcept {
        return counted(value_.compare_exchange_weak(expected, desired, success, failure));
    }
    bool compare_exchange_strong(T& expected, T desired, std::memory_order success,
                                 std::memory_order failure) noexcept {
        return counted(value_.compare_exchange_strong(expected, desired, success, failure));
    }

private:
    static bool counted(bool succeeded) noexcept {
        if (!succeeded) ++bench::q1::contended_here;
        return succeeded;
    }

    std::atomic<T> value_;
};

/// The mutex between blocks, whose contention counts as well.
class mutex {
public:
    void lock() {
        if (mutex_.try_lock()) return;
        ++bench::q1::contended_here;
        mutex_.lock();
    }
    void unlock() { mutex_.unlock(); }

private:
    std::mutex mutex_;
};

}  // namespace fairlead::sync
