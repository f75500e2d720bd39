#include <fairlead/io/socket_stream.hpp>

#include <fairlead/detail/io/errors.hpp>

namespace fairlead::io {
namespace {

std::expected<void, std::error_code> result_of(int error) noexcept {
    if (error == 0) return {};
    return std::unexpected{detail::system_error(-error)};
}

}  // namespace

std::expected<void, std::error_code> socket_stream::shutdown_send() noexcept {
    return result_of(socket_->shutdown_send());
}

std::expected<void, std::error_code> socket_stream::shutdown_receive() noexcept {
    return result_of(socket_->shutdown_receive());
}

}  // namespace fairlead::io
