#include "savegames/admission.hpp"

#include <fairlead/io/address.hpp>

#include <algorithm>

#include "savegames/host.hpp"

namespace savegames {
namespace {

bool equal_ignoring_case(std::string_view a, std::string_view b) {
    const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
    return std::ranges::equal(a, b, {}, lower, lower);
}

response forbidden(std::string_view message) { return make_error(403, "forbidden", message); }

}  // namespace

bool names_loopback(std::string_view host) {
    const auto field = parse_host(host);
    if (!field) return false;
    if (!field->in_brackets && equal_ignoring_case(field->host, "localhost")) return true;
    const auto literal = fairlead::io::address::parse(field->host, 0);
    return literal && literal->is_loopback();
}

std::optional<response> refuse_access(const http_head& head, const route& where,
                                      const token_table* tokens, bool peer_is_local) {
    if (tokens == nullptr) {
        if (head.has_origin) return forbidden("web pages need a service with tokens");
        if (!head.host.empty() && !names_loopback(head.host)) {
            return forbidden("without tokens, call this service by a loopback address");
        }
        return std::nullopt;
    }
    if (where.kind == request_kind::healthz || where.kind == request_kind::readyz) {
        return std::nullopt;
    }
    if (where.kind == request_kind::stats) {
        if (peer_is_local) return std::nullopt;
        return forbidden("statistics are for clients on the same machine");
    }
    const auto token = bearer_token(head.authorization);
    if (!token) {
        response answer = make_error(401, "unauthorized", "a bearer token is needed");
        answer.headers.emplace_back("WWW-Authenticate", "Bearer realm=\"savegames\"");
        return answer;
    }
    if (!tokens->allows(where.game, *token)) return forbidden("not the token of this game");
    return std::nullopt;
}

}  // namespace savegames
