// One call for all that ask for the same at the same time, such as the load of a cache entry that
// is missing.
//
//     fl::single_flight<std::string, page> loads{scheduler};
//     fl::waited<page> it = co_await loads.get(url, [&](const auto& url) { return load(url); },
//                                              deadline);
//
// The call, a flight, is a task of its own: no caller leads it, so the stop or the deadline of a
// caller ends its own wait alone. The flight is asked to stop when its last caller has left, and
// from then on a new caller begins a new flight. The result is for those that wait when it comes,
// and is kept no longer: this is no cache.
//
// Any thread. A flight allocates its task and its entry in a table. A wait allocates nothing; `get`
// is a coroutine, whose frame comes from recycled memory. Each operation locks the table for one
// look-up.
#pragma once

#include <fairlead/coro/awaits.hpp>
#include <fairlead/detail/coro/task_wait.hpp>
#include <fairlead/detail/wait/flights.hpp>

#include <concepts>
#include <cstddef>
#include <expected>
#include <functional>
#include <utility>

namespace fairlead {

/// `K` can be copied and compared as a key of a hash table; this is done under a lock. `V` can be
/// copied: each caller has a copy.
template <class K, class V, class Hash = std::hash<K>, class Equal = std::equal_to<K>>
class single_flight {
public:
    /// `where`: where flights run, such as a group that bounds how many run at once. `name`: of
    /// their tasks, for reports.
    explicit single_flight(executor where, task_name name = "flight")
        : where_{where}, name_{name} {}
    single_flight(const single_flight&) = delete;
    single_flight& operator=(const single_flight&) = delete;
    /// Flights and waits that exist go on.
    ~single_flight() = default;

    /// Gives what the flight of `key` gives, until `deadline` at the latest: `waited<V>`, which may
    /// be `stopped` or `expired`; or `closed`, if the task of the flight was destroyed before its
    /// end, with its scheduler. If there is no flight of `key`, begins one: a task that awaits
    /// `make(key)`, which gives a `task<V>`. Throws what that throws; all that wait for the flight
    /// throw the same exception object. Throws `std::bad_alloc`.
    ///
    /// `make` and what it refers to must live as long as the flight, which may be longer than the
    /// wait. A task that was stopped before does not begin a flight.
    template <std::invocable<const K&> Make>
    [[nodiscard]] task<waited<V>> get(K key, Make make, time_point deadline = never) {
        const auto ended = co_await coro::root_question{
            [](coro::root& self) noexcept { return self.ends_waits(); }};
        if (ended) co_return std::unexpected{*ended};
        const auto user = flights_.join(key, std::move(make), where_, name_);
        const waited<void> landed =
            co_await coro::task_wait<wait_for_end>{deadline, user.waits_for()};
        if (!landed) co_return std::unexpected{landed.error()};
        co_return user.result();
    }

    /// The same on this thread, which must not be a worker's. The deadline is by the clock of the
    /// system.
    template <std::invocable<const K&> Make>
    [[nodiscard]] waited<V> get_blocking(const K& key, Make make, time_point deadline = never) {
        const auto user = flights_.join(key, std::move(make), where_, name_);
        const waited<void> ended = coro::wait_on_thread<wait_for_end>(deadline, user.waits_for());
        if (!ended) return std::unexpected{ended.error()};
        return user.result();
    }

    /// How many keys have a flight that a caller may join, for reports.
    [[nodiscard]] std::size_t flights() { return flights_.size(); }

private:
    using wait_for_end = coro::operation_on<sync::flight>;

    wait::flights<K, V, Hash, Equal> flights_;
    const executor where_;
    const task_name name_;
};

}  // namespace fairlead
