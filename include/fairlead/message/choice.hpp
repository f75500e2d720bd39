// Handlers over several ports: the first message of any, and a number of messages in total.
//
//     auto first = fl::choice(pool, fl::from(orders, ship), fl::from(cancels, undo));
//     auto all = fl::gather(pool, 10, sum_up, results, failures);
//
// A choice takes exactly one message, from the port that has one first, and leaves all other ports
// as if it had never been there. A gather takes messages until it has so many in total, and gives
// them to its handler at once, those of each port apart: with a port for failures it hears of the
// failures, too.
//
// Both are receivers for one call of a handler: `end`, `ended` and `stats` are those of a receiver;
// a pause is not for them, but only before the first message. Neither counts a message whose
// deadline has passed: it is dropped. The handler of a choice has the context of the sender; that
// of a gather the context of the task that has made it, since its messages have several senders.
#pragma once

#include <fairlead/coro/select.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/detail/message/worker.hpp>
#include <fairlead/message/port.hpp>
#include <fairlead/message/port_receiver.hpp>

#include <array>
#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace fairlead {

/// A port and a handler for its message: see `choice`. Made by `from`.
template <class T, class F>
struct choice_case {
    /// @cond internal
    std::shared_ptr<messages::port_core<T>> port;
    F handler;
    /// @endcond
};

/// A case of a choice: a message of `of` goes to `handler`, `f(T)` or `f(T, receiver_ref)`, plain
/// or a coroutine; for a request also with the message alone, as in `port::receive_with`.
template <class T, class F>
[[nodiscard]] choice_case<T, std::decay_t<F>> from(port<T>& of, F&& handler) {
    return {of.core(), std::forward<F>(handler)};
}

