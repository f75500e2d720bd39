// A message on its way: with the context of its sender.
#pragma once

#include <fairlead/context/context.hpp>
#include <fairlead/detail/channel/sent.hpp>
#include <fairlead/detail/coro/context_node.hpp>

#include <utility>

namespace fairlead {

/// What a port has as its elements. A sender gives the message alone; the port adds the context of
/// the task that sends, and none for a thread: one pointer, and a counter if there is a context.
template <class T>
struct envelope {
    /// What was sent.
    T message;
    /// What goes along with it: see `context::to_send`.
    context sender;
};

/// @cond internal
namespace channels {

template <class T>
struct sent<envelope<T>> {
    using value = T;
    // Not counted: the sender waits, or sends, within this context.
    using addition = coro::context_word;

    [[nodiscard]] static addition added() noexcept {
        return coro::context_of_new_task().beyond(inherit::messages);
    }
    [[nodiscard]] static envelope<T> element(T& message, addition sender) noexcept {
        return {std::move(message), context{coro::held_context{sender}}};
    }
};

}  // namespace channels
/// @endcond

}  // namespace fairlead
