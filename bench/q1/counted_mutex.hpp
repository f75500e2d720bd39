// A mutex that counts how often a thread found it taken.
#pragma once

#include <cstdint>
#include <mutex>

namespace bench::q1 {

class counted_mutex {
public:
    void lock() {
        if (mutex_.try_lock()) return;
        mutex_.lock();
        ++contended_;  // guarded by the mutex itself
    }
    void unlock() { mutex_.unlock(); }

    /// While no thread uses it.
    [[nodiscard]] std::uint64_t contended() const noexcept { return contended_; }

private:
    std::mutex mutex_;
    std::uint64_t contended_ = 0;
};

}  // namespace bench::q1
