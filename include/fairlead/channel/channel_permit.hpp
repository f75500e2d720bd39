// A place in a channel that is reserved for a value.
//
//     auto place = co_await requests.reserve();
//     if (place) std::move(*place).send(co_await make_request());   // never waits
#pragma once

#include <fairlead/coro/waited.hpp>
#include <fairlead/detail/channel/channel_state.hpp>

#include <expected>
#include <utility>

namespace fairlead {

namespace channels {
template <class T>
class reserve_operation;
}

/// The destructor gives a place back that was not used. Any thread; one at a time. A permit must be
/// gone before its channel.
template <class T>
class [[nodiscard]] channel_permit {
public:
    /// No place.
    channel_permit() = default;
    /// Takes over the place of `other`, which is none afterwards.
    channel_permit(channel_permit&& other) noexcept : of_{std::exchange(other.of_, nullptr)} {}
    /// Gives its own place back, and takes over that of `other`.
    channel_permit& operator=(channel_permit&& other) noexcept {
        if (this != &other) {
            give_back();
            of_ = std::exchange(other.of_, nullptr);
        }
        return *this;
    }
    ~channel_permit() { give_back(); }

    /// Whether there is a place: not after it was used or moved from.
    explicit operator bool() const noexcept { return of_ != nullptr; }

    /// Uses the place, which there must be, also if the channel was closed after it was reserved.
    /// `closed`, and `value` is unchanged: the channel drops its elements, since no receiver is
    /// left. Throws `std::bad_alloc` in an unbounded channel; the place stays then.
    waited<void> send(channels::sent<T>::value&& value) && {
        FAIRLEAD_ASSERT(of_ != nullptr, "a permit of a channel was used that is none, or twice");
        const bool sent = of_->send_reserved(std::move(value));
        of_ = nullptr;
        if (!sent) return std::unexpected{wait_error::closed};
        return {};
    }

private:
    template <class>
    friend class channels::reserve_operation;

    explicit channel_permit(channels::channel_state<T>& of) noexcept : of_{&of} {}

    void give_back() noexcept {
        if (of_ != nullptr) std::exchange(of_, nullptr)->give_back_reserved();
    }

    channels::channel_state<T>* of_ = nullptr;
};

}  // namespace fairlead
