// One request of a client and its response, on one connection.
#pragma once

#include <fairlead/http/body_decoder.hpp>
#include <fairlead/http/body_writer.hpp>
#include <fairlead/http/client_request.hpp>
#include <fairlead/http/response_parser.hpp>
#include <fairlead/http/url.hpp>

#include "http/client_pool.hpp"
#include "http/input_buffer.hpp"

#include <cstddef>
#include <expected>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace fairlead::http {

class client_exchange final : public detail::body_sink {
public:
    client_exchange(detail::client_pool::lease connection, const client_options& options,
                    time_point deadline)
        : connection_{std::move(connection)},
          options_{options},
          deadline_{deadline},
          parser_{options.limits},
          body_{} {}
    client_exchange(const client_exchange&) = delete;
    client_exchange& operator=(const client_exchange&) = delete;
    ~client_exchange();

    // Sends the request and waits for the head of the response.
    [[nodiscard]] task<std::error_code> run(const client_request& asked, const url& where);

    // Whether the failure of `run` means that the connection had ended before the request.
    [[nodiscard]] bool was_stale(const std::error_code& failure) const noexcept;
    [[nodiscard]] detail::client_pool::lease take_connection() noexcept {
        return std::move(connection_);
    }

    [[nodiscard]] const response_head& head() const noexcept { return head_; }
    [[nodiscard]] task<std::expected<std::string_view, std::error_code>> read_body();

private:
    void print(const client_request& asked, const url& where);
    [[nodiscard]] task<std::error_code> send(const client_request& asked);
    [[nodiscard]] task<std::error_code> receive_head(bool to_head);
    [[nodiscard]] task<std::error_code> flush() override;
    [[nodiscard]] task<std::error_code> write(std::string_view text) override;
    [[nodiscard]] std::expected<std::string_view, errc> decode() noexcept;

    detail::client_pool::lease connection_;
    const client_options options_;
    const time_point deadline_;
    response_parser parser_;
    input_buffer input_;
    body_decoder body_;
    response_head head_;
    std::error_code failure_;
    bool received_ = false;  // a byte of the response has come
    bool has_head_ = false;  // its head is complete
};

}  // namespace fairlead::http
