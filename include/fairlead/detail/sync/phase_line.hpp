// Entries that exclude each other or share, in fair phases: what is under reader-writer mutexes,
// and under gates, which end.
//
//     bits of the word
//       has_waiters   1   a wait is in a FIFO: an entry without a wait is not possible
//       closed        2   no entry is granted any more, but that of the teardown
//       exclusive     4   one exclusive entry holds the line
//       shared       61   how many shared entries hold it
//
//     shared waits     [ . . . ] --all, when an exclusive entry ends-->  a shared phase
//     exclusive waits  [ . . ]   --one, when a shared phase ends------>  an exclusive entry
//     teardown         [ . ]     --when nothing holds the line-------->  closed for good
//
//     try_enter, enter, leave, downgrade   without waits: one exchange, without the mutex
//     try_upgrade                          one exchange
//     withdraw, close, refuse              under the mutex
//
// A shared entry waits while an exclusive one holds the line or waits for it. What comes in next is
// a policy, which the line has for good:
//
//     phase_fair        An exclusive entry that ends lets in all shared ones that wait then; the
//                       end of the last shared entry lets in one exclusive one. So a shared entry
//                       waits for one exclusive entry at most, and an exclusive one for one shared
//                       phase before each exclusive entry ahead of it: neither starves.
//     arrival           One FIFO for both kinds, which is `exclusive_`. Shared entries at its front
//                       come in together. Neither kind starves; each change of kind costs a phase.
//     exclusive_first   Shared entries come in when no exclusive one waits. Shared ones may starve.
//
// Invariants
//   1. While `has_waiters` is set, the word changes under the mutex alone. [RW1]
//   2. A shared wait waits only while an exclusive entry holds the line or waits. Without a holder
//      nothing waits. Under `arrival` the first wait of the FIFO cannot come in.
//   3. A wait ends once: by a grant, by a close, or by its own withdrawal. Whether it is in a FIFO
//      decides, under the mutex.
//   4. A grant is told after the mutex was unlocked, and from then on the teller touches only the
//      waiters that it still has to tell. So the first one told may destroy the line.
//   5. At most one teardown is granted, and none before all holders have left.
//
// A leave keeps what it has until it has the mutex, if it needs the mutex; and the destructor locks
// the mutex: the two stories in line.hpp say why. [RW1]
//
// Any thread. No allocation. An operation without waiters is lock-free; the critical sections are
// as long as the number of grants.
//
// Source: phase fairness is from B. Brandenburg, J. Anderson, "Spin-based reader-writer
// synchronization for multiprocessor real-time systems", Real-Time Systems 46, 2010.
// Rejected: a second engine for gates (the policies differ in one function); an upgrade that waits
// (two that wait for each other never end).
//
// Spec: RwMutex in spec/MAP.md.
#pragma once

#include <fairlead/detail/sync/atomic.hpp>
#include <fairlead/detail/sync/mutex.hpp>
#include <fairlead/detail/sync/waiter_list.hpp>

#include <cstddef>
#include <cstdint>

namespace fairlead::sync {

class phase_line {
public:
    enum class policy : std::uint8_t { phase_fair, arrival, exclusive_first };
    enum class entry : std::uint8_t { shared, exclusive };
    enum class [[nodiscard]] closing : std::uint8_t { granted, waits, closed };

    /// A wait for an entry, or for the teardown.
    class waiter : public sync::waiter {
    public:
        explicit waiter(entry kind) noexcept : kind_{kind} {}

        [[nodiscard]] entry kind() const noexcept { return kind_; }

    protected:
        waiter(waiter&&) noexcept = default;
        ~waiter() = default;

    private:
        friend class phase_line;

        const entry kind_;
        bool tears_down_ = false;  // written before the wait begins
    };

    explicit phase_line(policy order = policy::phase_fair) noexcept : policy_{order} {}
    phase_line(const phase_line&) = delete;
    phase_line& operator=(const phase_line&) = delete;
    /// Nothing may wait, or hold an entry. Waits for critical sections that end.
    ~phase_line();

    /// Enters at once. False: that is not possible without a wait, or the line is closed.
    [[nodiscard]] bool try_enter(entry kind) noexcept {
        std::uint64_t word = word_.load(relaxed);
        do {
            if (!admits(word, kind)) return false;
            // acquire: what was done under entries before is seen. [RW2]
        } while (!word_.compare_exchange_weak(word, word + one(kind), acquire, relaxed));
        return true;
    }

    /// Whether `try_enter` would enter. A moment later the answer may be another.
    [[nodiscard]] bool admits(entry kind) const noexcept {
        return admits(word_.load(relaxed), kind);
    }

