// Bytes as HTTP messages, to the parsers of fairlead::http, with Boost.Beast as the oracle.
//
// It checks that the result does not depend on the pieces in which the bytes come, that limits
// hold, and that the library refuses whatever Beast refuses: a message that the parsers find
// complete is complete for Beast, with the same method, target, fields and body. The other
// direction does not hold: ADR 36 lists what is refused although Beast accepts it.
//
// In two places the library accepts what Beast does not, as RFC 9112 says; the check leaves them
// out: empty lines before a request (2.2), and bad whitespace in chunk extensions (7.1.1).
#pragma once

#include "fuzz/input.hpp"
#include "http/messages.hpp"

#include <fairlead/detail/base/assert.hpp>

// An assertion of Beast 1.74 says, wrongly, that an empty chunked body does not come in pieces.
#define BOOST_DISABLE_ASSERTS
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include <cstddef>
#include <limits>
#include <string>
#include <string_view>

namespace fairlead::fuzz {

inline constexpr http::limits message_limits{.line_max = 256,
                                             .head_max = 512,
                                             .fields_max = 8,
                                             .body_max = 256,
                                             .extensions_max = 64,
                                             .trailers_max = 64};

// What Beast makes of the first message.
struct beast_outcome {
    bool refused = false;
    bool complete = false;
    std::string first;
    std::string body;
    std::size_t fields = 0;
};

template <bool IsRequest>
beast_outcome ask_beast(std::string_view text) {
    namespace beast = boost::beast;
    beast::http::parser<IsRequest, beast::http::string_body> parser;
    parser.header_limit(std::numeric_limits<std::uint32_t>::max());
    parser.body_limit(std::numeric_limits<std::uint64_t>::max());
    parser.eager(true);
    beast::error_code code;
    std::size_t taken = 0;
    while (!parser.is_done() && taken != text.size()) {
        const std::size_t part =
            parser.put(boost::asio::const_buffer{text.data() + taken, text.size() - taken}, code);
        taken += part;
        if (code || part == 0) break;
    }
    beast_outcome out;
    if (code && code != beast::http::error::need_more) {
        out.refused = true;
        return out;
    }
    if (!parser.is_done() && parser.is_header_done() && taken == text.size()) {
        code = {};
        parser.put_eof(code);  // a response may end with the connection
        out.refused = static_cast<bool>(code);
    }
    out.complete = parser.is_done();
    if (!parser.is_header_done()) return out;
    const auto& message = parser.get();
    if constexpr (IsRequest) {
        out.first = std::string{message.method_string()} + ' ' + std::string{message.target()};
    } else {
        out.first = std::to_string(message.result_int()) + ' ';  // Beast makes up an empty reason
    }
    out.body = message.body();
    for ([[maybe_unused]] const auto& each : message) ++out.fields;
    return out;
}

// Beast knows no whitespace around the parts of a chunk extension.
inline bool may_have_bad_whitespace(const http::seen& message, std::string_view text) {
    return message.how.how == http::framing::kind::chunked &&
           text.substr(text.find("\r\n\r\n")).find_first_of(" \t") != text.npos;
}

template <bool IsRequest>
void compare_with_beast(const http::outcome& ours, std::string_view text) {
    if (ours.messages.empty()) return;
    const http::seen& first = ours.messages.front();
    if (may_have_bad_whitespace(first, text)) return;
    const beast_outcome theirs = ask_beast<IsRequest>(text);
    FAIRLEAD_ASSERT(!theirs.refused, "what Beast refuses is refused");
    FAIRLEAD_ASSERT(theirs.complete, "what is complete is complete for Beast");
    const std::string_view line{first.first};
    FAIRLEAD_ASSERT(theirs.first == (IsRequest ? line : line.substr(0, 4)),
                    "the first line says the same");
    FAIRLEAD_ASSERT(theirs.body == first.body, "the body is the same");
    const http::fields fields{first.lines};
    const auto count = static_cast<std::size_t>(std::distance(fields.begin(), fields.end()));
    // Beast counts the trailers, too.
    const bool may_have_trailers = first.how.how == http::framing::kind::chunked;
    FAIRLEAD_ASSERT(theirs.fields == count || (may_have_trailers && theirs.fields > count),
                    "the fields are as many");
}

inline void check_limits(const http::outcome& found) {
    for (const http::seen& each : found.messages) {
        FAIRLEAD_ASSERT(each.first.size() <= message_limits.line_max, "a line is within its limit");
        FAIRLEAD_ASSERT(each.lines.size() <= message_limits.head_max, "a head is within its limit");
        FAIRLEAD_ASSERT(each.body.size() <= message_limits.body_max, "a body is within its limit");
    }
    const int status = http::status_for(make_error_code(found.error));
    FAIRLEAD_ASSERT(found.error == http::errc::none || (status >= 400 && status < 600),
                    "an error has a status");
}

template <class Parser, bool IsRequest>
void check_messages(std::string_view text, std::size_t piece_max) {
    const http::outcome whole = http::at_once<Parser>(text, message_limits);
    const http::outcome pieces = http::in_pieces<Parser>(text, piece_max, message_limits);
    FAIRLEAD_ASSERT(whole == pieces, "the pieces in which bytes come do not matter");
    check_limits(whole);
    if (IsRequest) {
        while (text.starts_with("\r\n")) text.remove_prefix(2);
    }
    compare_with_beast<IsRequest>(whole, text);
}

template <class RequestParser, class ResponseParser>
void check_http_messages(input bytes) {
    const bool is_request = bytes.below(4) != 0;
    const std::size_t piece_max = 1 + bytes.below(64);
    const std::string_view text = bytes.rest();
    if (is_request) {
        check_messages<RequestParser, true>(text, piece_max);
    } else {
        check_messages<ResponseParser, false>(text, piece_max);
    }
}

}  // namespace fairlead::fuzz
