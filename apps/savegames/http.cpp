#include "savegames/http.hpp"

// An assertion of Beast 1.74 says, wrongly, that an empty chunked body does not come in pieces. A
// client could end a build with assertions. The code after that assertion handles the case.
#define BOOST_DISABLE_ASSERTS
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/status.hpp>
#include <boost/beast/http/string_body.hpp>

#include <iterator>
#include <limits>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "savegames/host.hpp"

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

template <class Name>
std::size_t count(const http::fields& fields, Name name) {
    const auto [first, last] = fields.equal_range(name);
    return static_cast<std::size_t>(std::distance(first, last));
}

// Says what is wrong with the fields that give the end of the body. A proxy that reads them in
// another way would take the end of this body for the next request.
std::optional<http_failure> framing_failure(const http::fields& fields, bool http_1_0) {
    constexpr std::string_view code = "bad_request";
    const std::size_t codings = count(fields, http::field::transfer_encoding);
    const std::size_t lengths = count(fields, http::field::content_length);
    const beast::string_view coding = fields[http::field::transfer_encoding];
    if (codings != 0 && lengths != 0) {
        return http_failure{400, code,
                            "malformed HTTP: Content-Length and Transfer-Encoding exclude each "
                            "other; send one of them"};
    }
    const beast::string_view length = fields[http::field::content_length];
    if (lengths > 1 || length.find_first_not_of("0123456789") != length.npos) {
        return http_failure{400, code,
                            "malformed HTTP: send at most one Content-Length, a decimal number"};
    }
    if (codings > 1 || (codings == 1 && coding.empty())) {
        return http_failure{400, code,
                            "malformed HTTP: send at most one Transfer-Encoding, which names a "
                            "coding"};
    }
    if (codings == 1 && !beast::iequals(coding, "chunked")) {
        return http_failure{501, code, "this service knows no transfer coding but \"chunked\""};
    }
    if (codings == 1 && http_1_0) {
        return http_failure{400, code,
                            "malformed HTTP: HTTP/1.0 has no chunked body; send Content-Length"};
    }
    return std::nullopt;
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
    // `finish_head` sets the limit. Not boost::none: Beast 1.74 takes it for less than any size.
    fresh.body_limit(std::numeric_limits<std::uint64_t>::max());
    // Each call of `put` takes one part at most: the head, or the lines before one chunk, or those
    // after the last chunk.
    fresh.eager(false);
    head_ = {};
    used_ = 0;
    scanned_ = 0;
    line_size_ = 0;
    head_seen_ = false;
    begun_ = false;
    stage_ = stage::head;
}

void http_parser::fail(int status, std::string_view code, std::string_view message) {
    failure_ = {status, code, message};
    stage_ = stage::failed;
}

std::size_t http_parser::feed(std::span<const std::byte> bytes) {
    return stage_ == stage::head ? feed_head(bytes) : feed_body(bytes);
}

// The lines around chunks, trailers included, are not kept. Without a limit a client could send
// them without end.
std::size_t http_parser::feed_body(std::span<const std::byte> bytes) {
    std::size_t taken = 0;
    auto& now = *parser_->of_one_request;
    // Beast allocates the announced size of the body at once.
    if (head_.body_size.value_or(0) > limits_.body_max) {
        fail(413, "too_large", "the body is larger than this service accepts (--body-max)");
    }
    while (stage_ == stage::body && taken != bytes.size()) {
        beast::error_code code;
        const std::size_t body_before = now.get().body().size();
        const std::size_t part = now.put(as_buffer(bytes.subspan(taken)), code);
        taken += part;
        const std::size_t pending = code == http::error::need_more ? bytes.size() - taken : 0;
        const std::size_t lines = part - (now.get().body().size() - body_before) + pending;
        if (code == http::error::body_limit) {
            fail(413, "too_large", "the body is larger than this service accepts (--body-max)");
        } else if (lines > limits_.head_max) {
            fail(
                431, "too_large",
                "the lines around one chunk of the body are larger than this service accepts: send "
                "fewer trailers and shorter extensions");
        } else if (code == http::error::need_more) {
            break;
        } else if (code) {
            fail(400, "bad_request", "malformed HTTP: the body is not chunked as RFC 9112 says");
        } else if (now.is_done()) {
            stage_ = stage::complete;
        }
    }
    return taken;
}

