// A channel whose ends are counted handles: it closes when one side is gone.
//
//     auto [into, from] = fl::make_channel<job>(16);
//     for (int i = 0; i != 4; ++i) workers.spawn(work(from));   // a copy for each worker
//     from = {};                                                // the workers have theirs
//     workers.spawn(produce(std::move(into)));                  // its end closes the channel
//
// The last sender closes: receivers take what is left, and are `closed`. The last receiver closes
// and drops: senders are `closed`, and keep their values.
#pragma once

#include <fairlead/channel/channel.hpp>
#include <fairlead/channel/receiver.hpp>
#include <fairlead/channel/sender.hpp>
#include <fairlead/detail/base/delegate.hpp>
#include <fairlead/detail/channel/shared_channel.hpp>

#include <cstddef>
#include <utility>

namespace fairlead {

/// What `make_channel` makes: structured bindings and `std::pair` work with it.
template <class T>
using channel_ends = std::pair<sender<T>, receiver<T>>;

/// Makes a channel, with one sender and one receiver. `capacity`, `policy` and `on_dropped`: as in
/// `channel`; `on_dropped` may be called until the last handle is gone. Allocates; throws
/// `std::bad_alloc`.
template <class T>
[[nodiscard]] channel_ends<T> make_channel(
    std::size_t capacity, when_full policy = when_full::wait,
    base::delegate<void(T&&), 2 * sizeof(void*)> on_dropped = {}) {
    auto* const made = new channels::shared_channel<T>(capacity, policy);
    if (on_dropped) made->of().on_dropped(on_dropped);
    return {sender<T>{*made}, receiver<T>{*made}};
}

}  // namespace fairlead
