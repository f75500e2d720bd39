// What c-ares does not read in a message of DNS.
#pragma once

#include <fairlead/base/time.hpp>

#include <optional>
#include <span>

namespace fairlead::dns::detail {

/// For how long a message that has no address may be kept: by the SOA record in its authority
/// section, RFC 2308. Nothing: there is none, or the message cannot be read.
[[nodiscard]] std::optional<duration> negative_ttl(std::span<const unsigned char> message) noexcept;

}  // namespace fairlead::dns::detail
