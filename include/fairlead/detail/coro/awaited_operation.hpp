// What a coroutine waits for besides time and wakeups: operations that end by themselves.
#pragma once

#include <fairlead/base/time.hpp>
#include <fairlead/coro/waited.hpp>
#include <fairlead/detail/base/language.hpp>

#include <cstdint>

namespace fairlead {

class wait_source;

namespace coro {

class root;

/// What ends a wait for an operation before the operation has ended. `overdue`: the deadline of the
/// context.
enum class interruption : std::uint8_t { none, stop, deadline, overdue };

/// What the wait gives then. Not of `none`.
[[nodiscard]] constexpr wait_error error_of(interruption why) noexcept {
    switch (why) {
        case interruption::none:
        case interruption::stop:
            break;
        case interruption::deadline:
            return wait_error::expired;
        case interruption::overdue:
            return wait_error::overdue;
    }
    return wait_error::stopped;
}

/// What a root waits for until it is completed, if that can be asked for more than its end. Called
/// on the worker that runs the root.
class awaited_operation {
public:
    /// The root was asked to stop, or the deadline of its wait has passed, or that of its context
    /// before it; each once. True: the operation was withdrawn, will not complete the root, and the
    /// wait ends. False: the operation goes on, perhaps told to hurry, and completes the root at
    /// its end: its result wins.
    [[nodiscard]] virtual bool interrupt(interruption why) noexcept {
        static_cast<void>(why);
        return false;
    }

    /// Until when it waits, of an operation that may go on after `overdue`: then it is told that
    /// its own deadline has passed, too.
    [[nodiscard]] virtual time_point own_deadline() const noexcept { return never; }

    /// What `holder` had forked has been run; or, if `holder` waits for an agreement, it was
    /// completed. Whether it must wait all the same; then it is completed at the end.
    [[nodiscard]] virtual bool must_wait(root& holder) noexcept {
        static_cast<void>(holder);
        return true;
    }

    /// `holder` has had its turn before it asks for what other tasks want, too. Whether it must
    /// wait for the operation, for which it waits now (`root::wait_on`).
    [[nodiscard]] virtual bool begin_after_turn(root& holder) noexcept {
        static_cast<void>(holder);
        return false;
    }

    /// `holder` was woken while it waits for an agreement, by a source that it waits for or by a
    /// wake-up. Whether its wait ends.
    [[nodiscard]] virtual bool is_woken() noexcept { return false; }

    /// The root is to be destroyed, after a completion for an agreement. False: it will be
    /// completed once more.
    [[nodiscard]] virtual bool can_go() noexcept { return true; }

    /// The root is to be destroyed. True: it will not be completed any more.
    [[nodiscard]] virtual bool withdraw() noexcept { return false; }

    /// The same, while `holder` waits for something else but has a `held_operation`. True: the
    /// operation goes on, was asked to stop, and completes `holder` at its end.
    [[nodiscard]] virtual bool outlasts(root& holder) noexcept {
        static_cast<void>(holder);
        return false;
    }

protected:
    ~awaited_operation() = default;
};

/// An operation that may have to be tried again when its source fires, such as a read.
class retried_operation {
public:
    /// What says when it is worth another attempt.
    [[nodiscard]] wait_source& source() const noexcept { return source_; }

    /// Tries once, without waiting. True: it has ended, well or not.
    [[nodiscard]] virtual bool attempt() noexcept = 0;

protected:
    explicit retried_operation(wait_source& source) noexcept : source_{source} {}
    ~retried_operation() = default;

private:
    wait_source& source_;
};

}  // namespace coro
}  // namespace fairlead
