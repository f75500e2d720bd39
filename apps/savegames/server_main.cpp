// savegames: the save-game service. `savegames --help` tells the options.
#include <fairlead/io/address.hpp>

#include <signal.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "savegames/latency_store.hpp"
#include "savegames/server.hpp"
#include "savegames/sqlite_store.hpp"
#include "savegames/tokens.hpp"

namespace savegames {
namespace {

constexpr std::chrono::milliseconds stop_limit{5'000};

// Descriptors that are not connections: standard streams, the store's files, epoll, the listener,
// the connection that waits for room, and some air.
constexpr rlim_t descriptors_reserved = 32;

struct settings {
    std::string listen = "127.0.0.1:8080";
    std::string database;
    std::string scheduler = "fairlead";
    std::string latency;
    std::string tokens_file;
    double request_timeout_s = 5;
    double read_timeout_s = 10;
    double idle_timeout_s = 60;
    double write_timeout_s = 30;
    std::size_t memory_max_mib = 1024;
    std::size_t max_connections = 0;  // 0: 10,000, or fewer if descriptors are few
    server_options server;
};

// Ends the program with a sentence about what is wrong.
struct usage_error {
    std::string message;
};

std::chrono::milliseconds milliseconds_of(double seconds) {
    return std::chrono::milliseconds{static_cast<std::int64_t>(seconds * 1000)};
}

// "127.0.0.1:8080", "[::1]:0", "localhost:80".
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
        "--listen: \"{}\" is not ADDRESS:PORT, such as 127.0.0.1:8080 or [::1]:0", text)};
}

// "5ms,0.5" as the store has it, or "5" and "5:0.5" in milliseconds.
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

std::shared_ptr<const token_table> load_tokens(const std::string& path) {
    auto loaded = token_table::load(path);
    if (!loaded) throw usage_error{"--tokens: " + loaded.error()};
    for (const std::string& warning : loaded->warnings()) {
        fmt::print(stderr, "savegames: warning: {}\n", warning);
    }
    return std::make_shared<const token_table>(std::move(*loaded));
}

// As many connections as there may be descriptors for, after asking for all that we may have.
std::size_t default_connections() {
    constexpr std::size_t wanted = 10'000;
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return wanted;
    if (limit.rlim_cur < limit.rlim_max) {
        rlimit raised{.rlim_cur = std::min<rlim_t>(limit.rlim_max, 2 * wanted),
                      .rlim_max = limit.rlim_max};
        raised.rlim_cur = std::max(raised.rlim_cur, limit.rlim_cur);
        if (::setrlimit(RLIMIT_NOFILE, &raised) == 0) limit = raised;
    }
    const rlim_t left = limit.rlim_cur - std::min(limit.rlim_cur, descriptors_reserved);
    return std::clamp<std::size_t>(left, 1, wanted);
}

