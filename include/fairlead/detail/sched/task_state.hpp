// The state word of a task: it alone says which thread may touch the task. All transitions of the
// word are here.
//
//     bit         set by                     cleared by                meaning
//     waiting     park                       what ends the sleep       asleep
//     deaf        park                       what ends the sleep       asleep, but not for signals
//     woken       any thread, wake           begin_run                 runs at least once more
//     signalled   any thread, signal         the task, take_signal     a signal is not received yet
//     completed   the operation it awaits    the task, take_completed  the operation has ended
//     stopping    any thread, request_stop   reset                     is asked to end early
//     reason      with stopping, the first   reset                     why: 16 bits, `stopped_by`
//
// A task is in one place: with its user, in the front, in ready, with a worker, or asleep. A task
// without `waiting` is not asleep, though the role may still list it as a sleeper: a thread holds
// the task or will run it.
//
// Duties. The call that clears `waiting` ends the sleep. For each sleep there is one such call:
// unpark, or a wake, signal, complete or request_stop that returns true. Its caller must push the
// task to the front. After that push, and at once when the call returns false, the caller must not
// touch the task again: it may have run and be gone. So the exchange in `signal` and `complete` is
// the sender's last touch, and the receiver may free itself. A wake that ends a sleep leaves no
// bit: the push stands for it, and the run that it causes has nothing to use up.
//
// Why every path is a read-modify-write, even when the bit is set already [TS1]: a waker writes
// data and then wakes. Were a wake that finds `woken` only a load, this could happen:
//     1. waker A sets woken; 2. the task begins to run and clears it, reading old data;
//     3. waker B had loaded `woken` before 2 while its data was still in its store buffer, and has
//        left.
// No run follows that reads B's data. As a read-modify-write B's wake stands before 2 in the order
// of the word, and 2 sees the data; or after it, and sets the bit again.
//
// Sources: the states of the fair threaded task scheduler (V. Shpilevoy, HighLoad 2022); spec
// TaskState in spec/MAP.md.
#pragma once

#include <fairlead/detail/sync/atomic.hpp>
#include <fairlead/sched/stopped_by.hpp>

#include <cstdint>

namespace fairlead {

class task_state {
public:
    // --- the role, or the worker of its step: no other thread parks or unparks the task ----------

    /// Puts the task to sleep, unless something that it listens to has happened. True: it waits
    /// now. `is_deaf`: signals are remembered, but do not keep it awake.
    [[nodiscard]] bool park(bool is_deaf) noexcept {
        const std::uint32_t sleep = is_deaf ? asleep : waiting;
        std::uint32_t seen = word_.load(sync::relaxed);  // stale only makes the exchange fail
        do {
            if ((seen & events(is_deaf)) != 0) return false;
            // [TS2] release: a waker that sees `waiting` also sees what the role and the poster
            // wrote into the task, which it needs for the push. acquire: pairs with earlier wakes.
        } while (!word_.compare_exchange_weak(seen, seen | sleep, sync::acq_rel, sync::relaxed));
        return true;
    }

    /// Whether `park` would fail now, as far as is known.
    [[nodiscard]] bool stays_awake(bool is_deaf) const noexcept {
        return (word_.load(sync::relaxed) & events(is_deaf)) != 0;  // the run acquires
    }

    /// Takes the task out of sleep because its deadline passed or its event came. False: a waker
    /// was faster, and brings the task through the front.
    [[nodiscard]] bool unpark() noexcept {
        std::uint32_t seen = word_.load(sync::relaxed);  // stale only makes the exchange fail
        do {
            if ((seen & waiting) == 0) return false;
            // Acquire and release as in park: the loser of this race must see what the winner did.
        } while (!word_.compare_exchange_weak(seen, seen & ~asleep, sync::acq_rel, sync::relaxed));
        return true;
    }

    // --- any thread, while the task cannot have been freed --------------------------------------

    /// The task runs at least once more, and that run sees what the caller wrote before.
    [[nodiscard]] bool wake() noexcept { return notify(0, woken); }

    /// Sets the flag and wakes, in one step: the caller's last touch unless it must push.
    [[nodiscard]] bool signal() noexcept { return notify(signalled, 0, not_the_deaf); }

    /// The operation that the task awaits has ended: like signal, for the library's own awaits.
    [[nodiscard]] bool complete() noexcept { return notify(completed, 0); }

