// What a port shares with its receivers: the messages, and what becomes of those that are dropped.
#pragma once

#include <fairlead/channel/channel.hpp>
#include <fairlead/coro/waited.hpp>
#include <fairlead/future/failure_traits.hpp>
#include <fairlead/message/envelope.hpp>
#include <fairlead/message/request.hpp>

#include <cstddef>
#include <utility>

namespace fairlead::messages {

template <class T>
class port_core {
public:
    using drop_function = base::delegate<void(T&&), 2 * sizeof(void*)>;

    port_core(std::size_t capacity, when_full policy) : elements{capacity, policy} {}

    /// Before the first use.
    void on_dropped(drop_function drop) noexcept {
        drop_ = drop;
        elements.on_dropped([this](envelope<T>&& last) { drop_(std::move(last.message)); });
    }

    /// The deadline of the sender has passed: a request is told so.
    void drop_overdue(T&& message) {
        T last(std::move(message));  // braces may make a list
        if constexpr (is_request<T>) {
            using failure = request_traits<T>::failure;
            if (last.reply.valid()) {
                last.reply.fail(failure_traits<failure>::from(wait_error::overdue));
            }
        }
        if (drop_) drop_(std::move(last));
    }

private:
    drop_function drop_;  // before the elements: the last of them are dropped by their destructor

public:
    channel<envelope<T>> elements;
};

}  // namespace fairlead::messages
