#include "savegames/http.hpp"

// Beast 1.74 asserts, wrongly, that an empty chunked body does not come in pieces: a stranger could
// end a build with assertions. Without them the code below that assertion is right.
#define BOOST_DISABLE_ASSERTS
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/status.hpp>
#include <boost/beast/http/string_body.hpp>

#include <iterator>
#include <limits>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace savegames {
namespace beast = boost::beast;
namespace http = beast::http;

struct http_parser::parser {
    std::optional<http::request_parser<http::string_body>> of_one_request;
};

namespace {

std::string text(beast::string_view view) { return {view.data(), view.size()}; }

boost::asio::const_buffer as_buffer(std::span<const std::byte> bytes) {
    return {bytes.data(), bytes.size()};
}

std::size_t count(const http::fields& fields, http::field name) {
    const auto [first, last] = fields.equal_range(name);
    return static_cast<std::size_t>(std::distance(first, last));
}

}  // namespace

http_parser::http_parser(const http_limits& limits)
    : limits_{limits}, parser_{std::make_unique<parser>()} {
    reset();
}

http_parser::~http_parser() = default;

void http_parser::reset() {
    auto& fresh = parser_->of_one_request.emplace();
    fresh.header_limit(static_cast<std::uint32_t>(limits_.head_max));
    // Decided when the head is known. Not "none": 1.74 takes that for less than every size.
    fresh.body_limit(std::numeric_limits<std::uint64_t>::max());
    fresh.eager(false);  // stop after the head
    head_ = {};
    used_ = 0;
    begun_ = false;
    stage_ = stage::head;
}

void http_parser::fail(int status, std::string_view code, std::string_view message) {
    failure_ = {status, code, message};
    stage_ = stage::failed;
}

std::size_t http_parser::feed(std::span<const std::byte> bytes) {
    if (stage_ == stage::head) return feed_head(bytes);
    std::size_t taken = 0;
    auto& now = *parser_->of_one_request;
    while (stage_ == stage::body && taken != bytes.size()) {
        beast::error_code code;
        taken += now.put(as_buffer(bytes.subspan(taken)), code);
        if (code == http::error::need_more) break;
        if (code == http::error::body_limit) {
            fail(413, "too_large", "the body is too large");
        } else if (code) {
            fail(400, "bad_request", "malformed HTTP: the body");
        } else if (now.is_done()) {
            stage_ = stage::complete;
        }
    }
    return taken;
}

std::size_t http_parser::feed_head(std::span<const std::byte> bytes) {
    std::size_t skipped = 0;
    if (!begun_) {  // RFC 9112, 2.2: empty lines before a request do not count
        while (skipped != bytes.size() &&
               (bytes[skipped] == std::byte{'\r'} || bytes[skipped] == std::byte{'\n'})) {
            ++skipped;
        }
        bytes = bytes.subspan(skipped);
        if (bytes.empty()) return skipped;
        begun_ = true;
    }
    auto& now = *parser_->of_one_request;
    beast::error_code code;
    const std::size_t taken = now.put(as_buffer(bytes), code);
    used_ += taken;
    // Beast takes the head field by field, and limits each part only.
    const std::size_t pending = code == http::error::need_more ? bytes.size() - taken : 0;
    if (code == http::error::header_limit || used_ + pending > limits_.head_max) {
        fail(431, "too_large", "the head of the request is too large");
    } else if (code && code != http::error::need_more) {
        fail(400, "bad_request", "malformed HTTP");
    } else if (!code && now.is_header_done()) {
        finish_head();
    }
    return skipped + taken;
}

void http_parser::finish_head() {
    auto& now = *parser_->of_one_request;
    const auto& message = now.get();
    head_.method = text(message.method_string());
    head_.target = text(message.target());
    head_.host = text(message[http::field::host]);
    head_.authorization = text(message[http::field::authorization]);
    head_.http_1_0 = message.version() == 10;
    head_.keep_alive = now.keep_alive();
    head_.has_origin = count(message, http::field::origin) != 0;
    head_.has_body = !now.is_done();
    if (!now.chunked() && now.content_length()) head_.body_size = *now.content_length();
    const beast::string_view coding = message[http::field::transfer_encoding];
    const beast::string_view expectation = message[http::field::expect];
    head_.expects_continue = beast::iequals(expectation, "100-continue") && !head_.http_1_0;

    stage_ = head_.has_body ? stage::body : stage::complete;
    if (!coding.empty() && !beast::iequals(coding, "chunked")) {
        fail(501, "bad_request", "the only transfer coding here is \"chunked\"");
    } else if (now.chunked() && head_.http_1_0) {
        fail(400, "bad_request", "malformed HTTP: chunked in HTTP/1.0");
    } else if (const std::size_t hosts = count(message, http::field::host);
               hosts > 1 || (hosts == 0 && !head_.http_1_0)) {
        fail(400, "bad_request", "malformed HTTP: one Host field is needed");
    } else if (count(message, http::field::authorization) > 1) {
        fail(400, "bad_request", "malformed HTTP: more than one Authorization field");
    } else if (!expectation.empty() && !beast::iequals(expectation, "100-continue")) {
        fail(417, "bad_request", "the only expectation here is \"100-continue\"");
    }
    now.body_limit(limits_.body_max);  // for chunked bodies: of others, the size is known
    now.eager(true);
}

std::string http_parser::take_body() { return std::move(parser_->of_one_request->get().body()); }

std::string print_answer(const response& answer, const http_framing& framing) {
    const auto reason =
        http::obsolete_reason(http::int_to_status(static_cast<unsigned>(answer.status)));
    std::string result;
    const bool with_body = !framing.head_only && answer.content().size() <= inline_max;
    result.reserve(256 + (with_body ? answer.content().size() : 0));
    auto out = std::back_inserter(result);
    fmt::format_to(out, "HTTP/1.1 {} {}\r\n", answer.status, text(reason));
    for (const auto& [name, value] : answer.headers) {
        fmt::format_to(out, "{}: {}\r\n", name, value);
    }
    if (answer.status != 204)
        fmt::format_to(out, "Content-Length: {}\r\n", answer.content().size());
    if (!framing.keep_alive) {
        result += "Connection: close\r\n";
    } else if (framing.http_1_0) {
        result += "Connection: keep-alive\r\n";
    }
    result += "\r\n";
    if (with_body) result += answer.content();
    return result;
}

}  // namespace savegames
