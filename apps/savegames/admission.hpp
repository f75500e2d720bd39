// Who may do what: checked when only the head of a request is known.
#pragma once

#include <optional>
#include <string_view>

#include "savegames/http.hpp"
#include "savegames/routes.hpp"
#include "savegames/tokens.hpp"

namespace savegames {

// Why the request is refused, or nothing.
//
// With tokens: 401 without one, 403 with one that is not the game's; /stats is for clients on this
// machine; /healthz and /readyz for everybody.
//
// Without tokens the service listens on loopback only, and everybody on this machine may do
// everything, except for the web pages in their browsers: 403 for requests that a page sent
// (Origin), and for those to a name that is not this machine's (Host), which a page's own server
// can make resolve to 127.0.0.1.
[[nodiscard]] std::optional<response> refuse_access(const http_head& head, const route& where,
                                                    const token_table* tokens, bool peer_is_local);

// Whether a Host field ("localhost:8080", "127.0.0.1", "[::1]:80") names this machine's loopback.
[[nodiscard]] bool names_loopback(std::string_view host);

}  // namespace savegames
