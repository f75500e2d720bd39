// The await of socket_stream::send_file: the system moves a part of a file.
#pragma once

#include <fairlead/detail/io/stream_operations.hpp>

#include <cstddef>
#include <cstdint>
#include <expected>
#include <system_error>

namespace fairlead::io::detail {

// Sends what there is room for, at most `size` bytes. 0: the file ends before `offset`.
class file_send_operation final : public socket_operation {
public:
    file_send_operation(const socket_handle& on, int file, std::uint64_t offset, std::size_t size,
                        time_point deadline) noexcept
        : socket_operation{on, on->to_write(), deadline, true},
          file_{file},
          offset_{offset},
          size_{size} {}

    [[nodiscard]] std::expected<std::size_t, std::error_code> await_resume() const noexcept;
    [[nodiscard]] bool attempt() noexcept override;

private:
    const int file_;
    const std::uint64_t offset_;
    const std::size_t size_;
    std::size_t sent_ = 0;
};

}  // namespace fairlead::io::detail
