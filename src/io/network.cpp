#include <fairlead/io/network.hpp>

#include <fairlead/detail/base/assert.hpp>
#include <fairlead/sched/scheduler.hpp>

#include <cerrno>

namespace fairlead::io {
namespace {

class never_waited_for final : public wait_source {
public:
    [[nodiscard]] bool arm(basic_task&) noexcept override { return false; }
    void disarm(basic_task&) noexcept override {}
};

// What a handle without a socket answers.
class no_socket final : public network::socket {
public:
    no_socket() noexcept : socket{nullptr, source_, source_} {}

    std::ptrdiff_t receive(std::span<std::byte>) noexcept override { return -EBADF; }
    std::ptrdiff_t receive_into(std::span<const std::span<std::byte>>) noexcept override {
        return -EBADF;
    }
    std::ptrdiff_t send(std::span<const std::byte>) noexcept override { return -EBADF; }
    std::ptrdiff_t send_from(std::span<const std::span<const std::byte>>,
                             std::size_t) noexcept override {
        return -EBADF;
    }
    int accept(socket*&, const stream_options&) noexcept override { return -EBADF; }
    int connected() noexcept override { return -EBADF; }
    int shutdown_send() noexcept override { return -EBADF; }
    int shutdown_receive() noexcept override { return -EBADF; }
    void close() noexcept override {}
    [[nodiscard]] int native_handle() const noexcept override { return -1; }
    [[nodiscard]] std::expected<address, std::error_code> local_address() const noexcept override {
        return std::unexpected{std::error_code{EBADF, std::system_category()}};
    }
    [[nodiscard]] std::expected<address, std::error_code> peer_address() const noexcept override {
        return std::unexpected{std::error_code{EBADF, std::system_category()}};
    }

private:
    never_waited_for source_;
};

}  // namespace

network& network::of(const scheduler& home) {
    auto* const own = dynamic_cast<network*>(&home.driver());
    FAIRLEAD_ASSERT(own != nullptr,
                    "this scheduler has no epoll_driver, nor another network: pass one in its "
                    "options");
    return *own;
}

network::socket& socket_handle::none() noexcept {
    static no_socket one;
    return one;
}

}  // namespace fairlead::io
