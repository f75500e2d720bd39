// A number that one thread writes and any thread reads.
#pragma once

#include <fairlead/detail/sync/atomic.hpp>

#include <cstdint>

namespace fairlead::sched {

class counter {
public:
    void add(std::uint64_t more) noexcept { publish(value() + more); }
    // release: a thread that reads the number sees what was done up to it.
    void publish(std::uint64_t value) noexcept { value_.store(value, sync::release); }
    // For the thread that writes. Relaxed: no other thread writes the number.
    [[nodiscard]] std::uint64_t value() const noexcept { return value_.load(sync::relaxed); }
    [[nodiscard]] std::uint64_t read() const noexcept { return value_.load(sync::acquire); }

private:
    sync::atomic<std::uint64_t> value_{0};
};

}  // namespace fairlead::sched