    /// Asks the task to end early, for good, and wakes it. The first request sets the reason.
    [[nodiscard]] bool request_stop(stopped_by why = stopped_by::unsaid) noexcept {
        return notify(stopping, woken, everyone, why);
    }

    // --- the worker that runs the task, and the task itself -------------------------------------

    /// The task starts a step: what woke it up to now is visible to it, and is used up.
    void begin_run() noexcept {
        // [TS1] the load and the exchange acquire what a waker wrote. Without the bit there is
        // nothing to use up: a later wake stays for the next run.
        if (has(woken)) word_.fetch_and(~woken, sync::acq_rel);
    }

    /// Receives the signal; after it the sender does not touch the task any more.
    [[nodiscard]] bool take_signal() noexcept { return take(signalled); }

    /// Learns that the operation has ended; after it the sender does not touch the task any more.
    [[nodiscard]] bool take_completed() noexcept { return take(completed); }

    /// The scheduler stops: the task shall see it, awake as it is.
    void mark_stopping() noexcept {
        std::uint32_t seen = word_.load(sync::relaxed);  // stale only makes the exchange fail
        // Relaxed: publishes nothing; the task's own worker.
        while (!word_.compare_exchange_weak(
            seen, seen | stopping | reason_beside(seen, stopped_by::shutdown), sync::relaxed,
            sync::relaxed)) {
        }
    }

    // --- any thread, as a question ---------------------------------------------------------------

    [[nodiscard]] bool is_signalled() const noexcept { return has(signalled); }
    [[nodiscard]] bool is_stopping() const noexcept { return has(stopping); }
    [[nodiscard]] bool is_waiting() const noexcept { return has(waiting); }

    /// Of the first request to stop; `unsaid` before one.
    [[nodiscard]] stopped_by stop_reason() const noexcept {
        // Relaxed: a value that does not change; what came before it, `is_stopping` acquires.
        return static_cast<stopped_by>(word_.load(sync::relaxed) >> reason_shift);
    }

    /// Back to the beginning. The task is with its user, and no waker can reach it.
    void reset() noexcept { word_.store(0, sync::relaxed); }

private:
    enum : std::uint32_t {
        waiting = 1,
        woken = 2,
        signalled = 4,
        completed = 8,
        stopping = 16,
        deaf = 32,
        asleep = waiting | deaf,
    };
    static constexpr unsigned reason_shift = 16;

    static constexpr std::uint32_t events(bool is_deaf) noexcept {
        return is_deaf ? woken | completed : woken | completed | signalled;
    }

    enum who_hears : bool { not_the_deaf, everyone };

    // What a request to stop adds to `seen`. A later request leaves the reason as it is.
    static constexpr std::uint32_t reason_beside(std::uint32_t seen, stopped_by why) noexcept {
        return (seen & stopping) != 0 ? 0 : static_cast<std::uint32_t>(why) << reason_shift;
    }

    // Sets `bits`, and ends the sleep; if there is none that it may end, sets `if_awake` as well.
    // `why`: of a stop.
    [[nodiscard]] bool notify(std::uint32_t bits, std::uint32_t if_awake,
                              who_hears heard_by = everyone,
                              stopped_by why = stopped_by::unsaid) noexcept {
        std::uint32_t seen = word_.load(sync::relaxed);  // stale only makes the exchange fail
        for (;;) {
            const bool ends = (seen & waiting) != 0 && (heard_by == everyone || (seen & deaf) == 0);
            const std::uint32_t set = seen | bits | reason_beside(seen, why);
            const std::uint32_t wanted = ends ? set & ~asleep : set | if_awake;
            // [TS1] release: publishes the caller's data to begin_run. [TS2] acquire: see park.
            if (word_.compare_exchange_weak(seen, wanted, sync::acq_rel, sync::relaxed)) {
                return ends;
            }
        }
    }

    [[nodiscard]] bool take(std::uint32_t bit) noexcept {
        if (!has(bit)) return false;
        word_.fetch_and(~bit, sync::acq_rel);  // [TS1] after the sender's exchange
        return true;
    }

    // acquire: a caller that acts on a bit sees what its setter wrote.
    [[nodiscard]] bool has(std::uint32_t bit) const noexcept {
        return (word_.load(sync::acquire) & bit) != 0;
    }

    sync::atomic<std::uint32_t> word_{0};
};

}  // namespace fairlead
