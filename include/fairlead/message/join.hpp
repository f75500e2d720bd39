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
#pragma once

#include <fairlead/coro/select.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/detail/message/joining.hpp>
#include <fairlead/detail/message/worker.hpp>
#include <fairlead/message/port.hpp>
#include <fairlead/message/port_receiver.hpp>

#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>

namespace fairlead {

/// @cond internal
namespace messages {

// Waits until `from` has an element, or the receiver is paused or ends. False: there will be none.
template <class T>
task<bool> watch(channel<T>& from, receiver_state& of) {
    bool is_open = true;
    const auto interrupted = [](waited<void>) {};
    const auto arrived = [&](waited<void> there) { is_open = there.has_value(); };
    coro::task_wait<watch_operation<T>> arrival{never, from.state()};
    const auto selected =
        co_await select_in_order(on(of.interrupted.wait(), interrupted), on(arrival, arrived));
    co_return selected.has_value() && is_open;
}

template <std::size_t Index, class... T>
task<bool> watch_one(std::size_t which, receiver_state& of,
                     const std::tuple<std::shared_ptr<port_core<T>>...>& from) {
    if constexpr (Index == sizeof...(T)) {
        co_return false;
    } else {
        if (which != Index) {
            const bool goes_on = co_await watch_one<Index + 1>(which, of, from);
            co_return goes_on;
        }
        const bool goes_on = co_await watch(std::get<Index>(from)->elements, of);
        co_return goes_on;
    }
}

template <class F, class... T>
task<> work_on_each(std::shared_ptr<receiver_state> of, std::shared_ptr<F> handler,
                    std::tuple<std::shared_ptr<port_core<T>>...> from, bool is_one_shot) {
    const worker_end at_end{*of};
    while (!of->is_ending()) {
        const auto goes_on = co_await of->resumed.wait();
        if (!goes_on || of->is_ending()) co_return;
        std::tuple<std::optional<T>...> taken;
        std::size_t missing = 0;
        const bool all = std::apply(
            [&](auto&... each) { return take_each(missing, taken, each->elements...); }, from);
        if (!all) {
            const bool is_open = co_await watch_one<0>(missing, *of, from);
            if (!is_open) co_return;
            continue;
        }
        std::exception_ptr failure;
        try {
            const auto call = [&](std::optional<T>&... each) {
                return std::invoke(*handler, std::move(*each)...);
            };
            using returned = decltype(std::apply(call, taken));
            if constexpr (awaited_result<returned>::is_task) {
                co_await std::apply(call, taken);
            } else {
                std::apply(call, taken);
            }
        } catch (...) {
            failure = std::current_exception();
        }
        of->count_handled();
        if (failure) of->fail(failure);
        if (is_one_shot) co_return;
    }
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
    const bool is_one_shot = options.mode == receiver_mode::one_shot;
    const std::size_t workers = is_one_shot ? 1 : options.at_most;
    auto state =
        std::make_shared<messages::receiver_state>(where, workers, std::move(options.on_failure));
    auto shared = std::make_shared<F>(std::move(handler));
    for (std::size_t i = 0; i != workers; ++i) {
        spawn(where,
              messages::work_on_each<F, T...>(state, shared, std::tuple{ports.core()...},
                                              is_one_shot),
              {.name = options.name})
            .detach();
    }
    return port_receiver{std::move(state)};
}

}  // namespace fairlead
