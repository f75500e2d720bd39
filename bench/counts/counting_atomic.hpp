// Stands in for the atomics of the library, and counts what each thread does to them. A program of
// its own, so that counting costs the measured one nothing.
#pragma once

#include "counts/tally.hpp"

#include <atomic>
#include <mutex>

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

    T load(std::memory_order order) const noexcept {
        ++bench::counts::here.loads;
        return value_.load(order);
    }
    void store(T value, std::memory_order order) noexcept {
        ++(order == seq_cst ? bench::counts::here.seq_cst_stores : bench::counts::here.stores);
        value_.store(value, order);
    }
    T exchange(T value, std::memory_order order) noexcept {
        ++bench::counts::here.read_modify_writes;
        return value_.exchange(value, order);
    }
    bool compare_exchange_weak(T& expected, T desired, std::memory_order success,
                               std::memory_order failure) noexcept {
        ++bench::counts::here.read_modify_writes;
        return value_.compare_exchange_weak(expected, desired, success, failure);
    }
    bool compare_exchange_strong(T& expected, T desired, std::memory_order success,
                                 std::memory_order failure) noexcept {
        ++bench::counts::here.read_modify_writes;
        return value_.compare_exchange_strong(expected, desired, success, failure);
    }
    T fetch_add(T by, std::memory_order order) noexcept {
        ++bench::counts::here.read_modify_writes;
        return value_.fetch_add(by, order);
    }
    T fetch_sub(T by, std::memory_order order) noexcept {
        ++bench::counts::here.read_modify_writes;
        return value_.fetch_sub(by, order);
    }
    T fetch_and(T bits, std::memory_order order) noexcept {
        ++bench::counts::here.read_modify_writes;
        return value_.fetch_and(bits, order);
    }
    T fetch_or(T bits, std::memory_order order) noexcept {
        ++bench::counts::here.read_modify_writes;
        return value_.fetch_or(bits, order);
    }

private:
    std::atomic<T> value_;
};

/// Counts as futex_mutex.hpp: a lock is one read-modify-write; an unlock a store, and a load of the
/// count of sleepers.
class mutex {
public:
    void lock() {
        ++bench::counts::here.read_modify_writes;
        mutex_.lock();
    }
    [[nodiscard]] bool try_lock() {
        ++bench::counts::here.read_modify_writes;
        return mutex_.try_lock();
    }
    void unlock() {
        ++bench::counts::here.stores;
        ++bench::counts::here.loads;
        mutex_.unlock();
    }

private:
    std::mutex mutex_;
};

/// As without counting.
template <class T, class Tag>
class per_thread {
public:
    [[nodiscard]] static T get() noexcept { return value_; }
    static void set(T value) noexcept { value_ = value; }

private:
    static constinit thread_local T value_;
};

template <class T, class Tag>
constinit thread_local T per_thread<T, Tag>::value_{};

}  // namespace fairlead::sync
