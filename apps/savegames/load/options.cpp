#include "savegames/load/options.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <fstream>
#include <thread>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "savegames/model.hpp"

namespace savegames::load {
namespace {

template <class Number>
bool parse_number(std::string_view text, Number& value) {
    const char* const end = text.data() + text.size();
    const auto [stop, code] = std::from_chars(text.data(), end, value);
    return code == std::errc{} && stop == end;
}

// Options whose text differs from the value that is kept.
struct raw_options {
    std::vector<std::string> urls{"http://127.0.0.1:8080"};
    std::string mix = "10:60:29:1";
    double duration_s = 10;
    double timeout_s = 30;
    std::uint64_t requests = 0;
    std::string token_file;
};

void declare_run(CLI::App& app, load_options& options, raw_options& raw) {
    app.add_option("--url", raw.urls,
                   "The service; its address must be one of this machine. Several, for processes "
                   "with the same saves: connections are dealt to them, and go to the next one "
                   "after an error and after 100 requests")
        ->capture_default_str();
    app.add_option("--connections", options.connections,
                   "How many connections; each has one request under way")
        ->check(CLI::Range(std::size_t{1}, std::size_t{60'000}))
        ->capture_default_str();
    auto* const duration =
        app.add_option("--duration", raw.duration_s, "How long to send, in seconds")
            ->check(CLI::Range(0.01, 1e6))
            ->capture_default_str();
    app.add_option("--requests", raw.requests, "How many requests to send, instead of a duration")
        ->excludes(duration);
    app.add_option("--rate", options.rate,
                   "Requests a second, whether or not answers come (open loop: latencies count "
                   "from when a request was due); 0: the next request follows the answer")
        ->check(CLI::Range(0.0, 1e7))
        ->capture_default_str();
    app.add_option("--mix", raw.mix, "Shares of put:get:update:delete")->capture_default_str();
    app.add_option("--timeout", raw.timeout_s, "How long to wait for an answer, in seconds")
        ->check(CLI::Range(0.001, 3600.0))
        ->capture_default_str();
    app.add_option("--workers", options.workers,
                   "How many threads; default: half of the processors")
        ->check(CLI::Range(1U, 1000U));
}

void declare_data(CLI::App& app, load_options& options, raw_options& raw) {
    app.add_option("--players", options.players, "How many players, dealt to the games")
        ->check(CLI::Range(std::size_t{1}, std::size_t{100'000'000}))
        ->capture_default_str();
    auto* const games =
        app.add_option("--games", options.games, "How many games: load-0, load-1, ...")
            ->check(CLI::Range(std::size_t{1}, std::size_t{10'000}))
            ->capture_default_str();
    app.add_option("--game", options.game, "One game for all players")->excludes(games);
    app.add_option("--skew", options.skew,
                   "Zipf's exponent of the players; 0: all are equally frequent")
        ->check(CLI::Range(0.0, 5.0))
        ->capture_default_str();
    app.add_option("--size-median", options.sizes.median, "Median size of a save, in bytes")
        ->check(CLI::Range(1e3, 1e8))
        ->capture_default_str();
    app.add_option("--size-sigma", options.sizes.sigma, "Sigma of the sizes' logarithm")
        ->check(CLI::Range(0.0, 5.0))
        ->capture_default_str();
    app.add_option("--size-max", options.sizes.size_max, "Largest save, in bytes")
        ->check(CLI::Range(std::size_t{1'000}, std::size_t{100'000'000}))
        ->capture_default_str();
    app.add_option("--pool", options.pool,
                   "How many different saves, and how many patches, to make before the start")
        ->check(CLI::Range(std::size_t{1}, std::size_t{100'000}))
        ->capture_default_str();
    app.add_option("--seed", options.seed, "Seed of all random numbers")->capture_default_str();
    app.add_flag("--preload", options.preload,
                 "First store a save for each player that has none; not counted");
    app.add_flag("--verify,!--no-verify", options.verify,
                 "Check versions, checksums and bodies (default)");
    auto* const token = app.add_option("--token", options.token, "The bearer token of all games");
    app.add_option("--token-file", raw.token_file,
                   "Take the bearer token from the first line of this file")
        ->excludes(token);
    app.add_option("--json", options.json_path, "Also write the results to this file, as JSON");
    app.add_option("--ledger", options.ledger_path,
                   "Keep in this file what was acknowledged; continue from the file if it exists");
}

std::expected<std::string, std::string> read_token(const std::string& path) {
    std::ifstream file{path};
    std::string token;
    if (!file || !std::getline(file, token) || token.empty()) {
        return std::unexpected(fmt::format(
            "--token-file {}: cannot read a token: the first line must be the token", path));
    }
    if (token.back() == '\r') token.pop_back();
    return token;
}

// Moves the options from `raw` to `options`. Returns what is wrong; empty: nothing.
std::string take_over(const raw_options& raw, const CLI::App& app, load_options& options) {
    for (const std::string& url : raw.urls) {
        auto target = parse_target(url);
        if (!target) return target.error();
        options.targets.push_back(*target);
    }
    auto mix = parse_mix(raw.mix);
    if (!mix) return mix.error();
    options.mix = *mix;
    options.run_time = std::chrono::nanoseconds{std::llround(raw.duration_s * 1e9)};
    options.timeout = std::chrono::nanoseconds{std::llround(raw.timeout_s * 1e9)};
    if (app.count("--requests") != 0) options.requests = raw.requests;
    if (static_cast<double>(options.sizes.size_max) < options.sizes.median) {
        return fmt::format("--size-max {}: must be at least --size-median, {}",
                           options.sizes.size_max, options.sizes.median);
    }
    if (!options.game.empty()) {
        if (std::string problem = id_problem(options.game); !problem.empty()) {
            return "--game: " + problem;
        }
    }
    if (!raw.token_file.empty()) {
        auto token = read_token(raw.token_file);
        if (!token) return token.error();
        options.token = std::move(*token);
    }
    // The token goes into a header unchanged.
    if (std::ranges::any_of(options.token, [](char c) { return c <= ' ' || c > '~'; })) {
        return "--token: a token must be printable ASCII without spaces";
    }
    return {};
}

}  // namespace

std::expected<fairlead::io::address, std::string> parse_target(std::string_view url) {
    const auto wrong = [&](std::string_view why) {
        return std::unexpected(fmt::format("--url {}: {}", url, why));
    };
    constexpr std::string_view scheme = "http://";
    if (!url.starts_with(scheme)) return wrong("must begin with http://");
    std::string_view rest = url.substr(scheme.size());
    if (rest.ends_with('/')) rest.remove_suffix(1);
    if (rest.find('/') != rest.npos) return wrong("must not have a path: end it after the port");
    std::string_view host = rest;
    std::uint16_t port = 80;
    const std::size_t colon = rest.rfind(':');
    if (colon != rest.npos && rest.find(']', colon) == rest.npos) {
        host = rest.substr(0, colon);
        if (!parse_number(rest.substr(colon + 1), port) || port == 0) {
            return wrong("the port must be a number from 1 to 65535");
        }
    }
    if (host == "localhost") host = "127.0.0.1";
    if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
    const auto parsed = fairlead::io::address::parse(host, port);
    if (!parsed) return wrong("the host must be an IP address or localhost");
    if (!parsed->is_loopback()) {
        return wrong("the address must be one of this machine: 127.0.0.1 or [::1]");
    }
    return *parsed;
}

std::expected<operation_mix, std::string> parse_mix(std::string_view text) {
    std::array<std::uint32_t, 4> shares{};
    std::string_view rest = text;
    bool good = true;
    for (std::size_t i = 0; i < shares.size(); ++i) {
        const std::string_view part = rest.substr(0, rest.find(':'));
        good = good && parse_number(part, shares[i]) && shares[i] <= 1'000'000;
        rest.remove_prefix(std::min(part.size(), rest.size()));
        const bool last = i + 1 == shares.size();
        good = good && rest.starts_with(':') != last;
        if (!last && !rest.empty()) rest.remove_prefix(1);
    }
    const operation_mix mix{shares[0], shares[1], shares[2], shares[3]};
    if (good && rest.empty() && mix.sum() > 0) return mix;
    return std::unexpected(fmt::format(
        "--mix {}: write four whole numbers of at most 1000000, put:get:update:delete, not all 0, "
        "such as 10:60:29:1",
        text));
}

std::expected<load_options, int> parse_options(int argc, const char* const* argv) {
    CLI::App app{"Drives the save-game service and checks what it answers."};
    load_options options;
    // The service runs on the same machine, and gets the other half.
    options.workers = std::max(1U, std::thread::hardware_concurrency() / 2);
    raw_options raw;
    declare_run(app, options, raw);
    declare_data(app, options, raw);
    try {
        app.parse(argc, argv);
        if (const std::string problem = take_over(raw, app, options); !problem.empty()) {
            throw CLI::ValidationError(problem);
        }
    } catch (const CLI::ParseError& stop) {
        return std::unexpected(app.exit(stop) == 0 ? 0 : 2);
    }
    return options;
}

}  // namespace savegames::load
