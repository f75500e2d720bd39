// A one-bit event between threads: `send` sets it, `receive` waits for it and clears it.
//
// Question it answers: how does one thread sleep until another has something for it, without a
// mutex, and such that the receiver may destroy the signal as soon as it has received it?
//
// One word:
//     empty     no signal was sent, and the receiver does not sleep
//     sleeping  the receiver sleeps on the word, or is about to
//     sent      a send that was not received yet
//
// Any thread may send; one thread at a time may receive. Signals do not count: two sends before a
// receive are one. Both fast paths are one exchange.
//
// Why every path is a read-modify-write: a send that finds `sent` must still order what the sender
// wrote before it, or the receiver could consume the older signal and miss that data [SG1].
//
// Rejected: a mutex with a condition variable (three times the cost, and the last unlock touches a
// signal that the receiver may have deleted).
#pragma once

#include <fairlead/base/time.hpp>
#include <fairlead/detail/os/futex.hpp>
#include <fairlead/detail/sync/atomic.hpp>

#include <cstdint>

namespace fairlead::sync {

class signal {
public:
    signal() = default;
    signal(const signal&) = delete;
    signal& operator=(const signal&) = delete;

    /// Sets the event and wakes the receiver. Any thread. What was written before it is visible to
    /// the receiver. The exchange is the last touch of the memory: the wake that may follow only
    /// names its address.
    void send() noexcept {
        const std::uint32_t* address = reinterpret_cast<const std::uint32_t*>(&word_);
        // [SG1] release: publishes the sender's data; acquire: a second send sees what the first
        // sender wrote, and passes it on.
        if (word_.exchange(sent, acq_rel) == sleeping) os::futex_wake(address, 1);
    }

    /// Waits until the event is sent or `deadline` has passed, and clears it. False: it timed out.
    /// The wait is in the kernel, so the deadline is by `clock::system_now`. One thread at a time.
    [[nodiscard]] bool receive_until(time_point deadline) noexcept {
        if (try_receive()) return true;
        std::uint32_t expected = empty;
        // Relaxed on success: announcing sleep publishes nothing; the kernel compares the word.
        while (!word_.compare_exchange_strong(expected, sleeping, relaxed, relaxed)) {
            if (try_receive()) return true;
            expected = empty;
        }
        for (;;) {
            os::futex_wait(reinterpret_cast<const std::uint32_t*>(&word_), sleeping, deadline);
            if (try_receive()) return true;
            if (deadline != never && clock::system_now() >= deadline) break;
        }
        expected = sleeping;
        if (word_.compare_exchange_strong(expected, empty, relaxed, relaxed)) return false;
        return try_receive();  // a send came between the time-out and the exchange
    }

    /// Waits without a limit.
    void receive() noexcept {
        while (!receive_until(never)) {
        }
    }

    /// Clears the event; true if it was sent.
    [[nodiscard]] bool try_receive() noexcept {
        std::uint32_t expected = sent;
        // [SG1] acquire: sees what the sender wrote. Relaxed on failure: nothing is concluded.
        return word_.compare_exchange_strong(expected, empty, acquire, relaxed);
    }

private:
    enum : std::uint32_t { empty, sleeping, sent };

    atomic<std::uint32_t> word_{empty};
};

}  // namespace fairlead::sync
