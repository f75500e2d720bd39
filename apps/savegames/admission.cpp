#include "savegames/admission.hpp"

#include <fairlead/io/address.hpp>

#include <algorithm>

#include <fmt/format.h>

#include "savegames/host.hpp"

namespace savegames {
namespace {

bool equal_ignoring_case(std::string_view a, std::string_view b) {
    const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
    return std::ranges::equal(a, b, {}, lower, lower);
}

response forbidden(std::string_view message) { return make_error(403, "forbidden", message); }

}  // namespace

response no_room(grant answer, std::string_view what) {
    const bool over_share = answer == grant::over_share;
    return make_error(over_share ? error::over_share : error::overloaded,
                      fmt::format("{} has as many {} under way as it may; try again later",
                                  over_share ? "this game" : "the service", what));
}

bool names_loopback(std::string_view host) {
    const auto field = parse_host(host);
    if (!field) return false;
    if (!field->in_brackets && equal_ignoring_case(field->host, "localhost")) return true;
    const auto literal = fairlead::io::address::parse(field->host, 0);
    return literal && literal->is_loopback();
}

std::optional<response> refuse_access(const fairlead::http::request_head& head, const route& where,
                                      const token_table* tokens, bool peer_is_local) {
    if (tokens == nullptr) {
        if (head.fields.count("origin") != 0)
            return forbidden(
                "requests with an Origin field, as web pages send them, need a service with "
                "tokens");
        // HTTP/1.0 may have none. fairlead::http has refused what is no host.
        const std::string_view host = head.fields.find("host").value_or(head.host);
        const bool foreign = (!host.empty() && !names_loopback(host)) ||
                             (!head.host.empty() && !names_loopback(head.host));
        if (foreign) {
            return forbidden(
                "a service without tokens accepts only a Host that is a loopback address or "
                "localhost");
        }
        return std::nullopt;
    }
    if (where.kind == request_kind::healthz || where.kind == request_kind::readyz) {
        return std::nullopt;
    }
    if (where.kind == request_kind::stats) {
        if (peer_is_local) return std::nullopt;
        return forbidden("statistics are only for clients on the same machine: ask from there");
    }
    const auto token = bearer_token(head.fields.find("authorization").value_or(""));
    if (!token) {
        response answer = make_error(401, "unauthorized",
                                     "a token is needed: send \"Authorization: Bearer TOKEN\"");
        answer.headers.emplace_back("WWW-Authenticate", "Bearer realm=\"savegames\"");
        return answer;
    }
    if (!tokens->allows(where.game, *token))
        return forbidden("the token is not the token of this game");
    return std::nullopt;
}

}  // namespace savegames
