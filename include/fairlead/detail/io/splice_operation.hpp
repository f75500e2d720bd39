// The await of a relay that moves bytes between a socket and a pipe.
#pragma once

#include <fairlead/detail/io/stream_operations.hpp>

#include <cstddef>
#include <expected>
#include <system_error>

namespace fairlead::io::detail {

// Moves what there is, at most `size` bytes. 0: the end of the socket. The pipe is empty before it
// is written, and has `size` bytes before it is read: so an attempt waits for the socket alone.
class splice_operation final : public socket_operation {
public:
    enum class way : bool { to_pipe, from_pipe };

    splice_operation(const socket_handle& on, int pipe, way which, std::size_t size,
                     time_point deadline) noexcept
        : socket_operation{on, which == way::to_pipe ? on->to_read() : on->to_write(), deadline,
                           true},
          pipe_{pipe},
          way_{which},
          size_{size} {}

    [[nodiscard]] std::expected<std::size_t, std::error_code> await_resume() const noexcept;
    [[nodiscard]] bool attempt() noexcept override;

private:
    const int pipe_;
    const way way_;
    const std::size_t size_;
    std::size_t moved_ = 0;
};

}  // namespace fairlead::io::detail
