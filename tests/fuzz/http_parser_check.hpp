// Bytes as HTTP requests, to the parser of the save-game service alone.
//
// It checks that the result does not depend on the pieces in which the bytes come, that limits
// hold, that a failure has a documented status, and that a request passes its stages in order.
#pragma once

#include "fuzz/input.hpp"

#include <fairlead/detail/base/assert.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "savegames/http.hpp"

namespace fairlead::fuzz {

using savegames::http_head;
using savegames::http_parser;

inline constexpr savegames::http_limits parser_limits{.head_max = 512, .body_max = 256};
inline constexpr std::array parser_failures{400, 413, 417, 431, 501};

inline auto fields_of(const http_head& head) {
    return std::tie(head.method, head.target, head.host, head.authorization, head.http_1_0,
                    head.keep_alive, head.expects_continue, head.has_origin, head.has_body,
                    head.body_size);
}

// A complete request.
struct request {
    http_head head;
    std::string body;

    bool operator==(const request& other) const {
        return fields_of(head) == fields_of(other.head) && body == other.body;
    }
};

// Feeds the parser as a connection does.
template <class Parser>
class requests {
public:
    using stage = http_parser::stage;

    // Feeds `more` to the parser, behind the bytes that it did not take before.
    void receive(std::string_view more) {
        if (failed()) return;
        unused_.append(more);
        for (;;) {
            const stage before = parser_.at();
            const std::size_t taken = parser_.feed(std::as_bytes(std::span{unused_}));
            FAIRLEAD_ASSERT(taken <= unused_.size(), "takes no more than there is");
            unused_.erase(0, taken);
            const stage now = parser_.at();
            FAIRLEAD_ASSERT(now >= before, "stages go forward");
            FAIRLEAD_ASSERT(now != stage::head || unused_.size() <= parser_limits.head_max,
                            "an unfinished head is within its limit");
            if (now == stage::complete || now == stage::failed) {
                end_request();
                if (failed()) return;
            } else if (now == before) {
                return;
            }
        }
    }

    [[nodiscard]] const std::vector<request>& complete() const { return complete_; }

    /// The status of the failure; 0 without a failure so far.
    [[nodiscard]] int failure() const { return failed() ? parser_.failure().status : 0; }

private:
    [[nodiscard]] bool failed() const { return parser_.at() == stage::failed; }

    void end_request() {
        const http_head& head = parser_.head();
        const std::size_t parts =
            head.method.size() + head.target.size() + head.host.size() + head.authorization.size();
        FAIRLEAD_ASSERT(parts <= parser_limits.head_max, "a head is within its limit");
        if (failed()) {
            FAIRLEAD_ASSERT(std::ranges::find(parser_failures, failure()) != parser_failures.end(),
                            "a failure has a documented status");
            return;
        }
        FAIRLEAD_ASSERT(!head.method.empty() && !head.target.empty(), "it asks for something");
        request whole{.head = head, .body = parser_.take_body()};
        const bool chunked = head.has_body && !head.body_size;
        FAIRLEAD_ASSERT(!chunked || whole.body.size() <= parser_limits.body_max,
                        "a body without a length is within its limit");
        FAIRLEAD_ASSERT(chunked || whole.body.size() == head.body_size.value_or(0),
                        "a body has its length");
        complete_.push_back(std::move(whole));
        parser_.reset();
        FAIRLEAD_ASSERT(parser_.untouched(), "the next request begins anew");
    }

    Parser parser_{parser_limits};
    std::string unused_;
    std::vector<request> complete_;
};

template <class Parser>
void check_http_parser(input bytes) {
    const std::size_t piece_max = 1 + bytes.below(64);
    const std::string_view text = bytes.rest();

    requests<Parser> at_once;
    at_once.receive(text);
    requests<Parser> in_pieces;
    for (std::size_t at = 0; at < text.size(); at += piece_max) {
        in_pieces.receive(text.substr(at, piece_max));
    }
    FAIRLEAD_ASSERT(at_once.complete() == in_pieces.complete(),
                    "the pieces in which bytes come do not matter");
    // In pieces a malformed head may be refused only when it is complete, or exceeds its limit.
    const int status = in_pieces.failure();
    FAIRLEAD_ASSERT(status == 0 || status == 431 || status == at_once.failure(),
                    "nor do they matter for what is refused");
}

}  // namespace fairlead::fuzz
