// A number of permits, and the FIFO of the waits for them. The one waiting block of the library:
// the permits of a group, mutexes, semaphores, events and latches are lines.
//
//     bits of the word
//       has_waiters   1   a wait is in the FIFO: a permit is not taken before it
//       closed        1   no permit is granted any more
//       taken        62   permits
//
//     try_take, enter, give_back   without waits: one exchange of the word, without the mutex
//     withdraw, close, set_bound   under the mutex
//
// A waiter lies in the frame or on the stack of what waits, and names two numbers: how many permits
// must be free for its grant (`needs`), and how many the grant takes (`takes`). A mutex waits for
// {1, 1}; a semaphore for {n, n}; an event, which is a permit that is free while the event is set,
// for {1, 0}; a latch of n arrivals for {n, 0}.
//
// Invariants
//   1. While `has_waiters` is set, the word changes under the mutex alone. [LN1]
//   2. A grant goes to the first wait of the FIFO only. A first wait that needs much holds up all
//      waits behind it, so none starves.
//   3. A waiter ends once: by a grant, by a close, or by its own withdrawal. Whether it is in the
//      FIFO decides, under the mutex.
//   4. A first waiter for which enough is free does not stay: a return of permits, a withdrawal, a
//      close and a higher bound look at the first one in the same critical section.
//   5. A branch of a select is in the FIFO before it is granted, and is claimed then: while
//      `has_waiters` is set nothing else can take what it needs.
//   6. A grant is told after the mutex was unlocked, and from then on the teller touches only the
//      waiters that it still has to tell. So what was told may destroy the line, if no other wait
//      can still withdraw.
//
// Two stories of the end of a line. Its owner may destroy it as soon as it has the right to know
// that all permits have returned.
//
// Why the return of a permit takes the mutex before it changes a word with `has_waiters`:
//     A returns the last permit outside the mutex, and is about to lock it
//     W, the only waiter, withdraws, and `has_waiters` ends
//     B takes the permit with one exchange, and destroys the line
//     A locks a mutex that is gone
// With invariant 1 A holds its permit until it has the mutex, so B cannot take it. [LN1]
//
// Why the destructor locks the mutex:
//     A has the mutex, and returns the last permit; nothing waits any more
//     B takes the permit with one exchange, and destroys the line
//     A unlocks a mutex that is gone
//
// Any thread. No allocation. An operation without waiters is lock-free; the critical sections are
// as long as the number of grants.
//
// Rejected: barging (it starves, and a grant then is only a hint); a lock-free FIFO (a waiter in
// the middle must be able to leave, and a wake-up costs ten times the mutex).
//
// Spec: Line in spec/MAP.md.
#pragma once

#include <fairlead/detail/sync/atomic.hpp>
#include <fairlead/detail/sync/mutex.hpp>
#include <fairlead/detail/sync/waiter_list.hpp>

#include <cstddef>
#include <cstdint>

namespace fairlead::sync {

/// A wait for permits of a line.
class line_waiter : public waiter {
public:
    explicit line_waiter(std::uint32_t permits = 1) noexcept : line_waiter{permits, permits} {}
    line_waiter(std::uint32_t needs, std::uint32_t takes) noexcept : needs_{needs}, takes_{takes} {}

protected:
    line_waiter(line_waiter&&) noexcept = default;
    ~line_waiter() = default;

    /// How many permits a grant takes.
    [[nodiscard]] std::uint32_t takes() const noexcept { return takes_; }

private:
    friend class line;

    const std::uint32_t needs_;
    const std::uint32_t takes_;
};

class line {
public:
    using waiter = line_waiter;

    /// `bound`: how many permits there are; `taken` of them are taken at first. A bound of
    /// `unbounded` is never reached.
    explicit line(std::uint64_t bound, std::uint64_t taken = 0) noexcept
        : word_{taken * one_taken}, bound_{bound} {}
    line(const line&) = delete;
    line& operator=(const line&) = delete;
    /// Nothing may wait, or have a permit whose return is not told. Waits for critical sections
    /// that end.
    ~line();

    static constexpr std::uint64_t unbounded = UINT64_MAX / 4;

    /// Takes `permits` at once. False: they are not free, or a wait has precedence, or the line is
    /// closed.
    [[nodiscard]] bool try_take(std::uint32_t permits = 1) noexcept {
        std::uint64_t word = word_.load(relaxed);
        do {
            if ((word & (has_waiters | closed)) != 0 || !has_free(word, permits)) return false;
            // acquire: what was done under the permit before is seen. [LN2]
        } while (!word_.compare_exchange_weak(word, word + permits * one_taken, acquire, relaxed));
        return true;
    }