void add_options(CLI::App& app, settings& to) {
    const auto seconds = CLI::Range(0.01, 86'400.0);
    app.add_option("--listen", to.listen,
                   "ADDRESS:PORT; port 0 takes a free one. Anything but loopback needs --tokens")
        ->capture_default_str();
    app.add_option("--db", to.database, "the SQLite file; created if it is not there")->required();
    app.add_option("--scheduler", to.scheduler, "what runs the requests")
        ->check(CLI::IsMember({"fairlead", "updater", "trivial"}))
        ->capture_default_str();
    app.add_option("--workers", to.server.workers, "threads that run requests")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    app.add_option("--io-workers", to.server.io_workers,
                   "threads that serve the network for updater and trivial")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    app.add_option("--store-latency", to.latency,
                   "answer as a remote store would: MEDIAN[,SIGMA] (5ms, 5ms,0.5) or MS[:SIGMA]");
    app.add_option("--tokens", to.tokens_file,
                   "a file of lines \"game token\"; SIGHUP reads it again");
    app.add_option("--request-timeout", to.request_timeout_s, "seconds for running a request")
        ->check(seconds)
        ->capture_default_str();
    app.add_option("--read-timeout", to.read_timeout_s, "seconds for a request to arrive")
        ->check(seconds)
        ->capture_default_str();
    app.add_option("--idle-timeout", to.idle_timeout_s, "seconds between two requests")
        ->check(seconds)
        ->capture_default_str();
    app.add_option("--write-timeout", to.write_timeout_s, "seconds for an answer to be taken")
        ->check(seconds)
        ->capture_default_str();
    app.add_option("--body-max", to.server.limits.http.body_max, "bytes in a body, and in a save")
        ->check(CLI::Range(std::size_t{1}, std::size_t{1} << 30))
        ->capture_default_str();
    app.add_option("--memory-max", to.memory_max_mib, "MiB in the bodies of all requests, about")
        ->check(CLI::Range(std::size_t{1}, std::size_t{1} << 20))
        ->capture_default_str();
    app.add_option("--max-connections", to.max_connections,
                   "default: 10000, or fewer if `ulimit -n` is low")
        ->check(CLI::Range(1, 1'000'000));
}

void complete(settings& given) {
    server_options& server = given.server;
    server.listen = parse_listen(given.listen);
    server.scheduler = parse_scheduler(given.scheduler).value();
    server.limits.request_timeout = milliseconds_of(given.request_timeout_s);
    server.limits.read_timeout = milliseconds_of(given.read_timeout_s);
    server.limits.idle_timeout = milliseconds_of(given.idle_timeout_s);
    server.limits.write_timeout = milliseconds_of(given.write_timeout_s);
    server.limits.memory_max = given.memory_max_mib << 20;
    const std::size_t possible = default_connections();
    server.max_connections = given.max_connections != 0 ? given.max_connections : possible;
    if (server.limits.memory_max < server.limits.http.body_max) {
        throw usage_error{"--memory-max must hold one body (--body-max) at least"};
    }
    if (given.tokens_file.empty() && !server.listen.is_loopback()) {
        throw usage_error{fmt::format(
            "--listen {}: others could read and write every save. Give --tokens FILE, or listen on "
            "127.0.0.1",
            given.listen)};
    }
}

// The signals that are waited for below must be blocked in every thread, so before there are any.
sigset_t block_signals() {
    sigset_t awaited{};
    sigemptyset(&awaited);
    for (const int each : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&awaited, each);
    ::pthread_sigmask(SIG_BLOCK, &awaited, nullptr);
    ::signal(SIGPIPE, SIG_IGN);
    return awaited;
}

// Until the program is told to end. SIGHUP: reads the tokens again; a wrong file changes nothing.
void wait_for_end(const sigset_t& awaited, const settings& given, server& running) {
    for (;;) {
        int number = 0;
        if (::sigwait(&awaited, &number) != 0) continue;
        if (number != SIGHUP) return;
        if (given.tokens_file.empty()) continue;
        try {
            running.set_tokens(load_tokens(given.tokens_file));
            fmt::print(stderr, "savegames: tokens read again\n");
        } catch (const usage_error& wrong) {
            fmt::print(stderr, "savegames: tokens unchanged: {}\n", wrong.message);
        }
    }
}

int serve(settings& given, const sigset_t& awaited) {
    complete(given);
    std::shared_ptr<const token_table> tokens;
    if (!given.tokens_file.empty()) tokens = load_tokens(given.tokens_file);

    auto store = sqlite_store::open({.path = given.database});
    if (!store) throw usage_error{"--db: " + store.error()};
    std::optional<latency_store> remote;
    if (!given.latency.empty())
        remote.emplace(**store, **store, parse_store_latency(given.latency));
    profile_store& profiles = remote ? static_cast<profile_store&>(*remote) : **store;
    blob_store& blobs = remote ? static_cast<blob_store&>(*remote) : **store;
    job_context context{.profiles = profiles, .blobs = blobs};
    context.save_limits.size_max = given.server.limits.http.body_max;
    // A lease must not end before the request does, whose clock may start a little later.
    context.lease = std::max(context.lease, 2 * given.server.limits.request_timeout);

    auto running = server::start(given.server, context, **store, tokens);
    if (!running) throw usage_error{running.error()};
    fmt::print("listening on http://{}\n", (*running)->address().to_string());
    std::fflush(stdout);

    wait_for_end(awaited, given, **running);
    fmt::print(stderr, "savegames: stopping\n");
    const std::size_t left = (*running)->stop(stop_limit);
    if (left != 0) {
        fmt::print(stderr, "savegames: cut off {} connection{} after {} s\n", left,
                   left == 1 ? "" : "s", stop_limit.count() / 1000);
    }
    running->reset();
    fmt::print(stderr, "savegames: stopped\n");
    return EXIT_SUCCESS;
}

}  // namespace
}  // namespace savegames

int main(int count, char** values) {
    savegames::settings given;
    CLI::App app{"The save-game service: saves of games over HTTP.", "savegames"};
    savegames::add_options(app, given);
    CLI11_PARSE(app, count, values);
    try {
        return savegames::serve(given, savegames::block_signals());
    } catch (const savegames::usage_error& wrong) {
        fmt::print(stderr, "savegames: {}\n", wrong.message);
    } catch (const std::exception& failure) {
        fmt::print(stderr, "savegames: {}\n", failure.what());
    }
    return EXIT_FAILURE;
}
