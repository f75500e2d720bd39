// The waits for permits of a line, under mutexes, semaphores, events and latches: what happens to a
// grant that is not collected, because its task is destroyed with its scheduler.
#pragma once

#include <fairlead/detail/coro/task_wait.hpp>
#include <fairlead/detail/sync/line.hpp>

namespace fairlead::wait {

/// Permits: they return.
class permits_operation : public coro::operation_on<sync::line> {
public:
    using coro::operation_on<sync::line>::operation_on;

    // See task_wait.hpp.
    [[nodiscard]] bool would_end_at_once() const noexcept {
        return of().has_free(takes()) || of().is_closed();
    }

protected:
    permits_operation(permits_operation&&) noexcept = default;
    ~permits_operation() {
        if (take_grant()) of().give_back(takes());
    }
};

/// A `set` of an event: it is kept for the next wait. Another one may have been kept since: both
/// are one.
class signal_operation : public coro::operation_on<sync::line> {
public:
    using coro::operation_on<sync::line>::operation_on;

protected:
    signal_operation(signal_operation&&) noexcept = default;
    ~signal_operation() {
        if (take_grant() && takes() != 0) of().give_back_if_taken();
    }
};

using signal_wait = coro::task_wait<signal_operation>;

}  // namespace fairlead::wait