    /// Whether `permits` are free and no wait has precedence. What was done before their return is
    /// seen.
    [[nodiscard]] bool has_free(std::uint32_t permits = 1) const noexcept {
        const std::uint64_t word = word_.load(acquire);  // [LN2]
        return (word & (has_waiters | closed)) == 0 && has_free(word, permits);
    }

    /// Takes a permit though none may be free. Only for a line for which nothing ever waits. [LN1]
    void take_beyond_bound() noexcept { word_.fetch_add(one_taken, relaxed); }

    /// Returns permits that are taken, and grants what is free to the first waits.
    void give_back(std::uint32_t permits = 1) noexcept {
        std::uint64_t word = word_.load(relaxed);
        do {
            if ((word & has_waiters) != 0) return give_back_to_waiters(permits);
            // release: the next owner of the permit sees what was done under it. [LN2]
        } while (!word_.compare_exchange_weak(word, word - permits * one_taken, release, relaxed));
    }

    /// Returns one permit unless none is taken. False: none was.
    bool give_back_if_taken() noexcept;

    /// Begins a wait unless enough is free. True: it waits, and `tell` will be called, or
    /// `withdraw` ends the wait. False: it is over, by a grant or because the line is closed.
    [[nodiscard]] bool enter(waiter& wait) noexcept {
        if (wait.has_choice()) return enlist_branch(wait);
        return !try_grant(wait) && enlist(wait);
    }

    /// Ends `wait` at once, by a grant or because the line is closed. False: it would have to wait.
    /// A branch of a select is claimed by it, so no other branch of that may wait.
    [[nodiscard]] bool try_enter(waiter& wait) noexcept;

    /// Ends a wait without a grant. False: it has ended, and `tell` was called or is about to be.
    [[nodiscard]] bool withdraw(waiter& wait) noexcept;

    /// Changes the number of permits. Those that are taken beyond it stay so until they return.
    void set_bound(std::uint64_t bound) noexcept;

    /// Ends all waits, and every later one at its beginning, as `closed`. Permits that are taken
    /// may still return. False: it was closed before.
    bool close() noexcept;

    [[nodiscard]] bool is_closed() const noexcept { return (word_.load(acquire) & closed) != 0; }

    /// A moment later they may be other ones.
    [[nodiscard]] std::uint64_t taken() const noexcept { return taken(word_.load(relaxed)); }
    [[nodiscard]] std::uint64_t bound() const noexcept { return bound_.load(relaxed); }
    [[nodiscard]] std::size_t waiting() noexcept;

private:
    [[nodiscard]] line_waiter& first() const noexcept {
        return static_cast<line_waiter&>(*waiters_.front());
    }

    static constexpr std::uint64_t has_waiters = 1;
    static constexpr std::uint64_t closed = 2;
    static constexpr std::uint64_t one_taken = 4;

    static constexpr std::uint64_t taken(std::uint64_t word) noexcept { return word / one_taken; }

    [[nodiscard]] bool has_free(std::uint64_t word, std::uint64_t permits) const noexcept {
        // relaxed: an old bound is as good as a call a moment earlier; waits read it under the
        // mutex.
        return taken(word) + permits <= bound_.load(relaxed);
    }

    [[nodiscard]] bool try_grant(waiter& wait) noexcept {
        std::uint64_t word = word_.load(relaxed);
        while ((word & (has_waiters | closed)) == 0 && has_free(word, wait.needs_)) {
            // acquire: as in try_take. [LN2]
            if (word_.compare_exchange_weak(word, word + wait.takes_ * one_taken, acquire,
                                            relaxed)) {
                waiter_list::grant(wait);
                return true;
            }
        }
        return false;
    }

    [[nodiscard]] bool enlist(waiter& wait) noexcept;
    [[nodiscard]] bool enlist_branch(waiter& wait) noexcept;
    void give_back_to_waiters(std::uint32_t permits) noexcept;
    bool give_back_to_waiters_if_taken() noexcept;
    void grant_first_ones(waiter_list& granted) noexcept;

    // Changed by every operation. Without waiters by one exchange; with waiters [LN1] by the holder
    // of the mutex.
    sync::atomic<std::uint64_t> word_;
    sync::atomic<std::uint64_t> bound_;  // written under the mutex
    sync::mutex mutex_;
    waiter_list waiters_;  // guarded by mutex_
};

}  // namespace fairlead::sync
