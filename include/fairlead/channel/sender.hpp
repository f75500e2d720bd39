// The sending end of a channel that `make_channel` has made. Copies are counted: the end of the
// last one closes the channel, so that receivers take what is left, and are `closed` then.
#pragma once

#include <fairlead/channel/channel.hpp>
#include <fairlead/channel/channel_permit.hpp>
#include <fairlead/coro/waited.hpp>
#include <fairlead/detail/channel/shared_channel.hpp>

#include <cstddef>
#include <span>
#include <utility>

namespace fairlead {

/// One pointer. One handle is used by one thread at a time, copies by any threads. A handle must
/// live until its waits are over and its permits are gone. The operations are those of `channel`,
/// and need a handle that is one.
template <class T>
class [[nodiscard]] sender {
public:
    /// No sender.
    sender() = default;
    /// For `make_channel`: takes over a sender that is counted.
    explicit sender(channels::shared_channel<T>& of) noexcept : of_{&of} {}
    /// One sender more.
    sender(const sender& other) noexcept : of_{other.of_} {
        if (of_ != nullptr) of_->add_sender();
    }
    /// Takes over `other`, which is none afterwards.
    sender(sender&& other) noexcept : of_{std::exchange(other.of_, nullptr)} {}
    /// Ends, as the destructor, and becomes `other`.
    sender& operator=(sender other) noexcept {
        std::swap(of_, other.of_);
        return *this;
    }
    /// The last one closes the channel.
    ~sender() {
        if (of_ != nullptr) of_->drop_sender();
    }

    /// Whether it is one: not if it was moved from.
    explicit operator bool() const noexcept { return of_ != nullptr; }

    /// As `channel::send`.
    [[nodiscard]] auto send(T&& value, time_point deadline = never) const noexcept {
        return of().send(std::move(value), deadline);
    }
    /// As `channel::try_send`.
    waited<void> try_send(T&& value) const { return of().try_send(std::move(value)); }
    /// As `channel::send_blocking`.
    [[nodiscard]] waited<void> send_blocking(T&& value, time_point deadline = never) const {
        return of().send_blocking(std::move(value), deadline);
    }

    /// As `channel::send_many`.
    [[nodiscard]] auto send_many(std::span<T> values, time_point deadline = never) const noexcept {
        return of().send_many(values, deadline);
    }
    /// As `channel::try_send_many`.
    waited<std::size_t> try_send_many(std::span<T> values) const {
        return of().try_send_many(values);
    }
    /// As `channel::send_many_blocking`.
    [[nodiscard]] waited<std::size_t> send_many_blocking(std::span<T> values,
                                                         time_point deadline = never) const {
        return of().send_many_blocking(values, deadline);
    }

    /// As `channel::reserve`.
    [[nodiscard]] auto reserve(time_point deadline = never) const noexcept {
        return of().reserve(deadline);
    }
    /// As `channel::try_reserve`.
    [[nodiscard]] waited<channel_permit<T>> try_reserve() const { return of().try_reserve(); }
    /// As `channel::reserve_blocking`.
    [[nodiscard]] waited<channel_permit<T>> reserve_blocking(time_point deadline = never) const {
        return of().reserve_blocking(deadline);
    }

    /// Whether it was closed: no receiver is left, or a handle has closed it. Takes the lock.
    [[nodiscard]] bool is_closed() const noexcept { return of().is_closed(); }
    /// Closes the channel for all senders, as `channel::close`.
    bool close() const noexcept { return of().close(); }
    /// How many elements it has now. Takes the lock.
    [[nodiscard]] std::size_t length() const noexcept { return of().length(); }
    /// How many elements may wait in it; or `channel<T>::unbounded`.
    [[nodiscard]] std::size_t capacity() const noexcept { return of().capacity(); }

private:
    [[nodiscard]] channel<T>& of() const noexcept {
        FAIRLEAD_ASSERT(of_ != nullptr, "a sender of a channel was used that is none");
        return of_->of();
    }

    channels::shared_channel<T>* of_ = nullptr;
};

}  // namespace fairlead
