// A mutex in one word, for critical sections of some dozens of instructions.
//
//     free        no thread has it
//     locked      a thread has it
//     contended   a thread has it, and threads may sleep on the word
//
// Question it answers: how do threads exclude each other for so short a time that a call into a
// library would take longer than the section, and such that the next owner may destroy the mutex?
//
// A thread that finds it locked spins for about a microsecond, which is longer than the section of
// a thread that runs; then it sleeps. A thread that has slept locks it as `contended`, since it
// cannot know whether it was the last one: so at most one wake-up goes to nothing.
//
// The exchange in `unlock` is its last touch of the memory: the wake that may follow only names the
// address. So a thread that locks it next may destroy it. [FM1]
//
// Any thread. No fairness: a short section needs none, and a hand-over would make each lock wait
// for a thread to be scheduled. Beside `std::mutex`: inline, 4 bytes instead of 40, and it spins.
//
// Source: the third mutex of Drepper, "Futexes Are Tricky" (2011), with a spin.
// Spec: FutexMutex in spec/MAP.md.
#pragma once

#include <fairlead/base/time.hpp>
#include <fairlead/detail/os/cpu.hpp>
#include <fairlead/detail/os/futex.hpp>
#include <fairlead/detail/sync/atomic.hpp>

#include <cstdint>

namespace fairlead::sync {

/// `Spins`: how often a lock looks before it sleeps.
template <int Spins>
class spinning_futex_mutex {
public:
    spinning_futex_mutex() = default;
    spinning_futex_mutex(const spinning_futex_mutex&) = delete;
    spinning_futex_mutex& operator=(const spinning_futex_mutex&) = delete;

    void lock() noexcept {
        if (!try_lock()) lock_contended();
    }

    [[nodiscard]] bool try_lock() noexcept {
        std::uint32_t expected = free;
        // [FM1] acquire: sees what the last owner did.
        return word_.compare_exchange_strong(expected, locked, acquire, relaxed);
    }

    void unlock() noexcept {
        const std::uint32_t* const asleep = address();
        // [FM1] release: publishes what this owner did.
        if (word_.exchange(free, release) == contended) os::futex_wake(asleep, 1);
    }

private:
    static constexpr std::uint32_t free = 0;
    static constexpr std::uint32_t locked = 1;
    static constexpr std::uint32_t contended = 2;

    [[gnu::noinline, gnu::cold]] void lock_contended() noexcept {
        for (int i = 0; i != Spins; ++i) {
            const std::uint32_t seen = word_.load(relaxed);
            if (seen == free && try_lock()) return;
            if (seen == contended) break;  // a thread sleeps: this one need not be faster
            os::relax();
        }
        // [FM1] acquire: as in try_lock. An unlock that finds `contended` wakes one thread.
        while (word_.exchange(contended, acquire) != free) {
            os::futex_wait(address(), contended, never);
        }
    }

    [[nodiscard]] const std::uint32_t* address() const noexcept {
        return reinterpret_cast<const std::uint32_t*>(&word_);
    }

    sync::atomic<std::uint32_t> word_{free};
};

using futex_mutex = spinning_futex_mutex<100>;

}  // namespace fairlead::sync
