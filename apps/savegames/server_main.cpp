// savegames: the save-game service. `savegames --help` lists the options.
#include <signal.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <optional>
#include <string>

#include <fmt/format.h>
#include <fairlead/diagnostics/enable_stacks.hpp>

#include "savegames/cluster_store.hpp"
#include "savegames/latency_store.hpp"
#include "savegames/server.hpp"
#include "savegames/settings.hpp"
#include "savegames/sqlite_store.hpp"
#include "savegames/tokens.hpp"

namespace savegames {
namespace {

constexpr std::chrono::milliseconds stop_limit{5'000};

std::shared_ptr<const token_table> load_tokens(const std::string& path) {
    auto loaded = token_table::load(path);
    if (!loaded) throw usage_error{"--tokens: " + loaded.error()};
    for (const std::string& warning : loaded->warnings()) {
        fmt::print(stderr, "savegames: warning: {}\n", warning);
    }
    return std::make_shared<const token_table>(std::move(*loaded));
}

// Call it before anything else. A signal of the first moment then waits for `wait_for_end`, on
// whatever thread; by default it would end the program at once. Signals without a meaning for this
// service are ignored, because by default they end the program. For SIGPIPE and SIGXFSZ (a file
// has reached its limit), the failing system call reports the same.
sigset_t block_signals() {
    sigset_t awaited{};
    sigemptyset(&awaited);
    for (const int each : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&awaited, each);
    ::pthread_sigmask(SIG_BLOCK, &awaited, nullptr);
    for (const int each : {SIGPIPE, SIGXFSZ, SIGUSR1, SIGUSR2}) ::signal(each, SIG_IGN);
    return awaited;
}

// Reads the files of tokens, of games and of the certificate again. A wrong file changes nothing.
void read_again(const settings& given, server& running) {
    const auto attempt = [](const char* what, auto read) {
        try {
            read();
            fmt::print(stderr, "savegames: {} read again\n", what);
        } catch (const usage_error& wrong) {
            fmt::print(stderr, "savegames: {} unchanged: {}\n", what, wrong.message);
        }
    };
    if (!given.tokens_file.empty()) {
        attempt("tokens", [&] { running.set_tokens(load_tokens(given.tokens_file)); });
    }
    if (!given.games_file.empty()) {
        attempt("games", [&] { running.set_games(load_games(given)); });
    }
    if (!given.tls.certificate.empty()) {
        attempt("certificate", [&] {
            auto tls = load_tls(given.tls);
            if (!tls) throw usage_error{tls.error()};
            running.set_tls(std::move(*tls));
        });
    }
}

// Waits until a signal ends the program. SIGHUP reads the files again.
void wait_for_end(const sigset_t& awaited, const settings& given, server& running) {
    for (;;) {
        int number = 0;
        if (::sigwait(&awaited, &number) != 0) continue;
        if (number != SIGHUP) return;
        read_again(given, running);
    }
}

std::unique_ptr<save_store> open_store(const settings& given) {
    if (given.database.empty()) {
        auto store = open_cluster_store({.profiles = given.profiles,
                                         .blobs = given.blobs,
                                         .connections = given.blob_connections});
        if (!store) throw usage_error{store.error()};
        return std::move(*store);
    }
    auto store = sqlite_store::open({.path = given.database});
    if (!store) throw usage_error{"--db: " + store.error()};
    return std::move(*store);
}

int serve(settings& given, const sigset_t& awaited) {
    complete(given);
    for (const std::string& warning : given.warnings) {
        fmt::print(stderr, "savegames: warning: {}\n", warning);
    }
    std::shared_ptr<const token_table> tokens;
    if (!given.tokens_file.empty()) tokens = load_tokens(given.tokens_file);

    const std::unique_ptr<save_store> store = open_store(given);
    std::optional<latency_store> remote;
    if (!given.latency.empty()) {
        remote.emplace(*store, *store, parse_store_latency(given.latency));
    }
    profile_store& profiles = remote ? static_cast<profile_store&>(*remote) : *store;
    blob_store& blobs = remote ? static_cast<blob_store&>(*remote) : *store;
    shared_texts texts;
    job_context context{.profiles = profiles, .blobs = blobs, .texts = &texts};
    context.save_limits.size_max = given.server.limits.http.body_max;
    // A lease must not end before its request, whose clock may start a little later.
    context.lease = std::max(
        std::chrono::ceil<std::chrono::milliseconds>(std::chrono::duration<double>{given.lease_s}),
        2 * given.server.limits.request_timeout);

    auto running = server::start(given.server, context, *store, tokens);
    if (!running) throw usage_error{running.error()};
    fmt::print("listening on {}://{}\n", given.server.tls != nullptr ? "https" : "http",
               (*running)->address().to_string());
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
    const sigset_t awaited = savegames::block_signals();
    savegames::map_large_texts();
    fairlead::diagnostics::enable_stacks();
    savegames::settings given;
    CLI::App app{"The save-game service: saves of games over HTTP.", "savegames"};
    savegames::add_options(app, given);
    CLI11_PARSE(app, count, values);
    try {
        return savegames::serve(given, awaited);
    } catch (const savegames::usage_error& wrong) {
        fmt::print(stderr, "savegames: {}\n", wrong.message);
    } catch (const std::exception& failure) {
        fmt::print(stderr, "savegames: {}\n", failure.what());
    }
    return EXIT_FAILURE;
}
