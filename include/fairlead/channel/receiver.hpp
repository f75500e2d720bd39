// The receiving end of a channel that `make_channel` has made. Copies are counted: the end of the
// last one closes the channel and drops its elements, so that senders are `closed`, with their
// values.
#pragma once

#include <fairlead/channel/channel.hpp>
#include <fairlead/coro/waited.hpp>
#include <fairlead/detail/channel/shared_channel.hpp>

#include <cstddef>
#include <span>
#include <utility>

namespace fairlead {

/// One pointer. One handle is used by one thread at a time, copies by any threads. A handle must
/// live until its waits are over. The operations are those of `channel`, and need a handle that is
/// one.
template <class T>
class [[nodiscard]] receiver {
public:
    /// No receiver.
    receiver() = default;
    /// For `make_channel`: takes over a receiver that is counted.
    explicit receiver(channels::shared_channel<T>& of) noexcept : of_{&of} {}
    /// One receiver more.
    receiver(const receiver& other) noexcept : of_{other.of_} {
        if (of_ != nullptr) of_->add_receiver();
    }
    /// Takes over `other`, which is none afterwards.
    receiver(receiver&& other) noexcept : of_{std::exchange(other.of_, nullptr)} {}
    /// Ends, as the destructor, and becomes `other`.
    receiver& operator=(receiver other) noexcept {
        std::swap(of_, other.of_);
        return *this;
    }
    /// The last one closes the channel, and drops its elements.
    ~receiver() {
        if (of_ != nullptr) of_->drop_receiver();
    }

    /// Whether it is one: not if it was moved from.
    explicit operator bool() const noexcept { return of_ != nullptr; }

    /// As `channel::receive`.
    [[nodiscard]] auto receive(time_point deadline = never) const noexcept {
        return of().receive(deadline);
    }
    /// As `channel::try_receive`.
    [[nodiscard]] waited<T> try_receive() const noexcept { return of().try_receive(); }
    /// As `channel::receive_blocking`.
    [[nodiscard]] waited<T> receive_blocking(time_point deadline = never) const {
        return of().receive_blocking(deadline);
    }

    /// As `channel::receive_many`.
    [[nodiscard]] auto receive_many(std::span<T> into, time_point deadline = never) const noexcept {
        return of().receive_many(into, deadline);
    }
    /// As `channel::try_receive_many`.
    [[nodiscard]] waited<std::size_t> try_receive_many(std::span<T> into) const noexcept {
        return of().try_receive_many(into);
    }
    /// As `channel::receive_many_blocking`.
    [[nodiscard]] waited<std::size_t> receive_many_blocking(std::span<T> into,
                                                            time_point deadline = never) const {
        return of().receive_many_blocking(into, deadline);
    }

    /// Whether it was closed: no sender is left, or a handle has closed it. Takes the lock.
    [[nodiscard]] bool is_closed() const noexcept { return of().is_closed(); }
    /// Ends all sends, as `channel::close`: what is left can be received.
    bool close() const noexcept { return of().close(); }
    /// How many elements it has now. Takes the lock.
    [[nodiscard]] std::size_t length() const noexcept { return of().length(); }
    /// How many elements may wait in it; or `channel<T>::unbounded`.
    [[nodiscard]] std::size_t capacity() const noexcept { return of().capacity(); }

private:
    [[nodiscard]] channel<T>& of() const noexcept {
        FAIRLEAD_ASSERT(of_ != nullptr, "a receiver of a channel was used that is none");
        return of_->of();
    }

    channels::shared_channel<T>* of_ = nullptr;
};

}  // namespace fairlead
