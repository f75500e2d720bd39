// Parses the head of a response, wherever its bytes come from: see request_parser.hpp.
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
class response_parser {
public:
    /// Refuses a head that exceeds `limits`.
    explicit response_parser(const limits& limits = {}) noexcept : limits_{limits} {}

    /// As that of `request_parser`. A status 1xx is a head like any other, without a body: reset
    /// the parser after it. `to_head`: the request was HEAD, whose response has no body.
    [[nodiscard]] std::expected<bool, errc> parse(std::string_view received,
                                                  bool to_head = false) noexcept;

    /// The size of the complete head, in bytes: where the body begins.
    [[nodiscard]] std::size_t head_size() const noexcept { return scan_.taken(); }

    /// What the complete head says. The views point into `received`.
    [[nodiscard]] response_head head(std::string_view received) const noexcept;

    /// Begins with the next response.
    void reset() noexcept { scan_ = {}; }

private:
    [[nodiscard]] errc take_start_line(std::string_view received) noexcept;
    [[nodiscard]] errc finish(bool to_head) noexcept;

    limits limits_;
    detail::head_scan scan_;
    detail::part reason_;
    int status_ = 0;
    version version_ = version::http_1_1;
    framing body_;
    bool keep_alive_ = false;
};

}  // namespace fairlead::http
