// One message of each of several channels, all or nothing.
//
//     take_each:  lock all, in the order of the addresses
//                 an element in each?  take one of each : take none
//                 unlock all, tell what has ended
//     otherwise:  watch the first channel that is empty, without taking, and try again
//
// Invariants
//   1. Elements leave the channels only together, under all mutexes. So nothing is put back, and
//   the
//      order of each channel is kept.
//   2. All joins lock in one order: joins over crossed sets of channels do not wait for each other.
//   3. A join waits only in a channel that was empty under its mutex, and every element that comes
//   to
//      stay there ends the wait. So an arrival that makes all channels non-empty is not missed.
//
// Spec: JoinPorts in spec/MAP.md.
//
// Joins are told in the order in which their waits began. Receivers that wait in a channel get what
// arrives before joins do.
#pragma once

#include <fairlead/channel/channel.hpp>
#include <fairlead/detail/coro/task_wait.hpp>
#include <fairlead/detail/sync/mutex.hpp>
#include <fairlead/detail/sync/waiter_list.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <expected>
#include <functional>
#include <optional>
#include <tuple>
#include <utility>

namespace fairlead::messages {

// Waits for an element without taking it.
template <class T>
class watch_operation : public sync::waiter {
public:
    explicit watch_operation(channels::channel_state<T>& of) noexcept : of_{of} {}

    [[nodiscard]] bool enter() noexcept {
        return of_.watch(*this, true) == channels::progress::waits;
    }
    [[nodiscard]] bool try_enter() noexcept {
        return of_.watch(*this, false) != channels::progress::full;
    }
    [[nodiscard]] bool leave() noexcept { return of_.withdraw_watch(*this); }
    [[nodiscard]] waited<void> collect(std::optional<wait_error> early) noexcept {
        if (early) return std::unexpected{*early};
        if (this->take_grant()) return {};
        return std::unexpected{wait_error::closed};
    }

protected:
    ~watch_operation() = default;

private:
    channels::channel_state<T>& of_;
};

// Takes the message that is there into an optional.
template <class T>
class taking final : public channels::receive_operation<T> {
public:
    using channels::receive_operation<T>::receive_operation;

private:
    void tell() noexcept override {}
};

/// Takes one of each, or none: false, and `missing` is the number of a channel that was empty. The
/// channels are different ones.
template <class... T>
[[nodiscard]] bool take_each(std::size_t& missing, std::tuple<std::optional<T>...>& into,
                             channel<T>&... from) noexcept {
    std::array<sync::mutex*, sizeof...(T)> mutexes{&from.state().mutex()...};
    std::ranges::sort(mutexes, std::less<>{});
    std::tuple<taking<T>...> takes{from.state()...};
    sync::waiter_list ended;
    for (sync::mutex* const each : mutexes) each->lock();
    const std::array has{from.state().has_element()...};
    missing = static_cast<std::size_t>(std::ranges::find(has, false) - has.begin());
    const bool all = missing == sizeof...(T);
    if (all) {
        std::apply([&](auto&... each) { (from.state().take_locked(each, ended), ...); }, takes);
    }
    for (sync::mutex* const each : mutexes) each->unlock();
    ended.tell_all();
    if (!all) return false;
    [&]<std::size_t... I>(std::index_sequence<I...>) {
        (std::get<I>(into).emplace(*std::get<I>(takes).collect(std::nullopt)), ...);
    }(std::index_sequence_for<T...>{});
    return true;
}

}  // namespace fairlead::messages
