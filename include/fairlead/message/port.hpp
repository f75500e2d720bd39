// A port: a channel with receivers, which are handlers that messages find by themselves.
//
//     fl::port<order> orders{64};
//     auto ships = orders.receive_with(pool, [](order one) -> fl::task<> { ... });
//     co_await orders.send(order{...});
//     orders.close();
//     co_await ships.ended();          // all that was sent is handled
//
//     fl::port<fl::request<int, page>> pages;
//     auto serves = pages.receive_with(pool, [](int number) { return load(number); });
//     const page one = co_await pages.ask(7);
//
// Messages queue until a receiver takes them. Several receivers of one port divide the messages. A
// receiver runs one handler at a time unless its options say more; a handler may be a coroutine.
//
// A message has the context of the task that sends it: its deadline, and the values that reach
// messages. The handler runs in that context and no other. A message whose deadline has passed when
// a receiver takes it is dropped and counted, and a request is answered as `overdue`.
//
// A failure of a handler is the reply to a request. Otherwise it goes to the sink of the receiver;
// without that to the error sink of the sender, or to `on_unhandled`. A request that is dropped is
// answered as `broken`.
//
// Costs: those of the channel with a pointer more in each element, and for each message a select
// over two waits. With a context a counter is changed. A receiver allocates when it is made: its
// tasks. A request allocates its promise.
#pragma once

#include <fairlead/channel/channel.hpp>
#include <fairlead/detail/message/port_core.hpp>
#include <fairlead/detail/message/worker.hpp>
#include <fairlead/message/envelope.hpp>
#include <fairlead/message/port_receiver.hpp>
#include <fairlead/message/request.hpp>

#include <cstddef>
#include <expected>
#include <memory>
#include <utility>

namespace fairlead {

/// Messages of type `T`, which is moved without exceptions. Any thread may call all members, but
/// for the destructor and `on_dropped`.
template <class T>
class port {
public:
    /// The capacity of a port without a bound.
    static constexpr std::size_t unbounded = channel<T>::unbounded;

    /// `capacity`: how many messages wait in it at most. `policy`: what happens to a message that
    /// finds no place. Allocates; throws `std::bad_alloc`.
    explicit port(std::size_t capacity = unbounded, when_full policy = when_full::wait)
        : core_{std::make_shared<messages::port_core<T>>(capacity, policy)} {}
    port(const port&) = delete;
    port& operator=(const port&) = delete;
    /// Closes the port and drops the messages that are left. Handlers that run go on. Nothing else
    /// may wait for the port.
    ~port() { close_and_drop(); }

    /// Attaches a receiver: its handlers run as tasks of `where`, a scheduler or a group.
    /// `handler`: `f(T)` or `f(T, receiver_ref)`, plain or a coroutine, which may end its receiver
    /// and close the port; for requests also with the message alone, and what it returns or throws
    /// is the reply: a value, a `std::expected`, or a task of one. It is destroyed before the end
    /// of the receiver is told. The receiver does not belong to the request that attaches it: it
    /// has no deadline from it. Throws `std::bad_alloc`, and then there is no receiver.
    template <class F>
    port_receiver receive_with(executor where, F&& handler, receiver_options options = {}) {
        return messages::attach<T>(where, core_, std::forward<F>(handler), std::move(options));
    }

    /// Sends a request: the future of its reply. It does not wait. If the port is closed or full,
    /// the reply is the failure for `closed` or `would_wait`; for a send that waits see
    /// `make_request`. Throws `std::bad_alloc`.
    template <class Q>
        requires messages::is_request<T>
    [[nodiscard]] auto ask(Q&& message) {
        using traits = messages::request_traits<T>;
        auto asked = make_request<typename traits::value, typename traits::failure>(
            std::forward<Q>(message));
        if (const auto sent = try_send(std::move(asked.request)); !sent) {
            asked.request.reply.fail(failure_traits<typename traits::failure>::from(sent.error()));
        }
        return std::move(asked.reply);
    }

    /// See `channel::send`.
    [[nodiscard]] auto send(T&& message, time_point deadline = never) noexcept {
        return core_->elements.send(std::move(message), deadline);
    }
    /// See `channel::try_send`.
    waited<void> try_send(T&& message) { return core_->elements.try_send(std::move(message)); }
    /// See `channel::send_blocking`.
    [[nodiscard]] waited<void> send_blocking(T&& message, time_point deadline = never) {
        return core_->elements.send_blocking(std::move(message), deadline);
    }

    /// The channel, for what a port does not name: batches, permits, and receives in a select. It
    /// is sent messages, and gives envelopes.
    [[nodiscard]] channel<envelope<T>>& elements() noexcept { return core_->elements; }

    /// See `channel::on_dropped`; it gets the overdue messages, too, and requests among them have
    /// been answered. To be set before the first use.
    void on_dropped(base::delegate<void(T&&), 2 * sizeof(void*)> drop) noexcept {
        core_->on_dropped(drop);
    }

    /// No further message comes in. Receivers take what is left, and end then. For good. False: it
    /// was closed before.
    bool close() noexcept { return core_->elements.close(); }
    /// The same, and drops what is left.
    bool close_and_drop() noexcept { return core_->elements.close_and_drop(); }
    /// Whether it was closed.
    [[nodiscard]] bool is_closed() noexcept { return core_->elements.is_closed(); }
    /// How many messages wait in it.
    [[nodiscard]] std::size_t length() noexcept { return core_->elements.length(); }

    /// @cond internal
    [[nodiscard]] const std::shared_ptr<messages::port_core<T>>& core() const noexcept {
        return core_;
    }
    /// @endcond

private:
    std::shared_ptr<messages::port_core<T>> core_;
};

}  // namespace fairlead
