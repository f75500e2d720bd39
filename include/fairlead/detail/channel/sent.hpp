// What a channel is sent, and how that becomes an element of it.
#pragma once

#include <fairlead/detail/base/language.hpp>

#include <utility>

namespace fairlead::channels {

/// The elements of most channels are what was sent. A specialisation has elements that keep more
/// than the value, such as the context of the sender: see `envelope`.
template <class Element>
struct sent {
    /// What a sender gives.
    using value = Element;
    /// What the sender adds to all values of one send: trivially copyable, valid while it waits.
    struct addition {};

    /// On the thread of the sender, when the send begins.
    [[nodiscard]] static addition added() noexcept { return {}; }
    /// Under the mutex of the channel.
    [[nodiscard]] static Element&& element(Element& value, addition) noexcept {
        return std::move(value);
    }
};

}  // namespace fairlead::channels
