// Signals of the system, as something to wait for.
//
//     auto ends = fl::io::signal_set::make(fl::io::epoll_driver::of(scheduler), {SIGTERM, SIGINT});
//     const auto number = co_await ends->next();  // SIGTERM, or SIGINT
//
// A handler of the library takes the signals of a set from its construction to its end; then the
// handler from before is there again. A signal that comes several times before `next` counts once,
// as the system itself counts it. Each of several sets with the same signal is told of it.
//
// A handler that the program installs meanwhile takes the signals away from the sets, until the
// next set with that signal is made; it is the handler from before then.
//
// A child of `fork` has the handlers from before: its signals are not told to its parent's sets. It
// may make sets of its own.
//
// Not signalfd: that needs the signal blocked in every thread, also in those of other libraries,
// and programs that are started inherit the block. The signal must not be blocked in all threads.
#pragma once

#include <fairlead/coro/task.hpp>
#include <fairlead/io/epoll_driver.hpp>

#include <expected>
#include <initializer_list>
#include <memory>
#include <span>
#include <system_error>

namespace fairlead::io {

/// The signals that it was made for. One task at a time waits for the next.
class signal_set {
public:
    /// The most sets that a process can have at once.
    static constexpr std::size_t sets_max = 64;

    /// Errors: `invalid_argument` for a number that is no signal, that no handler can take
    /// (SIGKILL, SIGSTOP), or that tells of a fault of the program (SIGSEGV, SIGBUS, SIGFPE,
    /// SIGILL, SIGTRAP, SIGABRT); `resource_unavailable_try_again` for more than `sets_max` sets;
    /// those of eventfd and of `watch::make`. Any thread. Throws `std::bad_alloc`.
    [[nodiscard]] static std::expected<signal_set, std::error_code> make(
        epoll_driver& driver, std::span<const int> signals);
    /// The same, for a list in braces.
    [[nodiscard]] static std::expected<signal_set, std::error_code> make(
        epoll_driver& driver, std::initializer_list<int> signals) {
        return make(driver, std::span{signals.begin(), signals.size()});
    }

    /// Takes over the signals of `other`, which may only be destroyed or assigned to then.
    signal_set(signal_set&& other) noexcept;
    /// The same; its own set ends. No task may wait with that.
    signal_set& operator=(signal_set&& other) noexcept;
    /// Ends it. No task may wait with it: that is asserted.
    ~signal_set();

    /// Waits for a signal that has come since it was told last, and gives its number; the lowest of
    /// several. Errors: `timed_out`, `operation_canceled`, `stream_timeout`, as of a stream. On the
    /// scheduler of the driver.
    [[nodiscard]] task<std::expected<int, std::error_code>> next(time_point deadline = never);

private:
    struct state;

    explicit signal_set(std::unique_ptr<state> made) noexcept;

    std::unique_ptr<state> state_;  // the handler refers to it
};

}  // namespace fairlead::io
