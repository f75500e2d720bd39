// Parses the head of a request, wherever its bytes come from.
//
//     http::request_parser parser{limits};
//     for (;;) {
//         const auto complete = parser.parse(buffer);   // all bytes since the head's first
//         if (!complete) return refuse(complete.error());
//         if (*complete) break;
//         read_more_into(buffer);
//     }
//     const http::request_head head = parser.head(buffer);
//     http::body_decoder body{head.body, limits};       // begins at parser.head_size()
//
// The rules are those of RFC 9112, read strictly. What two programs may read in two ways is
// refused: docs/adr/0036-http.md lists the rules and their reasons.
#pragma once

#include <fairlead/detail/base/language.hpp>
#include <fairlead/detail/http/head_scan.hpp>
#include <fairlead/http/errc.hpp>
#include <fairlead/http/head.hpp>
#include <fairlead/http/limits.hpp>

#include <cstddef>
#include <expected>
#include <string_view>

namespace fairlead::http {

/// Parses one head after another. Looks at each byte once, in whatever pieces they come, and finds
/// the same. Allocates nothing. One thread at a time.
class request_parser {
public:
    /// Refuses a head that exceeds `limits`.
    explicit request_parser(const limits& limits = {}) noexcept : limits_{limits} {}

    /// `received` begins with the first byte of the request, and has all that came so far, also
    /// what the call before has had. It may be in another place. True: the head is complete. False:
    /// call again when more has come. An error stays, and the connection must be closed after the
    /// answer.
    [[nodiscard]] std::expected<bool, errc> parse(std::string_view received) noexcept;

    /// The size of the complete head, in bytes: where the body begins.
    [[nodiscard]] std::size_t head_size() const noexcept { return scan_.taken(); }

    /// What the complete head says. `received` is what `parse` has got, maybe in another place; the
    /// views point into it.
    [[nodiscard]] request_head head(std::string_view received) const noexcept;

    /// Begins with the next request.
    void reset() noexcept {
        scan_ = {};
        host_ = {};
        body_ = {};
    }

private:
    [[nodiscard]] errc take_start_line(std::string_view received) noexcept;
    [[nodiscard]] errc finish(std::string_view received) noexcept;
    [[nodiscard]] errc check_host(std::string_view received) noexcept;

    limits limits_;
    detail::head_scan scan_;
    detail::part method_;
    detail::part target_;
    detail::part host_;
    version version_ = version::http_1_1;
    framing body_;
};

}  // namespace fairlead::http