    /// Begins a wait unless it can enter at once. True: it waits; `tell` will be called, or
    /// `withdraw` ends the wait. False: the wait is over, by a grant or because the line is closed.
    [[nodiscard]] bool enter(waiter& wait) noexcept {
        if (!try_enter(wait.kind_)) return enlist(wait);
        waiter_list::grant(wait);
        return false;
    }

    /// Ends a wait without a grant. False: it has ended, and `tell` was called or is about to be. A
    /// line that was closed stays so when the wait for its teardown is withdrawn.
    [[nodiscard]] bool withdraw(waiter& wait) noexcept;

    /// Ends an entry.
    void leave(entry kind) noexcept {
        std::uint64_t word = word_.load(relaxed);
        do {
            if ((word & has_waiters) != 0) return give_to_waiters(0 - one(kind), kind);  // [RW1]
            // release: the next entry sees what was done under this one. [RW2]
        } while (!word_.compare_exchange_weak(word, word - one(kind), release, relaxed));
    }

    /// The exclusive entry of the caller becomes a shared one, and those that wait come in, too.
    void downgrade() noexcept {
        std::uint64_t word = word_.load(relaxed);
        do {
            if ((word & has_waiters) != 0) {
                return give_to_waiters(one_shared - exclusive, entry::exclusive);  // [RW1]
            }
            // release: as in `leave`. [RW2]
        } while (
            !word_.compare_exchange_weak(word, word - exclusive + one_shared, release, relaxed));
    }

    /// The shared entry of the caller becomes the exclusive one. False: another shared entry holds
    /// the line, an exclusive one waits for it, or it is closed.
    [[nodiscard]] bool try_upgrade() noexcept {
        std::uint64_t word = one_shared;
        // acquire: the shared entries that have ended come before. [RW2]
        return word_.compare_exchange_strong(word, exclusive, acquire, relaxed);
    }

    /// Closes the line: all waits end, and every later one at its beginning. Then it waits until no
    /// entry holds the line, and is granted the teardown, which is an exclusive entry. `closed`:
    /// the teardown of an earlier close waits or was granted.
    closing close(waiter& teardown) noexcept;

    /// Closes the line in the same way, and leaves the teardown to a later close. Nothing, if the
    /// teardown of an earlier close waits or was granted.
    void refuse() noexcept;

    /// What was done before the close is seen.
    [[nodiscard]] bool is_closed() const noexcept {
        return (word_.load(acquire) & closed) != 0;  // [RW2]
    }

    /// A moment later the answer may be another.
    [[nodiscard]] bool is_exclusive() const noexcept {
        return (word_.load(relaxed) & exclusive) != 0;
    }
    [[nodiscard]] std::uint64_t shared() const noexcept { return word_.load(relaxed) / one_shared; }
    [[nodiscard]] std::size_t waiting() noexcept;

private:
    static constexpr std::uint64_t has_waiters = 1;
    static constexpr std::uint64_t closed = 2;
    static constexpr std::uint64_t exclusive = 4;
    static constexpr std::uint64_t one_shared = 8;

    static constexpr std::uint64_t one(entry kind) noexcept {
        return kind == entry::shared ? one_shared : exclusive;
    }
    static constexpr bool is_held(std::uint64_t word) noexcept { return word >= exclusive; }
    static constexpr bool admits(std::uint64_t word, entry kind) noexcept {
        return kind == entry::shared ? (word & (has_waiters | closed | exclusive)) == 0 : word == 0;
    }

    [[nodiscard]] waiter_list& fifo_of(const waiter& wait) noexcept {
        if (wait.tears_down_) return teardown_;
        const bool is_apart = wait.kind_ == entry::shared && policy_ != policy::arrival;
        return is_apart ? shared_ : exclusive_;
    }

    [[nodiscard]] bool enlist(waiter& wait) noexcept;
    [[nodiscard]] bool has_teardown() const noexcept { return is_torn_down_ || !teardown_.empty(); }
    std::uint64_t refuse_all(waiter_list& ended) noexcept;
    void give_to_waiters(std::uint64_t change, entry ended) noexcept;
    void grant(bool shared_first, waiter_list& granted) noexcept;
    std::uint64_t grant_shared(bool shared_first, waiter_list& granted) noexcept;
    [[nodiscard]] bool begins_with_shared() const noexcept;

    // Changed by every operation. Without waiters by one exchange; with waiters [RW1] by the holder
    // of the mutex.
    sync::atomic<std::uint64_t> word_{0};
    sync::mutex mutex_;
    waiter_list shared_;  // guarded by mutex_, as the next ones
    waiter_list exclusive_;
    waiter_list teardown_;  // at most one
    bool is_torn_down_ = false;
    const policy policy_;
};

}  // namespace fairlead::sync
