// The awaits of datagram sockets.
#pragma once

#include <fairlead/detail/io/stream_operations.hpp>
#include <fairlead/io/datagram.hpp>

#include <cstddef>
#include <cstdint>
#include <expected>
#include <span>
#include <system_error>

namespace fairlead::io::detail {

// What a socket knows of its kernel. The task that sends writes `segments`.
struct datagram_abilities {
    // Whether the kernel cuts data into segments (GSO).
    enum class cutting : std::uint8_t { unknown, works, refused };
    cutting segments = cutting::refused;
    bool is_joined = false;    // datagrams come several at once (GRO)
    bool is_detailed = false;  // numbers come beside each datagram: GRO's among them
    bool is_v6 = false;
    bool tells_of_room = true;  // when a send without a peer would not fail; see `send_all`
};

class datagram_receive_operation : public socket_operation {
public:
    static void leave() noexcept {}  // each receive tries first

protected:
    datagram_receive_operation(const socket_handle& on, const datagram_abilities& with,
                               time_point deadline) noexcept
        : socket_operation{on, on->to_read(), deadline, true}, is_detailed_{with.is_detailed} {}
    ~datagram_receive_operation() = default;

    // Takes what there is, at most one call of the system.
    [[nodiscard]] bool receive_into(std::span<arrived_datagram> into) noexcept;

    std::size_t count_ = 0;

private:
    const bool is_detailed_;
};

class batch_receive_operation final : public datagram_receive_operation {
public:
    using as_branch = operation_branch<batch_receive_operation>;

    batch_receive_operation(const socket_handle& on, const datagram_abilities& with,
                            std::span<arrived_datagram> into, time_point deadline) noexcept
        : datagram_receive_operation{on, with, deadline}, into_{into} {}

    [[nodiscard]] std::expected<std::size_t, std::error_code> await_resume() const noexcept;
    [[nodiscard]] bool attempt() noexcept override { return receive_into(into_); }

private:
    std::span<arrived_datagram> into_;
};

class single_receive_operation final : public datagram_receive_operation {
public:
    using as_branch = operation_branch<single_receive_operation>;

    single_receive_operation(const socket_handle& on, const datagram_abilities& with,
                             std::span<std::byte> buffer, time_point deadline) noexcept
        : datagram_receive_operation{on, with, deadline}, one_{.buffer = buffer} {}

    [[nodiscard]] std::expected<arrived_datagram, std::error_code> await_resume() const noexcept;
    [[nodiscard]] bool attempt() noexcept override { return receive_into({&one_, 1}); }

private:
    arrived_datagram one_;
};

class datagram_send_operation : public socket_operation {
public:
    static void leave() noexcept {}  // each send tries first

protected:
    datagram_send_operation(const socket_handle& on, datagram_abilities& with,
                            time_point deadline) noexcept
        : socket_operation{on, on->to_write(), deadline, true}, with_{with} {}
    ~datagram_send_operation() = default;

    // Goes on with `all`, the same in each call.
    [[nodiscard]] bool send_all(std::span<const datagram> all) noexcept;

    std::size_t sent_ = 0;  // datagrams

private:
    class batch;

    [[nodiscard]] bool may_cut(std::size_t index) noexcept;
    [[nodiscard]] bool goes_on_in_pieces(int error) noexcept;

    datagram_abilities& with_;
    std::size_t offset_ = 0;        // of the next datagram: what was sent of it
    std::size_t uncut_ = SIZE_MAX;  // the datagram that the kernel does not cut
};

class batch_send_operation final : public datagram_send_operation {
public:
    using as_branch = operation_branch<batch_send_operation>;

    batch_send_operation(const socket_handle& on, datagram_abilities& with,
                         std::span<const datagram> all, time_point deadline) noexcept
        : datagram_send_operation{on, with, deadline}, all_{all} {}

    [[nodiscard]] std::expected<void, unfinished_send> await_resume() const noexcept;
    [[nodiscard]] bool attempt() noexcept override { return send_all(all_); }

private:
    std::span<const datagram> all_;
};

class single_send_operation final : public datagram_send_operation {
public:
    using as_branch = operation_branch<single_send_operation>;

    // To the peer.
    single_send_operation(const socket_handle& on, datagram_abilities& with,
                          std::span<const std::byte> data, time_point deadline) noexcept
        : datagram_send_operation{on, with, deadline}, data_{data}, has_address_{false} {}
    single_send_operation(const socket_handle& on, datagram_abilities& with,
                          std::span<const std::byte> data, const address& to,
                          time_point deadline) noexcept
        : datagram_send_operation{on, with, deadline}, data_{data}, to_{to}, has_address_{true} {}

    [[nodiscard]] std::expected<void, std::error_code> await_resume() const noexcept {
        return ended_with(error_);
    }
    [[nodiscard]] bool attempt() noexcept override {
        const datagram one{.data = data_, .to = has_address_ ? &to_ : nullptr};
        return send_all({&one, 1});
    }

private:
    std::span<const std::byte> data_;
    address to_;
    const bool has_address_;
};

}  // namespace fairlead::io::detail
