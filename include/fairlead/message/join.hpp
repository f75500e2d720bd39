// A join: one message of each of several ports at once, or none.
//
//     auto pairs = fl::join(pool, [](order o, payment p) { ... }, {}, orders, payments);
//
// A join takes a message only together with one of each of its other ports. Until each has one, all
// messages stay where they are, for other receivers and joins, and in their order. So joins whose
// ports cross each other never wait for each other.
//
// A receiver that waits at a port gets what arrives before a join does. Joins that compete are told
// in the order in which they began to wait.
//
// A handler has the context of its join, as a detached task, since its messages have several
// senders. A message whose deadline has passed is dropped and counted, and takes none with it.
#pragma once

#include <fairlead/coro/select.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/detail/message/joining.hpp>
#include <fairlead/detail/message/worker.hpp>
#include <fairlead/message/port.hpp>
#include <fairlead/message/port_receiver.hpp>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <initializer_list>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>

namespace fairlead {

/// @cond internal
namespace messages {

// Waits until the port `missing` has a message, or the receiver is paused or ends. False: one of
// the ports is closed and empty, or the task was stopped.
template <class... T, std::size_t... I>
task<bool> watch(std::size_t missing, receiver_state& of, std::index_sequence<I...>,
                 port_core<T>&... from) {
    bool is_open = true;
    const auto interrupted = [](waited<void>) {};
    const auto arrived = [&](waited<void> there) { is_open = there.has_value(); };
    const auto selected = co_await select_in_order(
        on(of.interrupted.wait(), interrupted),
        on(coro::task_wait<watch_operation<envelope<T>>>{never, from.elements.state(),
                                                         I != missing},
           arrived)...);
    co_return selected.has_value() && is_open;
}

template <class... T>
void drop_each(std::tuple<std::optional<envelope<T>>...>& overdue, receiver_state& of,
               const std::tuple<std::shared_ptr<port_core<T>>...>& from) {
    const auto drop = [&]<class M>(std::optional<envelope<M>>& each, port_core<M>& back) {
        if (!each) return;
        of.count_overdue();
        back.drop_overdue(std::move(each->message));
    };
    [&]<std::size_t... I>(std::index_sequence<I...>) {
        (drop(std::get<I>(overdue), *std::get<I>(from)), ...);
    }(std::index_sequence_for<T...>{});
}

template <class F, class... T>
task<> work_on_each(worker_end end, std::shared_ptr<F> shared,
                    std::tuple<std::shared_ptr<port_core<T>>...> from, bool is_one_shot) {
    const worker_end told_last{std::move(end)};  // a parameter lives as long as the frame
    receiver_state* const of = told_last.of().get();
    const std::shared_ptr<F> handler{std::move(shared)};  // goes before the end is told
    const coro::root& worker = co_await coro::running_root();
    while (!of->is_ending()) {
        const auto goes_on = co_await of->resumed.wait();
        if (!goes_on || of->is_ending()) co_return;
        std::tuple<std::optional<envelope<T>>...> taken;
        std::size_t missing = 0;
        const joined how = std::apply(
            [&](auto&... each) {
                return take_each([&] { return worker.home().now(); }, missing, taken, *each...);
            },
            from);
        if (how == joined::overdue) drop_each(taken, *of, from);
        if (how == joined::none) {
            const bool is_open = co_await std::apply(
                [&](auto&... each) {
                    return watch(missing, *of, std::index_sequence_for<T...>{}, *each...);
                },
                from);
            if (!is_open) co_return;
        }
        if (how != joined::all) continue;
        std::exception_ptr failure;
        try {
            const auto call = [&](std::optional<envelope<T>>&... each) {
                return std::invoke(*handler, std::move(each->message)...);
            };
            using returned = decltype(std::apply(call, taken));
            check_dropped<returned>();
            if constexpr (awaited_result<returned>::is_task) {
                co_await std::apply(call, taken);
            } else {
                std::apply(call, taken);
            }
        } catch (...) {
            failure = std::current_exception();
        }
        of->count_handled();
        if (failure) of->fail(failure, worker);
        if (is_one_shot) co_return;
    }
}

// Whether no two are the same.
[[nodiscard]] inline bool are_different(std::initializer_list<const void*> ports) noexcept {
    return std::ranges::all_of(
        ports, [&](const void* each) { return std::ranges::count(ports, each) == 1; });
}

}  // namespace messages
/// @endcond

/// Attaches a receiver to several different ports: `handler(T...)`, plain or a coroutine, is called
/// with one message of each as a task of `where`. The options are those of a receiver, but for the
/// gate, which a handler enters itself. It ends when one of its ports is closed and empty.
/// Allocates; throws `std::bad_alloc`.
template <class F, class... T>
    requires(sizeof...(T) > 1)
port_receiver join(executor where, F handler, receiver_options options, port<T>&... ports) {
    FAIRLEAD_ASSERT(options.at_most != 0, "a receiver runs one handler at least");
    FAIRLEAD_ASSERT(!options.gate, "a join has no gate: enter it in the handler");
    FAIRLEAD_ASSERT(messages::are_different({ports.core().get()...}),
                    "a join takes one message of each of different ports");
    const bool is_one_shot = options.mode == receiver_mode::one_shot;
    const std::size_t workers = is_one_shot ? 1 : options.at_most;
    auto state = std::make_shared<messages::receiver_state>(workers, std::move(options.on_failure));
    port_receiver made{state};  // ends the workers that there are, if there is no memory for all
    auto shared = std::make_shared<F>(std::move(handler));
    for (std::size_t i = 0; i != workers; ++i) {
        spawn(where,
              messages::work_on_each<F, T...>(messages::worker_end{state}, shared,
                                              std::tuple{ports.core()...}, is_one_shot),
              {.name = options.name, .detached = true})
            .detach();
    }
    return made;
}

}  // namespace fairlead
