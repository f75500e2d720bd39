// Parses a Host field: RFC 3986, uri-host [":" port].
#pragma once

#include <optional>
#include <string_view>

namespace savegames {

// The parts of a Host field. The views point into the field.
struct host_field {
    std::string_view host;     // as written, but without the brackets
    std::string_view port;     // digits; empty if there is none
    bool in_brackets = false;  // the host is an IPv6 address, or "v1.x" of a future version
};

// Nothing if `text` breaks the grammar. An empty text is an empty host.
[[nodiscard]] std::optional<host_field> parse_host(std::string_view text);

}  // namespace savegames
