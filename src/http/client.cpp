#include <fairlead/http/client.hpp>

#include <fairlead/http/print.hpp>

#include "http/client_exchange.hpp"
#include "http/client_pool.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace fairlead::http {
namespace {

bool is_idempotent(std::string_view method) noexcept {
    constexpr std::array methods{"GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"};
    return std::ranges::find(methods, method) != methods.end();
}

}  // namespace

client::client(client_options options) : client{tcp_connector(), std::move(options)} {}

client::client(connector connects, client_options options)
    : pool_{std::make_shared<detail::client_pool>(std::move(connects), std::move(options))} {}

client::~client() { pool_->close_idle(); }

void client::close_idle() noexcept { pool_->close_idle(); }

client_stats client::stats() const noexcept { return pool_->stats(); }

task<std::expected<client_response, std::error_code>> client::send(client_request asked,
                                                                   time_point deadline) {
    const auto where = url::parse(asked.url);
    if (!where || asked.method == "CONNECT" || !is_method(asked.method)) {
        co_return std::unexpected{make_error_code(errc::bad_message)};
    }
    detail::client_pool& pool = *pool_;
    pool.count_request();
    auto connection = co_await pool.take(where->origin, deadline);
    if (!connection) co_return std::unexpected{connection.error()};
    const bool may_repeat = is_idempotent(asked.method) && !asked.stream;
    for (;;) {
        auto exchange =
            std::make_unique<client_exchange>(std::move(*connection), pool.options, deadline);
        const std::error_code failure = co_await exchange->run(asked, *where);
        if (!failure) co_return client_response{std::move(exchange)};
        if (!may_repeat || !exchange->was_stale(failure)) co_return std::unexpected{failure};
        *connection = exchange->take_connection();
        pool.count_retry();
        const std::error_code refused = co_await pool.renew(*connection, where->origin, deadline);
        if (refused) co_return std::unexpected{refused};
    }
}

client_response::client_response(std::unique_ptr<client_exchange> of) noexcept
    : of_{std::move(of)} {}
client_response::client_response(client_response&& other) noexcept = default;
client_response& client_response::operator=(client_response&& other) noexcept = default;
client_response::~client_response() = default;

const response_head& client_response::head() const noexcept { return of_->head(); }

task<std::expected<std::string_view, std::error_code>> client_response::read_some() {
    return of_->read_body();
}

task<std::expected<std::string, std::error_code>> client_response::read_all(std::size_t size_max) {
    std::string whole;
    for (;;) {
        const auto piece = co_await of_->read_body();
        if (!piece) co_return std::unexpected{piece.error()};
        if (piece->empty()) co_return whole;
        if (piece->size() > size_max - whole.size()) {
            co_return std::unexpected{make_error_code(errc::body_too_large)};
        }
        whole.append(*piece);
    }
}

}  // namespace fairlead::http
