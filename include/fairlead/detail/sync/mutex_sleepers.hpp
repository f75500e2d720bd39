// How many threads sleep on mutexes, or are about to, by the addresses of the mutexes.
//
// Question it answers: how does an unlock learn that a thread sleeps, without a touch of a mutex
// that the next owner may already have destroyed? See futex_mutex.hpp.
#pragma once

#include <fairlead/base/time.hpp>
#include <fairlead/detail/sync/atomic.hpp>

#include <array>
#include <cstdint>

namespace fairlead::sync {

/// Counts the thread that makes it, until it has locked the mutex.
class mutex_sleepers {
public:
    /// The counter for the mutex with this address, which need not exist any more.
    [[nodiscard]] static atomic<std::uint32_t>& at(const std::uint32_t* mutex) noexcept {
        return counters_[reinterpret_cast<std::uintptr_t>(mutex) / 64 % counters_.size()];
    }

    explicit mutex_sleepers(const std::uint32_t* mutex) noexcept;
    mutex_sleepers(const mutex_sleepers&) = delete;
    mutex_sleepers& operator=(const mutex_sleepers&) = delete;
    ~mutex_sleepers() { of_.fetch_sub(1, relaxed); }  // relaxed: too many only wake in vain

    /// When the thread must look again, though no unlock may have woken it.
    [[nodiscard]] time_point next_look() const noexcept;

private:
    static inline std::array<atomic<std::uint32_t>, 64> counters_{};

    atomic<std::uint32_t>& of_;
    bool is_seen_;  // by each unlock from now on
};

}  // namespace fairlead::sync
