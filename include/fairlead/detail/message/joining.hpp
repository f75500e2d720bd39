// One message of each of several ports, all or nothing.
//
//     take_each:  lock all, in the order of the addresses
//                 a message in each?  take one of each : take none
//                 is one of them overdue?  take the overdue ones alone, to be dropped
//                 unlock all, tell what has ended
//     otherwise:  watch the first port that is empty, without taking, and the ends of all other
//                 ones, and try again
//
// Invariants
//   1. Messages that are in time leave the ports only together, under all mutexes. So nothing is
//      put back, and the order of each port is kept.
//   2. All joins lock in one order: joins over crossed sets of ports do not wait for each other.
//   3. A join waits only while the port that it watches is empty, and every message that comes to
//      stay there ends the wait. So an arrival that makes all ports non-empty is not missed.
//   4. A port that is closed and empty ends the wait of a join, whichever port it watches.
//
// Spec: JoinPorts in spec/MAP.md.
//
// Joins are told in the order in which their waits began. Receivers that wait at a port get what
// arrives before joins do.
#pragma once

#include <fairlead/base/time.hpp>
#include <fairlead/channel/channel.hpp>
#include <fairlead/detail/coro/task_wait.hpp>
#include <fairlead/detail/message/port_core.hpp>
#include <fairlead/detail/sync/mutex.hpp>
#include <fairlead/detail/sync/waiter_list.hpp>
#include <fairlead/message/envelope.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <tuple>
#include <utility>

namespace fairlead::messages {

// Waits for an element without taking it; or, if `end_alone`, until the channel is closed and
// empty.
template <class T>
class watch_operation : public sync::waiter {
public:
    watch_operation(channels::channel_state<T>& of, bool end_alone) noexcept
        : of_{of}, end_alone_{end_alone} {}

    [[nodiscard]] bool enter() noexcept { return watch(true) == channels::progress::waits; }
    [[nodiscard]] bool try_enter() noexcept { return watch(false) != channels::progress::full; }
    [[nodiscard]] bool leave() noexcept {
        return end_alone_ ? of_.withdraw_end_watch(*this) : of_.withdraw_watch(*this);
    }
    [[nodiscard]] waited<void> collect(std::optional<wait_error> early) noexcept {
        if (early) return std::unexpected{*early};
        if (this->take_grant()) return {};
        return std::unexpected{wait_error::closed};
    }

protected:
    watch_operation(watch_operation&&) noexcept = default;
    ~watch_operation() = default;

private:
    channels::progress watch(bool may_wait) noexcept {
        return end_alone_ ? of_.watch_end(*this, may_wait) : of_.watch(*this, may_wait);
    }

    channels::channel_state<T>& of_;
    const bool end_alone_;
};

// Takes the message that is there into an optional.
template <class T>
class taking final : public channels::receive_operation<T> {
public:
    using channels::receive_operation<T>::receive_operation;

private:
    void tell() noexcept override {}
};

enum class joined : std::uint8_t {
    all,      // one of each was taken
    none,     // a port was empty
    overdue,  // messages were taken that are to be dropped
};

/// Takes one of each, or, if some of these are overdue at `now()`, those alone. `none`: the first
/// port that was empty is the one numbered `missing`. The ports are different ones.
template <class Now, class... T>
[[nodiscard]] joined take_each(Now now, std::size_t& missing,
                               std::tuple<std::optional<envelope<T>>...>& into,
                               port_core<T>&... from) {
    std::array<sync::mutex*, sizeof...(T)> mutexes{&from.elements.state().mutex()...};
    std::ranges::sort(mutexes, std::less<>{});
    std::tuple<taking<envelope<T>>...> takes{from.elements.state()...};
    std::array<bool, sizeof...(T)> wanted{};
    sync::waiter_list ended;
    joined result = joined::none;
    for (sync::mutex* const each : mutexes) each->lock();
    const std::array has{from.elements.state().has_element()...};
    missing = static_cast<std::size_t>(std::ranges::find(has, false) - has.begin());
    if (missing == sizeof...(T)) {
        const std::array deadlines{from.elements.state().oldest().sender.deadline()...};
        const time_point earliest = std::ranges::min(deadlines);
        const time_point moment = earliest != never ? now() : time_point{};
        const bool is_overdue = earliest != never && moment >= earliest;
        result = is_overdue ? joined::overdue : joined::all;
        std::ranges::transform(deadlines, wanted.begin(), [&](time_point each) {
            return !is_overdue || (each != never && each <= moment);
        });
        [&]<std::size_t... I>(std::index_sequence<I...>) {
            const auto take = [&](bool is_wanted, auto& state, auto& place) {
                if (is_wanted) state.take_locked(place, ended);
            };
            (take(wanted[I], from.elements.state(), std::get<I>(takes)), ...);
        }(std::index_sequence_for<T...>{});
    }
    for (sync::mutex* const each : mutexes) each->unlock();
    ended.tell_all();
    [&]<std::size_t... I>(std::index_sequence<I...>) {
        const auto keep = [](bool was_taken, auto& place, auto& taken) {
            if (was_taken) taken.emplace(*place.collect(std::nullopt));
        };
        (keep(wanted[I], std::get<I>(takes), std::get<I>(into)), ...);
    }(std::index_sequence_for<T...>{});
    return result;
}

}  // namespace fairlead::messages
