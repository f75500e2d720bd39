// What a text says that is to be a host.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fairlead::dns::detail {

/// Whether it can be the name of a host, in the length and the characters: letters, digits, "-",
/// "_". A dot at the end is allowed. A name whose last label is a number would be an IPv4 address
/// in an old form, and is refused.
[[nodiscard]] bool is_host_name(std::string_view text) noexcept;

/// In small letters, without the dot at the end.
[[nodiscard]] std::string normalized(std::string_view name);

/// Whether RFC 6761 gives it to this machine. `name` is normalized.
[[nodiscard]] bool is_localhost(std::string_view name) noexcept;

/// The complete names that `name`, a host name, may stand for, in the order of trying. Names that
/// are too long are left out.
[[nodiscard]] std::vector<std::string> complete_names(std::string_view name,
                                                      const std::vector<std::string>& search,
                                                      unsigned ndots);

}  // namespace fairlead::dns::detail
