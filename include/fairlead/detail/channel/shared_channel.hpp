// A channel with counted ends: under `sender` and `receiver`.
//
//     senders_     the last one closes the channel           then gives up the share of its side
//     receivers_   the last one closes it, and drops         then gives up the share of its side
//     sides_       the last one destroys the channel
//
// A side keeps its share until its close has returned. So the channel lives while a close of it
// tells waits, though what is told may end the last handle of the other side.
//
// Model test: channel_ends_test.cpp.
#pragma once

#include <fairlead/channel/channel.hpp>
#include <fairlead/detail/sync/share_count.hpp>

#include <cstddef>

namespace fairlead::channels {

template <class T>
class shared_channel {
public:
    /// With one sender and one receiver.
    shared_channel(std::size_t capacity, when_full policy) : channel_{capacity, policy} {}

    [[nodiscard]] channel<T>& of() noexcept { return channel_; }

    void add_sender() noexcept { senders_.add(); }
    void add_receiver() noexcept { receivers_.add(); }

    /// The caller does not use the channel any more.
    void drop_sender() noexcept {
        if (!senders_.drop()) return;
        channel_.close();
        drop_side();
    }
    void drop_receiver() noexcept {
        if (!receivers_.drop()) return;
        channel_.close_and_drop();
        drop_side();
    }

private:
    ~shared_channel() = default;

    void drop_side() noexcept {
        if (sides_.drop()) delete this;
    }

    channel<T> channel_;
    sync::share_count senders_;
    sync::share_count receivers_;
    sync::share_count sides_{2};
};

}  // namespace fairlead::channels
