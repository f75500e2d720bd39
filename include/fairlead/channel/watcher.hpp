// What waits for the changes of a watch: see watch.hpp.
#pragma once

#include <fairlead/channel/held.hpp>
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/coro/waited.hpp>
#include <fairlead/detail/channel/watch_state.hpp>
#include <fairlead/detail/coro/task_wait.hpp>

#include <concepts>
#include <cstdint>
#include <expected>
#include <functional>
#include <utility>

namespace fairlead {

/// Knows which value it has seen last. Used by one task or thread at a time, any one; while it
/// waits it must be neither asked again, nor moved, nor destroyed. A watcher must be gone before
/// its watch.
template <class T>
class [[nodiscard]] watcher {
public:
    /// No watcher.
    watcher() = default;
    /// For `watch::subscribe`.
    watcher(channels::watch_state<T>& of, initial first) noexcept
        : of_{&of}, seen_{of.subscribe(first)} {}
    /// Takes over what `other` is, which is none afterwards.
    watcher(watcher&& other) noexcept : of_{std::exchange(other.of_, nullptr)}, seen_{other.seen_} {
        other.check_idle();
    }
    /// Ends, and takes over what `other` is.
    watcher& operator=(watcher&& other) noexcept {
        if (this != &other) {
            end();
            other.check_idle();
            of_ = std::exchange(other.of_, nullptr);
            seen_ = other.seen_;
        }
        return *this;
    }
    ~watcher() { end(); }

    /// Whether it is one: not if it was moved from.
    explicit operator bool() const noexcept { return of_ != nullptr; }

    /// Waits until there is a value that was not seen, and gives the newest, which is seen then:
    /// `waited<held<const T>>`, which may be `stopped` or `expired`; or `closed`: the watch is
    /// closed, and its last value was seen. Values between two calls may be skipped; the last is
    /// not. Allocates nothing.
    [[nodiscard]] auto changed(time_point deadline = never) noexcept {
        return coro::task_wait<channels::change_operation<T>>{deadline, of(), seen_, is_waiting_};
    }

    /// Without a wait: `would_wait` if the newest value was seen.
    [[nodiscard]] waited<held<const T>> try_changed() noexcept {
        check_idle();
        return of().try_changed(seen_);
    }

    /// The same as `changed` on this thread, which must not be a worker's. The deadline is by the
    /// clock of the system.
    [[nodiscard]] waited<held<const T>> changed_blocking(time_point deadline = never) {
        return coro::wait_on_thread<channels::change_operation<T>>(deadline, of(), seen_,
                                                                   is_waiting_);
    }

    /// Gives the first value for which `holds(value)` is true: the newest there is now, or a
    /// later one, until `deadline` at the latest. `waited<held<const T>>`, as from `changed`. What
    /// it has looked at is seen. `holds` runs in the task that waits, without a lock; what it
    /// throws is thrown to the caller. It may miss a value that is there for a short time only. A
    /// coroutine, whose frame comes from recycled memory.
    template <std::predicate<const T&> Predicate>
    [[nodiscard]] task<waited<held<const T>>> wait_for(Predicate holds,
                                                       time_point deadline = never) {
        const bool hears_stop = co_await coro::root_question{
            [](coro::root& self) noexcept { return self.hears_stop(); }};
        if (hears_stop) co_return std::unexpected{wait_error::stopped};
        for (waited<held<const T>> next = get();;) {
            if (!next || std::invoke(holds, **next)) co_return next;
            next = co_await changed(deadline);
        }
    }

    /// The same on this thread, which must not be a worker's. The deadline is by the clock of the
    /// system.
    template <std::predicate<const T&> Predicate>
    [[nodiscard]] waited<held<const T>> wait_for_blocking(Predicate holds,
                                                          time_point deadline = never) {
        for (waited<held<const T>> next = get();; next = changed_blocking(deadline)) {
            if (!next || std::invoke(holds, **next)) return next;
        }
    }

    /// The newest value, which is seen then.
    [[nodiscard]] held<const T> get() noexcept {
        check_idle();
        return of().see(seen_);
    }

    /// Whether there is a value that was not seen. Takes the lock.
    [[nodiscard]] bool has_changed() noexcept {
        check_idle();
        return of().has_changed(seen_);
    }

private:
    [[nodiscard]] channels::watch_state<T>& of() const noexcept {
        FAIRLEAD_ASSERT(of_ != nullptr, "a watcher was used that is none");
        return *of_;
    }
    void check_idle() const noexcept {
        FAIRLEAD_ASSERT(!is_waiting_, "a watcher was used while it waits");
    }
    void end() noexcept {
        check_idle();
        if (of_ != nullptr) std::exchange(of_, nullptr)->unsubscribe();
    }

    channels::watch_state<T>* of_ = nullptr;
    std::uint64_t seen_ = 0;
    bool is_waiting_ = false;
};

}  // namespace fairlead
