// The tasks of a receiver: each takes one message after the other, and calls the handler.
//
// A worker belongs to its receiver and keeps the channel: so the port may go at any time.
#pragma once

#include <fairlead/channel/channel.hpp>
#include <fairlead/coro/select.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/detail/message/receiver_state.hpp>
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

template <class T>
struct port_core {
    port_core(std::size_t capacity, when_full policy) : elements{capacity, policy} {}

    channel<T> elements;
};

template <class T>
struct awaited_result {
    using type = T;
    static constexpr bool is_task = false;
};
template <class T>
struct awaited_result<task<T>> {
    using type = T;
    static constexpr bool is_task = true;
};

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

template <class F, class M>
task<> handle(F& f, M& message, const receiver_ref& self) {
    using returned = decltype(call_handler(f, std::move(message), self));
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

// One message, inside the gate if there is one.
template <class T, class F>
task<> process(F& f, T& message, const receiver_ref& self, receiver_state& of,
               const std::optional<gate_entry>& entry) {
    gate_hold inside;
    if (entry) {
        auto hold = co_await *entry;
        if (!hold) {
            of.refuse(std::make_exception_ptr(wait_failed{hold.error()}));
            co_return;
        }
        inside = std::move(*hold);
    }
    std::exception_ptr failure;
    try {
        if constexpr (answers<T, F>()) {
            const bool is_value = co_await answer(f, message, self);
            if (!is_value) of.count_failed();
        } else {
            co_await handle(f, message, self);
        }
    } catch (...) {
        failure = std::current_exception();
    }
    of.count_handled();
    if (failure) of.fail(failure);
}

// Takes the next message, unless the receiver is paused or ends. False: there will be none.
template <class T>
task<bool> take_next(channel<T>& from, receiver_state& of, std::optional<T>& into) {
    for (;;) {
        if (of.is_ending()) co_return false;
        bool is_open = true;
        const auto interrupted = [](waited<void>) {};
        const auto take = [&](waited<T> next) {
            if (next) {
                into.emplace(std::move(*next));
            } else {
                is_open = false;
            }
        };
        const auto selected = co_await select_in_order(on(of.interrupted.wait(), interrupted),
                                                       on(from.receive(), take));
        if (!selected || !is_open) co_return false;
        if (into) co_return true;
        const auto goes_on = co_await of.resumed.wait();
        if (!goes_on) co_return false;
    }
}

template <class T, class F>
task<> work(std::shared_ptr<port_core<T>> from, std::shared_ptr<receiver_state> of,
            std::shared_ptr<F> handler, std::optional<gate_entry> entry, bool is_one_shot) {
    const worker_end at_end{*of};
    const receiver_ref self{of};
    for (;;) {
        std::optional<T> message;
        const bool is_there = co_await take_next(from->elements, *of, message);
        if (!is_there) co_return;
        co_await process(*handler, *message, self, *of, entry);
        if (is_one_shot) co_return;
    }
}

template <class T, class F>
port_receiver attach(executor where, std::shared_ptr<port_core<T>> to, F&& handler,
                     receiver_options&& options) {
    const bool is_one_shot = options.mode == receiver_mode::one_shot;
    FAIRLEAD_ASSERT(options.at_most != 0, "a receiver runs one handler at least");
    const std::size_t workers = is_one_shot ? 1 : options.at_most;
    auto state = std::make_shared<receiver_state>(where, workers, std::move(options.on_failure));
    auto shared = std::make_shared<std::decay_t<F>>(std::forward<F>(handler));
    for (std::size_t i = 0; i != workers; ++i) {
        spawn(where, work<T, std::decay_t<F>>(to, state, shared, options.gate, is_one_shot),
              {.name = options.name})
            .detach();
    }
    return port_receiver{std::move(state)};
}

}  // namespace fairlead::messages

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
