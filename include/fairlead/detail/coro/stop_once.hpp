// How a stop goes on to the tasks that a task waits for. What owns child tasks keeps whether it has
// asked them to stop, and why: the first request counts, so all children hear one reason, also
// those that learn of the stop later.
#pragma once

#include <fairlead/detail/coro/awaited_operation.hpp>
#include <fairlead/detail/coro/root.hpp>
#include <fairlead/detail/sync/atomic.hpp>
#include <fairlead/sched/stopped_by.hpp>

#include <cstdint>

namespace fairlead::coro {

/// Why a wait of `waiting` that is interrupted so asks other tasks to stop.
[[nodiscard]] inline stopped_by reason_of(const root& waiting, interruption why) noexcept {
    if (why == interruption::stop) return waiting.stop_reason();
    return why == interruption::overdue ? stopped_by::overdue : stopped_by::timeout;
}

/// Why an exception that leaves `owner` asks the children to stop.
[[nodiscard]] inline stopped_by reason_of_exception(const root& owner) noexcept {
    return owner.hears_stop() ? owner.stop_reason() : stopped_by::failure;
}

class stop_once {
public:
    [[nodiscard]] bool is_asked() const noexcept { return word_.load(sync::relaxed) != 0; }

    /// `unsaid` before a request.
    [[nodiscard]] stopped_by reason() const noexcept {
        return static_cast<stopped_by>(word_.load(sync::relaxed) & reasons);
    }

    /// Any thread. Gives the reason of the first request.
    stopped_by ask(stopped_by why) noexcept {
        std::uint32_t none = 0;
        word_.compare_exchange_strong(none, asked | static_cast<std::uint32_t>(why), sync::relaxed,
                                      sync::relaxed);
        return reason();
    }

private:
    static constexpr std::uint32_t asked = 1U << 16;
    static constexpr std::uint32_t reasons = asked - 1;

    // 0, or `asked` and the reason, for good. Relaxed: the request to the child, which follows,
    // publishes it to the child; a look without one is a hint.
    sync::atomic<std::uint32_t> word_{0};
};

}  // namespace fairlead::coro
