// Access control: which client may do what. Checked as soon as the head of a request is known.
#pragma once

#include <fairlead/http/head.hpp>

#include <optional>
#include <string_view>

#include "savegames/budget.hpp"
#include "savegames/routes.hpp"
#include "savegames/tokens.hpp"

namespace savegames {
// The answer that refuses the request; nothing if the client may make it.
//
// With tokens: a request without a token gets 401, a request with another game's token 403.
// `/stats` is only for clients on this machine. `/healthz` and `/readyz` need no token.
//
// Without tokens the service listens on loopback only, and every program on this machine may do
// everything. Web pages in a browser on this machine may do nothing: a request that a page sent
// (it has an Origin field) gets 403. So does a request whose Host is not this machine: a web site
// can let its own name resolve to 127.0.0.1. The host of an absolute target counts, too.
[[nodiscard]] std::optional<response> refuse_access(const fairlead::http::request_head& head,
                                                    const route& where, const token_table* tokens,
                                                    bool peer_is_local);

// The answer to a request for which a budget has no room. `what`: the unit of the budget.
[[nodiscard]] response no_room(grant answer, std::string_view what);

// Whether a Host field ("localhost:8080", "127.0.0.1", "[::1]:80") names the loopback interface.
[[nodiscard]] bool names_loopback(std::string_view host);

}  // namespace savegames
