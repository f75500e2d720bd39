// The parts of a URL that a client needs.
#pragma once

#include <fairlead/detail/base/language.hpp>
#include <fairlead/http/errc.hpp>

#include <compare>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

namespace fairlead::http {

/// Where a request goes. Requests to equal origins share connections.
struct origin {
    std::string scheme;      ///< "http" or "https", in small letters
    std::string host;        ///< in small letters; an IPv6 address without its brackets
    std::uint16_t port = 0;  ///< 80 and 443 if the URL has none

    /// By all parts.
    friend auto operator<=>(const origin&, const origin&) = default;

    /// The Host field: host, and the port if it is not that of the scheme.
    [[nodiscard]] std::string authority() const;
};

/// A URL, taken apart.
struct url {
    http::origin origin;  ///< where the request goes
    std::string target;   ///< path and query, as they are sent; "/" if there is no path

    /// Takes "http://host[:port][/path][?query]" apart; https, too. Drops a fragment. Refuses what
    /// cannot be sent as it is, such as spaces, with `errc::bad_target`, and names of users with
    /// it. Throws `std::bad_alloc`.
    [[nodiscard]] static std::expected<url, errc> parse(std::string_view text);
};

}  // namespace fairlead::http
