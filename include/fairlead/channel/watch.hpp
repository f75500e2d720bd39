// A watch: one value that changes, and what waits for its changes, such as a configuration.
//
//     fl::watch<config> current{load()};
//     auto mine = current.subscribe();
//     while (auto next = co_await mine.changed()) apply(**next);  // the newest, until closed
//     current.set(load());                                        // never waits
//     current.update([](config& next) { ++next.generation; });
//     const auto now = current.get();       // a share: no lock while it is read
//
// A reader that is slower than the changes skips the values between; it never misses the last. For
// each value, in order, use a broadcast.
//
// Costs: a new value is one allocation and a lock, and wakes all that wait in one pass. A read is a
// lock and a count.
//
// Spec: Watch in spec/MAP.md.
#pragma once

#include <fairlead/channel/held.hpp>
#include <fairlead/channel/watcher.hpp>
#include <fairlead/detail/channel/watch_state.hpp>

#include <concepts>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>

namespace fairlead {

/// `T` may be read by several threads at the same time: see `may_be_read_together`. All members may
/// be called by any thread, but for the destructor. Neither a destructor of a `T` nor other code of
/// the user runs under a lock.
template <class T>
class watch {
public:
    /// Begins with `first`. Allocates it.
    explicit watch(T first) : watch{make_held<T>(std::move(first))} {}
    /// The same, with a value that is shared already.
    explicit watch(held<const T> first) noexcept : state_{std::move(first)} {}
    watch(const watch&) = delete;
    watch& operator=(const watch&) = delete;
    /// No watcher may exist.
    ~watch() = default;

    /// Makes `value` the newest, and wakes the watchers that wait. False: it is closed. Allocates,
    /// and throws `std::bad_alloc`; nothing has changed then.
    bool set(T value) { return set(make_held<T>(std::move(value))); }
    /// The same. Allocates nothing.
    bool set(held<const T> value) noexcept {
        return state_.publish(value, std::nullopt) == channels::watch_state<T>::publication::done;
    }

    /// Makes a changed copy of the newest value the newest: calls `change(copy)`. If that returns a
    /// bool, false means that nothing has changed, and watchers are not woken. If another thread
    /// changes the value meanwhile, `change` is called again, with a copy of that value; so no
    /// change is lost. It runs without a lock, and may use the watch. False: `change` has returned
    /// false, or it is closed. Throws what the copy, the allocation and `change` throw; nothing has
    /// changed then.
    template <std::invocable<T&> Change>
    bool update(Change change) {
        using publication = channels::watch_state<T>::publication;
        for (;;) {
            const auto before = state_.now();
            T copy(*before.value);
            if constexpr (std::is_same_v<std::invoke_result_t<Change&, T&>, bool>) {
                if (!std::invoke(change, copy)) return false;
            } else {
                std::invoke(change, copy);
            }
            held<const T> value = make_held<T>(std::move(copy));
            const publication how = state_.publish(value, before.version);
            if (how != publication::outdated) return how == publication::done;
        }
    }

    /// The newest value. Any number of readers keep what they have got as long as they want.
    [[nodiscard]] held<const T> get() noexcept { return state_.now().value; }

    /// What waits for changes. `initial::unseen`: its first `changed` gives the value there is.
    [[nodiscard]] watcher<T> subscribe(initial first = initial::unseen) noexcept {
        return {state_, first};
    }

    /// No value comes any more. Watchers see the last value, and are `closed` then. For good.
    /// False: it was closed before.
    bool close() noexcept { return state_.close(); }

    /// Whether it was closed. Takes the lock.
    [[nodiscard]] bool is_closed() noexcept { return state_.is_closed(); }

private:
    channels::watch_state<T> state_;
};

}  // namespace fairlead