// Refuses a line of the head that begins with a space: Beast joins such a line to the line before
// it, but RFC 9112, 5.2 makes a server refuse or replace it. Looks at each byte once, before Beast
// does. `bytes`: the head from byte `used_` on. False: there is such a line.
bool http_parser::scan_lines(std::span<const std::byte> bytes) {
    for (; !head_seen_ && scanned_ - used_ != bytes.size(); ++scanned_) {
        const std::byte each = bytes[scanned_ - used_];
        if (each == std::byte{'\n'}) {
            head_seen_ = line_size_ == 1;  // the line has a carriage return alone
            line_size_ = 0;
        } else if (line_size_ != 0) {
            ++line_size_;
        } else if (each == std::byte{' '} || each == std::byte{'\t'}) {
            return false;
        } else {
            line_size_ = 1;
        }
    }
    return true;
}

std::size_t http_parser::feed_head(std::span<const std::byte> bytes) {
    std::size_t skipped = 0;
    if (!begun_) {  // RFC 9112, 2.2: ignore empty lines before a request
        while (skipped != bytes.size() &&
               (bytes[skipped] == std::byte{'\r'} || bytes[skipped] == std::byte{'\n'})) {
            ++skipped;
        }
        bytes = bytes.subspan(skipped);
        if (bytes.empty()) return skipped;
        begun_ = true;
    }
    if (!scan_lines(bytes)) {
        fail(
            400, "bad_request",
            "malformed HTTP: a line of the head begins with a space: write each field in one line");
        return skipped;
    }
    auto& now = *parser_->of_one_request;
    beast::error_code code;
    const std::size_t taken = now.put(as_buffer(bytes), code);
    used_ += taken;
    // Beast takes the head field by field, and limits only each part.
    const std::size_t pending = code == http::error::need_more ? bytes.size() - taken : 0;
    if (code == http::error::header_limit || used_ + pending > limits_.head_max) {
        fail(431, "too_large",
             "the head of the request is larger than this service accepts: send fewer or shorter "
             "fields");
    } else if (code && code != http::error::need_more) {
        fail(400, "bad_request",
             "malformed HTTP: the head is not a request line and fields as RFC 9112 says");
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
    head_.request_timeout = text(message["X-Request-Timeout"]);
    if (count(message, "X-Request-Timeout") > 1) head_.request_timeout += ", more";
    if (count(message, "traceparent") == 1) head_.traceparent = text(message["traceparent"]);
    head_.http_1_0 = message.version() == 10;
    head_.keep_alive = now.keep_alive();
    head_.has_origin = count(message, http::field::origin) != 0;
    head_.has_body = !now.is_done();
    if (!now.chunked() && now.content_length()) head_.body_size = *now.content_length();
    const beast::string_view expectation = message[http::field::expect];
    head_.expects_continue = beast::iequals(expectation, "100-continue") && !head_.http_1_0;

    stage_ = head_.has_body ? stage::body : stage::complete;
    if (const auto framing = framing_failure(message, head_.http_1_0)) {
        fail(framing->status, framing->code, framing->message);
    } else if (const std::size_t hosts = count(message, http::field::host);
               hosts > 1 || (hosts == 0 && !head_.http_1_0)) {
        fail(400, "bad_request", "malformed HTTP: send exactly one Host field");
    } else if (!parse_host(head_.host)) {
        fail(400, "bad_request", "malformed HTTP: the Host field must be host[:port]");
    } else if (count(message, http::field::authorization) > 1) {
        fail(400, "bad_request", "malformed HTTP: send at most one Authorization field");
    } else if (!expectation.empty() && !beast::iequals(expectation, "100-continue")) {
        fail(417, "bad_request", "this service knows no expectation but \"100-continue\"");
    }
    now.body_limit(limits_.body_max);  // only chunked bodies: `feed_body` checks announced sizes
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
