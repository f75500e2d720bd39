#include "savegames/settings.hpp"

#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdlib>

#include <fmt/format.h>

namespace savegames {
namespace {

// Descriptors that are not for connections: standard streams, the files of the store, epoll, the
// listener, the connection that waits for room, and a reserve.
constexpr rlim_t descriptors_reserved = 32;

std::chrono::milliseconds milliseconds_of(double seconds) {
    return std::chrono::milliseconds{static_cast<std::int64_t>(seconds * 1000)};
}

// `wanted` connections, or as many as there may be descriptors for. Raises the soft limit of
// descriptors first.
std::size_t possible_connections(std::size_t wanted) {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return wanted;
    if (limit.rlim_cur < limit.rlim_max) {
        rlimit raised{
            .rlim_cur = std::min<rlim_t>(limit.rlim_max, 2 * wanted + descriptors_reserved),
            .rlim_max = limit.rlim_max};
        raised.rlim_cur = std::max(raised.rlim_cur, limit.rlim_cur);
        if (::setrlimit(RLIMIT_NOFILE, &raised) == 0) limit = raised;
    }
    const rlim_t left = limit.rlim_cur - std::min(limit.rlim_cur, descriptors_reserved);
    return std::clamp<std::size_t>(left, 1, wanted);
}

// An unset variable of a shell leaves an empty value. If that counted as a missing option,
// `--tokens "$TOKENS"` would start a service that asks for no tokens.
CLI::Validator not_empty() {
    return {[](std::string& text) {
                return text.empty() ? std::string{"the value is empty: give one, or leave the "
                                                  "option out"}
                                    : std::string{};
            },
            {}};
}

// CLI::Range accepts what is not a number ("nan") as within every range.
CLI::Validator seconds_within(double least, double most) {
    const auto problem = [=](std::string& text) {
        char* end = nullptr;
        const double value = std::strtod(text.c_str(), &end);
        const bool good = !text.empty() && *end == '\0' && value >= least && value <= most;
        return good ? std::string{}
                    : fmt::format("\"{}\" must be a number of seconds from {} to {}", text, least,
                                  most);
    };
    return {problem, fmt::format("FLOAT in [{} - {}]", least, most)};
}

void add_store_options(CLI::App& app, settings& to) {
    app.add_option("--db", to.database,
                   "the SQLite file, created if it does not exist: for one service alone")
        ->check(not_empty());
    app.add_option("--profiles", to.profiles,
                   "in place of --db, with --blobs, for several services: the Redis that keeps the "
                   "leases, redis://[[USER]:PASSWORD@]HOST[:PORT][/DATABASE] or unix://PATH")
        ->envname("SAVEGAMES_PROFILES")
        ->check(not_empty());
    app.add_option("--blobs", to.blobs,
                   "in place of --db, with --profiles: the PostgreSQL that keeps the saves, as "
                   "libpq takes it: postgresql://USER@HOST/DATABASE")
        ->envname("SAVEGAMES_BLOBS")
        ->check(not_empty());
    app.add_option("--blob-connections", to.blob_connections, "to PostgreSQL, at most")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    app.add_option("--lease", to.lease_s,
                   "seconds for which a request has its profile; at least twice --request-timeout")
        ->check(seconds_within(0.01, 86'400.0))
        ->capture_default_str();
    app.add_option("--store-latency", to.latency,
                   "delay answers as a remote store would: MEDIAN[,SIGMA] (5ms or 5ms,0.5) or "
                   "MS[:SIGMA]")
        ->check(not_empty());
}

}  // namespace

fairlead::io::address parse_listen(const std::string& text) {
    const std::size_t colon = text.rfind(':');
    std::uint16_t port = 0;
    if (colon != std::string::npos) {
        const char* const first = text.data() + colon + 1;
        const char* const last = text.data() + text.size();
        const auto [end, failure] = std::from_chars(first, last, port);
        if (failure == std::errc{} && end == last) {
            std::string host = text.substr(0, colon);
            if (host == "localhost") host = "127.0.0.1";
            if (host.starts_with('[') && host.ends_with(']'))
                host = host.substr(1, host.size() - 2);
            if (auto parsed = fairlead::io::address::parse(host, port)) return *parsed;
        }
    }
    throw usage_error{fmt::format(
        "--listen: \"{}\" must be ADDRESS:PORT, such as 127.0.0.1:8080 or [::1]:0", text)};
}

latency_profile parse_store_latency(std::string text) {
    if (text.find_first_not_of("0123456789.:") == std::string::npos) {
        const std::size_t colon = std::min(text.find(':'), text.size());
        const std::string sigma = text.substr(std::min(colon + 1, text.size()));
        text = text.substr(0, colon) + "ms" + (sigma.empty() ? "" : "," + sigma);
    }
    auto parsed = parse_latency(text);
    if (!parsed) throw usage_error{"--store-latency: " + parsed.error()};
    return *parsed;
}

game_settings load_games(const settings& given) {
    if (given.games_file.empty()) return {};
    auto loaded = game_settings::load(given.games_file);
    if (!loaded) throw usage_error{"--games: " + loaded.error()};
    return std::move(*loaded);
}

void add_options(CLI::App& app, settings& to) {
    const auto seconds = seconds_within(0.01, 86'400.0);
    app.add_option("--listen", to.listen,
                   "ADDRESS:PORT; port 0 takes a free port. An address that is not loopback needs "
                   "--tokens")
        ->check(not_empty())
        ->capture_default_str();
    add_store_options(app, to);
    app.add_option("--scheduler", to.scheduler, "what runs the requests")
        ->check(not_empty())
        ->check(CLI::IsMember({"fairlead", "updater", "trivial"}))
        ->capture_default_str();
    app.add_option("--workers", to.server.workers, "threads that run requests")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    app.add_option("--io-workers", to.server.io_workers,
                   "threads that serve the network for updater and trivial")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    app.add_option("--tokens", to.tokens_file,
                   "a file of lines \"game token\"; SIGHUP reads it again")
        ->check(not_empty());
    app.add_option("--certificate", to.tls.certificate,
                   "serve HTTPS with this certificate chain, a PEM file; SIGHUP reads it again")
        ->check(not_empty());
    app.add_option("--key", to.tls.key, "the private key of --certificate, a PEM file")
        ->check(not_empty());
    app.add_option("--games", to.games_file,
                   "a file of lines \"game setting=number ...\", where * stands for all games; the "
                   "settings are weight, max_concurrency, max_requests. SIGHUP reads it again")
        ->check(not_empty());
    app.add_option("--game-idle", to.game_idle_s,
                   "seconds for which a game without connections is kept")
        ->check(seconds)
        ->capture_default_str();
    app.add_flag("--groups,!--no-groups", to.server.groups,
                 "let games share the workers by weight (default); only with fairlead");
    app.add_option(
           "--request-timeout", to.request_timeout_s,
           "seconds from the whole request to its answer, at most; X-Request-Timeout may ask "
           "for less")
        ->check(seconds)
        ->capture_default_str();
    app.add_option(
           "--log-requests", to.log_requests,
           "which requests get a line on the standard error, with their trace: none, failed "
           "(status 500 and above) or all")
        ->check(CLI::IsMember({"none", "failed", "all"}))
        ->capture_default_str();
    app.add_option("--read-timeout", to.read_timeout_s, "seconds for one request to arrive")
        ->check(seconds)
        ->capture_default_str();
    app.add_option("--idle-timeout", to.idle_timeout_s,
                   "seconds that a connection may wait for its next request")
        ->check(seconds)
        ->capture_default_str();
    app.add_option("--write-timeout", to.write_timeout_s, "seconds for one answer to be sent")
        ->check(seconds)
        ->capture_default_str();
    app.add_option("--body-max", to.server.limits.http.body_max,
                   "the most bytes of one body, and of one save")
        ->check(CLI::Range(std::size_t{1}, std::size_t{1} << 30))
        ->capture_default_str();
    app.add_option("--memory-max", to.memory_max_mib,
                   "the most MiB that all clients hold: buffers, heads, bodies, answers; about")
        ->check(CLI::Range(std::size_t{1}, std::size_t{1} << 20))
        ->capture_default_str();
    app.add_option("--max-connections", to.max_connections,
                   "the most connections at once; default: 10000, or fewer if `ulimit -n` is low")
        ->check(CLI::Range(1, 1'000'000));
    app.add_option("--connections-per-address", to.server.connections_per_address,
                   "the most connections of one address; 0: no limit")
        ->check(CLI::Range(0, 1'000'000))
        ->capture_default_str();
    app.add_option("--address-bits", to.server.address_bits.v4,
                   "how many bits of an IPv4 address count as one address")
        ->check(CLI::Range(0, 32))
        ->capture_default_str();
    app.add_option("--address-bits-v6", to.server.address_bits.v6,
                   "how many bits of an IPv6 address count as one address")
        ->check(CLI::Range(0, 128))
        ->capture_default_str();
}

void complete(settings& given) {
    server_options& server = given.server;
    const bool has_servers = !given.profiles.empty() || !given.blobs.empty();
    if (given.profiles.empty() != given.blobs.empty()) {
        throw usage_error{"--profiles and --blobs: give both, or --db alone"};
    }
    if (given.database.empty() != has_servers) {
        throw usage_error{"--db: give a file, or --profiles and --blobs in its place"};
    }
    server.listen = parse_listen(given.listen);
    server.scheduler = parse_scheduler(given.scheduler).value();
    server.log = parse_request_log(given.log_requests).value();
    server.limits.request_timeout = milliseconds_of(given.request_timeout_s);
    server.limits.read_timeout = milliseconds_of(given.read_timeout_s);
    server.limits.idle_timeout = milliseconds_of(given.idle_timeout_s);
    server.limits.write_timeout = milliseconds_of(given.write_timeout_s);
    server.memory_max = given.memory_max_mib << 20;
    server.game_idle = milliseconds_of(given.game_idle_s);
    server.games = load_games(given);
    auto tls = load_tls(given.tls);
    if (!tls) throw usage_error{tls.error()};
    server.tls = std::move(*tls);
    const std::size_t wanted = given.max_connections != 0 ? given.max_connections : 10'000;
    server.max_connections = possible_connections(wanted);
    if (server.max_connections < wanted) {
        given.warnings.push_back(
            fmt::format("{} connections at once instead of {}: there are not enough descriptors, "
                        "of which {} are for other files; raise `ulimit -n`",
                        server.max_connections, wanted, descriptors_reserved));
    }
    if (server.memory_max < server.limits.http.body_max) {
        throw usage_error{
            fmt::format("--memory-max: {} MiB must hold at least one body of --body-max, {} bytes",
                        given.memory_max_mib, server.limits.http.body_max)};
    }
    if (given.tokens_file.empty() && !server.listen.is_loopback()) {
        throw usage_error{fmt::format(
            "--listen {}: without tokens every client could read and write every save. Give "
            "--tokens FILE, or listen on 127.0.0.1",
            given.listen)};
    }
}

}  // namespace savegames
