// The word at which a promise and its future meet. Each transition says what the caller must do.
//
//     bits
//       settled    1   the result is there; written by the promise alone
//       attached   2   the future has a listener; written by the future alone
//       gone       4   the future went, and does not take the result; written by it alone
//       listened   8   the promise has left a call for the case that the future goes
//       called    16   that call is over
//       for_good  32   with `attached`: the future does not withdraw; written by it alone
//
//     the promise                              the future
//     write the result;  settle                attach: `tell` will come, or the result is there
//                                              withdraw, drop; attach_for_good
//     write the call;    listen                drop, then make the call, then end_call
//
// Invariants
//   1. The listener is told once, unless it was withdrawn: `settle` and `withdraw` change one word,
//      and the second of them sees the first. [PR1]
//   2. The second of `settle` and `drop` frees the pair. If `drop` makes a call, the second of
//      `settle` and `end_call` does: the call lies in the pair.
//   3. The call is made once, if the future goes before the result is there: by the second of
//      `listen` and `drop`.
//   4. After `attach_for_good` the future changes the word no more before it is told.
//
// The promise settles with one exchange, and the future attaches, or goes, with one; by invariant 4
// a promise that sees a listener for good, such as a continuation, settles with a load and a store.
// Wait-free but for `withdraw`, which tries again only if the promise has listened meanwhile.
//
// Spec: Promise in spec/MAP.md.
#pragma once

#include <fairlead/detail/base/assert.hpp>
#include <fairlead/detail/sync/atomic.hpp>

#include <cstdint>

namespace fairlead::futures {

class pair_word {
public:
    // --- the promise: the first two once at most ---------------------------------------------

    enum class [[nodiscard]] after_settle : std::uint8_t {
        leave,    // the pair belongs to the future
        tell,     // tell the listener; the pair belongs to it
        destroy,  // the pair
    };

    /// The result was written.
    after_settle settle() noexcept {
        // [PR1] acquire: sees the listener. An old value leads to the exchange.
        if ((word_.load(sync::acquire) & for_good) != 0) {
            // relaxed: the future looks at the word again only after it was told.
            word_.store(settled, sync::relaxed);
            return after_settle::tell;
        }
        // [PR1] release: publishes the result; acquire: sees the listener, and the end of the call.
        const std::uint8_t before = word_.exchange(settled, sync::acq_rel);
        if ((before & attached) != 0) return after_settle::tell;
        if ((before & gone) == 0) return after_settle::leave;
        const bool is_calling = (before & (listened | called)) == listened;
        return is_calling ? after_settle::leave : after_settle::destroy;
    }

    /// The call was written. False: the future went before, and the promise makes the call.
    [[nodiscard]] bool listen() noexcept {
        // [PR1] release: publishes the call.
        const std::uint8_t before = word_.fetch_or(listened, sync::release);
        FAIRLEAD_ASSERT((before & listened) == 0, "on_unwanted was called twice");
        if ((before & gone) == 0) return true;
        word_.fetch_or(called, sync::relaxed);  // only for `settle`, by this side, too
        return false;
    }

    /// Whether the future may still be there. relaxed: an old answer is that of a moment before.
    [[nodiscard]] bool is_wanted() const noexcept {
        return (word_.load(sync::relaxed) & gone) == 0;
    }

    // --- the future ----------------------------------------------------------------------------

    /// The listener was written. False: the result is there, and nothing is told.
    [[nodiscard]] bool attach() noexcept { return add_listener(attached); }

    /// The same, and there will be no `withdraw`, and before the listener was told no `drop`.
    [[nodiscard]] bool attach_for_good() noexcept { return add_listener(attached | for_good); }

    /// After `attach` was true: nothing is told any more. False: it was told, or is about to be.
    [[nodiscard]] bool withdraw() noexcept {
        // relaxed: the listener is this side's own.
        std::uint8_t word = word_.load(sync::relaxed);
        while ((word & settled) == 0) {
            const auto without = static_cast<std::uint8_t>(word & ~attached);
            if (word_.compare_exchange_weak(word, without, sync::relaxed, sync::relaxed))
                return true;
        }
        return false;
    }

    enum class [[nodiscard]] after_drop : std::uint8_t {
        leave,    // the pair belongs to the promise
        call,     // make the call, then `end_call`
        destroy,  // the pair
    };

    /// The future goes, and is not attached. Once.
    after_drop drop() noexcept {
        // [PR1] acquire: sees the result, for its destruction, and the call; release: what the
        // future's side did with the pair is over.
        const std::uint8_t before = word_.fetch_or(gone, sync::acq_rel);
        if ((before & settled) != 0) return after_drop::destroy;
        return (before & listened) != 0 ? after_drop::call : after_drop::leave;
    }

    /// The call is over. True: the pair is to be destroyed.
    [[nodiscard]] bool end_call() noexcept {
        // [PR1] as in drop.
        return (word_.fetch_or(called, sync::acq_rel) & settled) != 0;
    }

    /// Whether the result is there, and is seen.
    [[nodiscard]] bool is_settled() const noexcept {
        return (word_.load(sync::acquire) & settled) != 0;  // [PR1]
    }

private:
    static constexpr std::uint8_t settled = 1;
    static constexpr std::uint8_t attached = 2;
    static constexpr std::uint8_t gone = 4;
    static constexpr std::uint8_t listened = 8;
    static constexpr std::uint8_t called = 16;
    static constexpr std::uint8_t for_good = 32;

    [[nodiscard]] bool add_listener(std::uint8_t bits) noexcept {
        // [PR1] release: publishes the listener; acquire: sees the result.
        const std::uint8_t before = word_.fetch_or(bits, sync::acq_rel);
        FAIRLEAD_ASSERT((before & (attached | settled)) != attached,
                        "a future is awaited twice at once");
        return (before & settled) == 0;
    }

    // See the top of this file.
    sync::atomic<std::uint8_t> word_{0};
};

}  // namespace fairlead::futures
