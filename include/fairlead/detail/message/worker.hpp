// The tasks of a receiver: each takes one message after the other, and calls the handler.
//
// A worker belongs to its receiver and keeps the channel: so the port may go at any time.
//
// A handler runs in the context of the sender of its message, and in nothing of the context of the
// receiver: a value of one request is not seen by another. A message whose deadline has passed when
// it is taken, or when its gate lets it in, is dropped.
#pragma once

#include <fairlead/channel/channel.hpp>
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/select.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/detail/context/entered.hpp>
#include <fairlead/detail/coro/root.hpp>
#include <fairlead/detail/message/awaited_result.hpp>
#include <fairlead/detail/message/port_core.hpp>
#include <fairlead/detail/message/receiver_state.hpp>
#include <fairlead/message/envelope.hpp>
#include <fairlead/message/port_receiver.hpp>
#include <fairlead/message/request.hpp>

#include <concepts>
#include <exception>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

// GCC 12 warns, without optimisation, of each coroutine whose handler is a lambda of a source file.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsubobject-linkage"
#endif

namespace fairlead::messages {

// The handler of a receiver: plain or a coroutine, with or without the receiver.
template <class F, class M>
auto call_handler(F& f, M&& message, const receiver_ref& self) {
    if constexpr (std::invocable<F&, M, receiver_ref>) {
        return std::invoke(f, std::forward<M>(message), self);
    } else {
        return std::invoke(f, std::forward<M>(message));
    }
}
template <class F, class M>
concept handles = std::invocable<F&, M> || std::invocable<F&, M, receiver_ref>;

// Whether what a handler of requests returns is a reply.
template <class Result, class R, class E>
inline constexpr bool is_reply =
    std::is_same_v<Result, std::expected<R, E>> ||
    (std::is_void_v<R> ? std::is_void_v<Result> : std::is_constructible_v<R, Result>);

// What a handler of messages returns is dropped, but must not be a failure.
template <class Returned>
consteval void check_dropped() {
    static_assert(
        !futures::is_nested<typename awaited_result<Returned>::type>,
        "a failure that this handler returns would be lost: let it throw, or co_await the "
        "future in it");
}

template <class F, class M>
task<> handle(F& f, M& message, const receiver_ref& self) {
    using returned = decltype(call_handler(f, std::move(message), self));
    check_dropped<returned>();
    if constexpr (awaited_result<returned>::is_task) {
        co_await call_handler(f, std::move(message), self);
    } else {
        call_handler(f, std::move(message), self);
    }
}

// Gives what the handler returns, or throws, as the reply. Whether it was a value.
template <class F, class Q, class R, class E>
task<bool> answer(F& f, request<Q, R, E>& asked, const receiver_ref& self) {
    using returned = decltype(call_handler(f, std::move(asked.message), self));
    using result = typename awaited_result<returned>::type;
    static_assert(
        is_reply<result, R, E>,
        "a handler of requests returns the reply: a value for the promise, a std::expected "
        "of its types, or a task of one");
    std::exception_ptr thrown;
    try {
        if constexpr (std::is_void_v<result>) {
            if constexpr (awaited_result<returned>::is_task) {
                co_await call_handler(f, std::move(asked.message), self);
            } else {
                call_handler(f, std::move(asked.message), self);
            }
            asked.reply.set();
            co_return true;
        } else {
            std::optional<result> made;
            if constexpr (awaited_result<returned>::is_task) {
                made.emplace(co_await call_handler(f, std::move(asked.message), self));
            } else {
                made.emplace(call_handler(f, std::move(asked.message), self));
            }
            if constexpr (std::is_same_v<result, std::expected<R, E>>) {
                const bool is_value = made->has_value();
                asked.reply.set_result(std::move(*made));
                co_return is_value;
            } else {
                asked.reply.set(std::move(*made));
                co_return true;
            }
        }
    } catch (...) {
        thrown = std::current_exception();
    }
    asked.reply.fail(failure_traits<E>::from(thrown));
    co_return false;
}

template <class T, class F>
consteval bool answers() {
    if constexpr (is_request<T>) return handles<F, typename request_traits<T>::message>;
    return false;
}

// Whether a message may be handled; otherwise it is dropped.
template <class T>
[[nodiscard]] bool is_in_time(port_core<T>& from, envelope<T>& taken, receiver_state& of,
                              const coro::root& worker) {
    const time_point deadline = taken.sender.deadline();
    if (deadline == never || worker.home().now() < deadline) return true;
    of.count_overdue();
    from.drop_overdue(std::move(taken.message));
    return false;
}

// One message, in the context of its sender, inside the gate if there is one.
template <class T, class F>
task<> process(port_core<T>& from, F& f, envelope<T>& taken, const receiver_ref& self,
               receiver_state& of, const std::optional<gate_entry>& entry) {
    coro::root& worker = co_await coro::running_root();
    std::optional<coro::entered> context;
    if (taken.sender.held() || worker.context()) context.emplace(worker, taken.sender.held());
    gate_hold inside;
    gate_entry::handler_mark mark;
    if (entry) {
        auto hold = co_await *entry;
        if (!is_in_time(from, taken, of, worker)) co_return;
        if (!hold) {
            of.refuse(std::make_exception_ptr(wait_failed{hold.error()}), worker);
            co_return;
        }
        inside = std::move(*hold);
        mark.set(*entry, worker);
    }
    std::exception_ptr failure;
    try {
        if constexpr (answers<T, F>()) {
            const bool is_value = co_await answer(f, taken.message, self);
            if (!is_value) of.count_failed();
        } else {
            co_await handle(f, taken.message, self);
        }
    } catch (...) {
        failure = std::current_exception();
    }
    of.count_handled();
    if (failure) of.fail(failure, worker);
}

// Takes the next message, unless the receiver is paused or ends. False: there will be none.
template <class T>
task<bool> take_next(port_core<T>& from, receiver_state& of, std::optional<envelope<T>>& into) {
    const coro::root& worker = co_await coro::running_root();
    for (;;) {
        if (of.is_ending()) co_return false;
        bool is_open = true;
        const auto interrupted = [](waited<void>) {};
        const auto take = [&](waited<envelope<T>>&& next) {
            if (next) {
                into.emplace(std::move(*next));
            } else {
                is_open = false;
            }
        };
        const auto selected = co_await select_in_order(on(of.interrupted.wait(), interrupted),
                                                       on(from.elements.receive(), take));
        if (!selected || !is_open) co_return false;
        if (into) {
            if (is_in_time(from, *into, of, worker)) co_return true;
            into.reset();
            continue;
        }
        const auto goes_on = co_await of.resumed.wait();
        if (!goes_on) co_return false;
    }
}

template <class T, class F>
task<> work(worker_end end, std::shared_ptr<port_core<T>> from, std::shared_ptr<F> shared,
            std::optional<gate_entry> entry, bool is_one_shot) {
    const worker_end told_last{std::move(end)};  // a parameter lives as long as the frame
    receiver_state* const of = told_last.of().get();
    const std::shared_ptr<F> handler{std::move(shared)};  // goes before the end is told
    const receiver_ref self{told_last.of()};
    for (;;) {
        std::optional<envelope<T>> message;
        const bool is_there = co_await take_next(*from, *of, message);
        if (!is_there) co_return;
        co_await process(*from, *handler, *message, self, *of, entry);
        if (is_one_shot) co_return;
    }
}

template <class T, class F>
port_receiver attach(executor where, std::shared_ptr<port_core<T>> to, F&& handler,
                     receiver_options&& options) {
    static_assert(handles<std::decay_t<F>, T> || answers<T, std::decay_t<F>>(),
                  "a handler is called with a message of its port, and maybe a receiver_ref");
    const bool is_one_shot = options.mode == receiver_mode::one_shot;
    FAIRLEAD_ASSERT(options.at_most != 0, "a receiver runs one handler at least");
    const std::size_t workers = is_one_shot ? 1 : options.at_most;
    auto state = std::make_shared<receiver_state>(workers, std::move(options.on_failure));
    port_receiver made{state};  // ends the workers that there are, if there is no memory for all
    auto shared = std::make_shared<std::decay_t<F>>(std::forward<F>(handler));
    for (std::size_t i = 0; i != workers; ++i) {
        spawn(where,
              work<T, std::decay_t<F>>(worker_end{state}, to, shared, options.gate, is_one_shot),
              {.name = options.name, .detached = true})
            .detach();
    }
    return made;
}

}  // namespace fairlead::messages

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
