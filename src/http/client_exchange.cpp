#include "http/client_exchange.hpp"

#include <fairlead/http/print.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <exception>
#include <span>

namespace fairlead::http {
namespace {

constexpr std::size_t body_room = std::size_t{16} << 10;

std::span<const std::byte> bytes_of(std::string_view text) noexcept {
    return std::as_bytes(std::span{text.data(), text.size()});
}

bool is_of_the_client(std::string_view name) noexcept {
    return same_name(name, "content-length") || same_name(name, "transfer-encoding") ||
           same_name(name, "connection") || same_name(name, "expect");
}

framing framing_of(const client_request& asked) noexcept {
    using kind = framing::kind;
    if (asked.stream && !asked.stream_size) return {kind::chunked, 0};
    if (asked.stream) return {kind::length, *asked.stream_size};
    // RFC 9110, 8.6: methods that usually have a body say that it is empty.
    const bool usual = asked.method == "POST" || asked.method == "PUT" || asked.method == "PATCH";
    if (asked.body.empty() && !usual) return {};
    return {kind::length, asked.body.size()};
}

}  // namespace

client_exchange::~client_exchange() {
    if (!has_head_ || failure_ || !head_.keep_alive) return;
    while (!body_.done() && !input_.unread().empty()) {
        if (!decode()) return;
    }
    // What comes behind a response was not asked for: the connection is not used again.
    if (body_.done() && input_.unread().empty()) connection_.give_back();
}

task<std::error_code> client_exchange::run(const client_request& asked, const url& where) {
    print(asked, where);
    failure_ = co_await send(asked);
    const bool sent = !failure_;
    if (!sent && (failure_ == std::errc::timed_out || failure_ == errc::wrong_size ||
                  failure_ == std::errc::operation_canceled)) {
        co_return failure_;
    }
    // A server may answer, and close, before it has read the whole body.
    const std::error_code lost = co_await receive_head(asked.method == "HEAD");
    if (!lost && !sent) head_.keep_alive = false;
    failure_ = lost && !sent ? failure_ : lost;
    co_return failure_;
}

bool client_exchange::was_stale(const std::error_code& failure) const noexcept {
    return connection_.reused() && !received_ &&
           (failure == errc::closed || failure == std::errc::connection_reset ||
            failure == std::errc::broken_pipe || failure == std::errc::connection_aborted ||
            failure == std::errc::not_connected);
}

void client_exchange::print(const client_request& asked, const url& where) {
    print_request_line(out_, asked.method, where.target);
    bool hosted = false;
    bool named = options_.user_agent.empty();
    for (const field& each : asked.fields.view()) {
        hosted = hosted || same_name(each.name, "host");
        named = named || same_name(each.name, "user-agent");
    }
    if (!hosted) print_field(out_, "Host", where.origin.authority());
    if (!named) print_field(out_, "User-Agent", options_.user_agent);
    for (const field& each : asked.fields.view()) {
        if (!is_of_the_client(each.name)) print_field(out_, each.name, each.value);
    }
    print_framing(out_, framing_of(asked));
    print_end(out_);
}

task<std::error_code> client_exchange::send(const client_request& asked) {
    if (!asked.stream) {
        co_return co_await send_piece({}, asked.body, {});
    }
    const bool chunked = !asked.stream_size;
    body_writer writer{*this, asked.stream_size, chunked};
    co_await asked.stream(writer);
    if (writer.failure()) co_return writer.failure();
    if (!writer.complete()) co_return make_error_code(errc::wrong_size);
    if (chunked) out_.append(last_chunk);
    co_return co_await flush();
}

task<std::error_code> client_exchange::flush() { return write({}); }

task<std::error_code> client_exchange::write(std::string_view text) {
    if (out_.empty() && text.empty()) co_return std::error_code{};
    const std::array<std::span<const std::byte>, 2> both{bytes_of(out_), bytes_of(text)};
    const auto sent = co_await connection_.stream().write_all(both, deadline_);
    out_.clear();
    co_return sent ? std::error_code{} : sent.error();
}

// Skips answers with a status 1xx.
task<std::error_code> client_exchange::receive_head(bool to_head) {
    unsigned interim = 0;
    for (;;) {
        const auto complete = parser_.parse(input_.message(), to_head);
        if (!complete) co_return make_error_code(complete.error());
        if (!*complete) {
            const auto room = input_.room_for_head(options_.limits.head_max);
            const auto size = co_await connection_.stream().read_some(room, deadline_);
            if (!size) co_return size.error();
            if (*size == 0) {
                const bool begun = !input_.message().empty() || interim != 0;
                co_return make_error_code(begun ? errc::incomplete : errc::closed);
            }
            received_ = true;
            input_.add(*size);
            continue;
        }
        const int status = parser_.head(input_.message()).status;
        if (status == 101) co_return make_error_code(errc::unexpected_switch);
        if (status >= 200) break;
        if (++interim > options_.limits.interim_max) {
            co_return make_error_code(errc::too_many_interim);
        }
        input_.begin_without_body(parser_.head_size());
        input_.end_message();
        parser_.reset();
    }
    const framing body = parser_.head(input_.message()).body;
    if (body.how == framing::kind::none) {
        input_.begin_without_body(parser_.head_size());
    } else {
        input_.begin_body(parser_.head_size(), body_room);
    }
    head_ = parser_.head(input_.message());
    body_ = body_decoder{body, options_.limits};
    has_head_ = true;
    co_return std::error_code{};
}

std::expected<std::string_view, errc> client_exchange::decode() noexcept {
    const auto piece = body_.decode(input_.unread());
    if (!piece) return std::unexpected{piece.error()};
    input_.take(piece->taken);
    return piece->data;
}

task<std::expected<std::string_view, std::error_code>> client_exchange::read_body() {
    while (!failure_) {
        const auto piece = decode();
        if (!piece) {
            failure_ = make_error_code(piece.error());
            break;
        }
        if (!piece->empty() || body_.done()) co_return *piece;
        const auto size =
            co_await connection_.stream().read_some(input_.room_for_body(), deadline_);
        if (!size) {
            failure_ = size.error();
        } else if (*size == 0) {
            failure_ = make_error_code(body_.end_of_input());
        } else {
            input_.add(*size);
        }
    }
    co_return std::unexpected{failure_};
}

}  // namespace fairlead::http
