// Descriptors beside the data of a Unix socket.
#pragma once

#include <fairlead/detail/io/stream_operations.hpp>
#include <fairlead/os/unique_fd.hpp>

#include <cstddef>
#include <expected>
#include <span>
#include <system_error>

namespace fairlead::io {

/// What `read_with_descriptors` gives.
struct data_and_descriptors {
    std::size_t size = 0;         ///< how many bytes came
    std::size_t descriptors = 0;  ///< how many descriptors came with them
};

namespace detail {

class descriptor_read_operation final : public reading_operation {
public:
    using as_branch = operation_branch<descriptor_read_operation>;

    descriptor_read_operation(const socket_handle& on, bool& drained, std::span<std::byte> buffer,
                              std::span<os::unique_fd> into, time_point deadline) noexcept
        : reading_operation{on, drained, buffer.size(), deadline}, buffer_{buffer}, into_{into} {}

    [[nodiscard]] std::expected<data_and_descriptors, unfinished_read> await_resume()
        const noexcept;
    [[nodiscard]] bool attempt() noexcept override;

private:
    std::span<std::byte> buffer_;
    std::span<os::unique_fd> into_;
    std::size_t taken_ = 0;
    bool has_lost_some_ = false;
};

class descriptor_write_operation final : public socket_operation {
public:
    using as_branch = operation_branch<descriptor_write_operation>;

    descriptor_write_operation(const socket_handle& on, std::span<const std::byte> data,
                               std::span<const int> descriptors, time_point deadline) noexcept
        : socket_operation{on, on->to_write(), deadline, true},
          rest_{data},
          descriptors_{descriptors} {}

    [[nodiscard]] std::expected<void, std::error_code> await_resume() const noexcept;
    [[nodiscard]] bool attempt() noexcept override;
    static void leave() noexcept {}  // each write tries first

private:
    std::span<const std::byte> rest_;
    std::span<const int> descriptors_;  // not sent yet
};

}  // namespace detail

}  // namespace fairlead::io