/// @cond internal
namespace messages {

template <class T>
void keep(waited<envelope<T>>&& next, std::optional<envelope<T>>& into, bool& is_open) {
    if (next) {
        into.emplace(std::move(*next));
    } else {
        is_open = false;
    }
}

// Whether a message was taken that is in time.
template <class T>
[[nodiscard]] bool has_message(port_core<T>& from, std::optional<envelope<T>>& taken,
                               receiver_state& of, const coro::root& worker) {
    if (!taken) return false;
    if (is_in_time(from, *taken, of, worker)) return true;
    taken.reset();
    return false;
}

// Takes one message of several ports into the one of `into` that is its own; all are empty before.
// False: the receiver ends, or all ports are closed and empty.
template <class... T, std::size_t... I>
task<bool> take_any(receiver_state& of, std::index_sequence<I...>,
                    std::tuple<std::optional<envelope<T>>...>& into,
                    std::array<bool, sizeof...(T)>& open, port_core<T>&... from) {
    const coro::root& worker = co_await coro::running_root();
    while ((open[I] || ...)) {
        if (of.is_ending()) co_return false;
        const auto interrupted = [](waited<void>) {};
        const std::tuple takes{[&](waited<envelope<T>>&& next) {
            keep<T>(std::move(next), std::get<I>(into), open[I]);
        }...};
        const auto selected =
            co_await select(on(of.interrupted.wait(), interrupted),
                            on_if(open[I], from.elements.receive(), std::get<I>(takes))...);
        if (!selected) co_return false;
        if ((has_message(from, std::get<I>(into), of, worker) || ...)) co_return true;
        const auto goes_on = co_await of.resumed.wait();
        if (!goes_on) co_return false;
    }
    co_return false;
}

template <std::size_t Index, class Cases, class Taken>
task<> handle_taken(Cases& cases, Taken& taken, const receiver_ref& self, receiver_state& of,
                    const std::optional<gate_entry>& entry) {
    if constexpr (Index != std::tuple_size_v<Taken>) {
        auto& mine = std::get<Index>(taken);
        if (mine) {
            auto& fired = std::get<Index>(cases);
            co_await process(*fired.port, fired.handler, *mine, self, of, entry);
        } else {
            co_await handle_taken<Index + 1>(cases, taken, self, of, entry);
        }
    }
}

template <class... T, class... F>
task<> choose(worker_end end, std::tuple<choice_case<T, F>...> all) {
    const worker_end told_last{std::move(end)};  // a parameter lives as long as the frame
    receiver_state* const of = told_last.of().get();
    std::tuple<choice_case<T, F>...> cases{std::move(all)};  // go before the end is told
    const receiver_ref self{told_last.of()};
    std::tuple<std::optional<envelope<T>>...> taken;
    std::array<bool, sizeof...(T)> open{};
    open.fill(true);
    const bool has_one = co_await std::apply(
        [&](auto&... each) {
            return take_any(*of, std::index_sequence_for<T...>{}, taken, open, *each.port...);
        },
        cases);
    if (!has_one) co_return;
    const std::optional<gate_entry> no_gate;
    co_await handle_taken<0>(cases, taken, self, *of, no_gate);
}

template <class F, class... T>
task<> collect(worker_end end, std::size_t count, F call, std::shared_ptr<port_core<T>>... ports) {
    const worker_end told_last{std::move(end)};  // a parameter lives as long as the frame
    receiver_state* const of = told_last.of().get();
    F handler{std::move(call)};  // goes before the end is told
    const coro::root& worker = co_await coro::running_root();
    std::tuple<std::vector<T>...> all;
    std::array<bool, sizeof...(T)> open{};
    open.fill(true);
    for (; count != 0; --count) {
        std::tuple<std::optional<envelope<T>>...> taken;
        const bool has_one =
            co_await take_any(*of, std::index_sequence_for<T...>{}, taken, open, *ports...);
        if (!has_one) break;
        const auto add = []<class M>(std::vector<M>& to, std::optional<envelope<M>>& one) {
            if (one) to.push_back(std::move(one->message));
        };
        [&]<std::size_t... I>(std::index_sequence<I...>) {
            (add(std::get<I>(all), std::get<I>(taken)), ...);
        }(std::index_sequence_for<T...>{});
    }
    std::exception_ptr failure;
    try {
        using returned = decltype(std::apply(handler, std::move(all)));
        check_dropped<returned>();
        if constexpr (awaited_result<returned>::is_task) {
            co_await std::apply(handler, std::move(all));
        } else {
            std::apply(handler, std::move(all));
        }
    } catch (...) {
        failure = std::current_exception();
    }
    of->count_handled();
    if (failure) of->fail(failure, worker);
}

}  // namespace messages
/// @endcond

/// Takes one message from the first port that has one, and calls its handler as a task of `where`.
/// If several have one, it is any of them. Ends without a call when all ports are closed and empty.
/// Allocates; throws `std::bad_alloc`.
template <class... T, class... F>
    requires(sizeof...(T) > 0)
port_receiver choice(executor where, choice_case<T, F>... cases) {
    auto state = std::make_shared<messages::receiver_state>(1, failure_sink{});
    spawn(where,
          messages::choose<T...>(messages::worker_end{state}, std::tuple{std::move(cases)...}),
          {.name = "choice"})
        .detach();
    return port_receiver{std::move(state)};
}

/// Takes `count` messages in total, and calls `handler(std::vector<T>...)`, plain or a coroutine,
/// as a task of `where`, with the messages of each port. With fewer, if all ports are closed and
/// empty, or the receiver ends, or the scheduler stops: what was taken is given. Allocates.
template <class F, class... T>
    requires(sizeof...(T) > 0)
port_receiver gather(executor where, std::size_t count, F handler, port<T>&... ports) {
    auto state = std::make_shared<messages::receiver_state>(1, failure_sink{});
    spawn(where,
          messages::collect<F, T...>(messages::worker_end{state}, count, std::move(handler),
                                     ports.core()...),
          {.name = "gather"})
        .detach();
    return port_receiver{std::move(state)};
}

}  // namespace fairlead
