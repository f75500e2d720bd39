// A mutex in one word, for critical sections of some dozens of instructions.
//
//     free        no thread has it
//     locked      a thread has it
//
// Question it answers: how do threads exclude each other for so short a time that a call into a
// library would take longer than the section, and such that the next owner may destroy the mutex?
//
// A lock is one exchange. An unlock is one store, as nearly no unlock has a thread to wake: a
// thread that finds the mutex locked looks again a few times, with pauses that are longer than the
// section of a thread that runs. Only then it counts itself as a sleeper, makes all threads pass a
// barrier, looks once more, and sleeps. The barrier is on the side of the sleeper, which has time:
// so the unlock either is seen by the last look, or sees the sleeper. [FM1]
//
// The count of the sleepers is not in the mutex but in a table, by the address of the mutex. So the
// store in `unlock` is its last touch of the memory: a wake only names the address. A thread that
// locks it next may destroy it. Two mutexes that share a counter wake each other's sleepers in
// vain now and then.
//
// Where the system refuses the barrier, a sleeper looks again every millisecond.
//
// Any thread. No fairness: a short section needs none, and a hand-over would make each lock wait
// for a thread to be scheduled. Beside `std::mutex`: inline, 4 bytes instead of 40, it spins, and
// it costs one exchange instead of two.
//
// Rejected: a third value of the word for "threads sleep", which each unlock asks for by a second
// exchange (Drepper, "Futexes Are Tricky", 2011): a quarter of the time of a channel.
//
// Spec: FutexMutex in spec/MAP.md.
#pragma once

#include <fairlead/detail/os/cpu.hpp>
#include <fairlead/detail/os/futex.hpp>
#include <fairlead/detail/sync/atomic.hpp>
#include <fairlead/detail/sync/mutex_sleepers.hpp>

#include <cstdint>

namespace fairlead::sync {

/// `Looks`: how often a lock looks once more before it sleeps.
template <int Looks>
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
        const std::uint32_t* const word = address();
        // [FM1] release: publishes what this owner did. The last touch.
        word_.store(free, release);
        light_barrier();  // [FM1]
        // relaxed: the barriers order it.
        if (mutex_sleepers::at(word).load(relaxed) != 0) [[unlikely]]
            os::futex_wake(word, 1);
    }

private:
    static constexpr std::uint32_t free = 0;
    static constexpr std::uint32_t locked = 1;
    // Between two looks, about a microsecond. Each look takes the cache line from the owner, which
    // writes to it next: so a thread that looks all the time slows down the owner.
    static constexpr int pauses = 64;

    [[gnu::noinline, gnu::cold]] void lock_contended() noexcept {
        for (int i = 0; i != Looks; ++i) {
            for (int j = 0; j != pauses; ++j) os::relax();
            if (word_.load(relaxed) == free && try_lock()) return;
        }
        const mutex_sleepers this_one{address()};
        while (!try_lock()) os::futex_wait(address(), locked, this_one.next_look());
    }

    [[nodiscard]] const std::uint32_t* address() const noexcept {
        return reinterpret_cast<const std::uint32_t*>(&word_);
    }

    sync::atomic<std::uint32_t> word_{free};
};

using futex_mutex = spinning_futex_mutex<8>;

}  // namespace fairlead::sync
