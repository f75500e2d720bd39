// What a Host field says: RFC 3986, uri-host [":" port].
#pragma once

#include <optional>
#include <string_view>

namespace savegames {

// The parts of a Host field. The views point into the field.
struct host_field {
    std::string_view host;     // as written; of an address in brackets, what is between them
    std::string_view port;     // digits; empty when there is none
    bool in_brackets = false;  // an IPv6 address, or "v1.x" of a future version
};

// Nothing: `text` breaks the grammar. An empty text is an empty host.
[[nodiscard]] std::optional<host_field> parse_host(std::string_view text);

}  // namespace savegames
