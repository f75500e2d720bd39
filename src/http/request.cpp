#include "http/server_connection.hpp"

#include <fairlead/http/handler.hpp>

namespace fairlead::http {

std::expected<io::address, std::error_code> request::peer_address() const {
    return connection_.stream().peer_address();
}

task<std::expected<std::string_view, std::error_code>> request::read_some() {
    return connection_.read_body(*this);
}

task<std::expected<std::string, std::error_code>> request::read_all(std::size_t size_max) {
    std::string whole;
    for (;;) {
        const auto piece = co_await connection_.read_body(*this);
        if (!piece) co_return std::unexpected{piece.error()};
        if (piece->empty()) co_return whole;
        if (piece->size() > size_max - whole.size()) {
            co_return std::unexpected{make_error_code(errc::body_too_large)};
        }
        whole.append(*piece);
    }
}

}  // namespace fairlead::http
