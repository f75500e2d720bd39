#include "savegames/routes.hpp"

#include <array>
#include <span>
#include <utility>

namespace savegames {
namespace {

struct method_entry {
    std::string_view method;
    request_kind kind;
};

constexpr std::array save_methods{method_entry{"GET", request_kind::get},
                                  method_entry{"PUT", request_kind::put},
                                  method_entry{"DELETE", request_kind::erase}};
constexpr std::array update_methods{method_entry{"POST", request_kind::update}};
constexpr std::array healthz_methods{method_entry{"GET", request_kind::healthz},
                                     method_entry{"HEAD", request_kind::healthz}};
constexpr std::array readyz_methods{method_entry{"GET", request_kind::readyz},
                                    method_entry{"HEAD", request_kind::readyz}};
constexpr std::array stats_methods{method_entry{"GET", request_kind::stats}};

std::expected<request_kind, response> choose(std::string_view method,
                                             std::span<const method_entry> allowed) {
    std::string names;
    for (const method_entry& each : allowed) {
        if (each.method == method) return each.kind;
        if (!names.empty()) names += ", ";
        names += each.method;
    }
    response answer = make_error(405, "bad_request",
                                 "this path does not have the method " +
                                     std::string{method.substr(0, 32)} + "; it has " + names);
    answer.headers.emplace_back("Allow", std::move(names));
    return std::unexpected(std::move(answer));
}

// The path of a target: without the query, and without the scheme and host of an absolute form.
std::string_view path_of(std::string_view target) {
    if (!target.starts_with('/')) {
        const std::size_t authority = target.find("://");
        if (authority == std::string_view::npos) return {};
        const std::size_t slash = target.find('/', authority + 3);
        if (slash == std::string_view::npos) return {};
        target.remove_prefix(slash);
    }
    return target.substr(0, target.find('?'));
}

// Takes "/segment" off the front of `path`.
std::string_view take_segment(std::string_view& path) {
    if (path.empty()) return {};
    path.remove_prefix(1);
    const std::string_view segment = path.substr(0, path.find('/'));
    path.remove_prefix(segment.size());
    return segment;
}

int hex_value(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

std::unexpected<response> unknown_path() {
    return std::unexpected(make_error(404, "not_found",
                                      "there is no such path; the paths are /saves/{player}, "
                                      "/games/{game}/saves/{player}, both with /update, /healthz, "
                                      "/readyz and /stats"));
}

}  // namespace

std::string_view to_string(request_kind kind) noexcept {
    static constexpr std::array<std::string_view, request_kinds> names{
        "get", "put", "update", "delete", "healthz", "readyz", "stats", "other"};
    return names[std::to_underlying(kind)];
}

job_kind job_of(request_kind kind) noexcept {
    switch (kind) {
        case request_kind::put:
            return job_kind::put;
        case request_kind::update:
            return job_kind::update;
        case request_kind::erase:
            return job_kind::erase;
        default:
            return job_kind::get;
    }
}

std::optional<std::string> percent_decode(std::string_view text) {
    std::string result;
    result.reserve(text.size());
    for (std::size_t i = 0; i != text.size(); ++i) {
        if (text[i] != '%') {
            result += text[i];
            continue;
        }
        if (text.size() - i < 3) return std::nullopt;
        const int high = hex_value(text[i + 1]);
        const int low = hex_value(text[i + 2]);
        if (high < 0 || low < 0) return std::nullopt;
        result += static_cast<char>(high * 16 + low);
        i += 2;
    }
    return result;
}

std::expected<route, response> find_route(std::string_view method, std::string_view target) {
    std::string_view path = path_of(target);
    std::span<const method_entry> allowed;
    std::string_view game;
    std::string_view player;
    if (path == "/healthz") {
        allowed = healthz_methods;
    } else if (path == "/readyz") {
        allowed = readyz_methods;
    } else if (path == "/stats") {
        allowed = stats_methods;
    } else {
        std::string_view first = take_segment(path);
        if (first == "games") {
            game = take_segment(path);
            first = take_segment(path);
        } else {
            game = default_game;
        }
        if (first != "saves" || path.size() < 2) return unknown_path();
        player = take_segment(path);
        if (path.empty()) {
            allowed = save_methods;
        } else if (path == "/update") {
            allowed = update_methods;
        } else {
            return unknown_path();
        }
    }
    auto kind = choose(method, allowed);
    if (!kind) return std::unexpected(std::move(kind.error()));
    auto decoded_game = percent_decode(game);
    auto decoded_player = percent_decode(player);
    if (!decoded_game || !decoded_player) {
        return std::unexpected(make_error(400, "bad_request",
                                          "two hexadecimal digits must follow each % of the path"));
    }
    return route{*kind, std::move(*decoded_game), std::move(*decoded_player)};
}

}  // namespace savegames
