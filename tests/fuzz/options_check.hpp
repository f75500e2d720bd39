// Texts and values that a user gives: addresses, the options of a scheduler, the command line of
// the save-game service, its file of tokens.
//
//   addresses  accepted if, and only if, a parser written from RFC 4291 accepts them, with the same
//              bits; what is printed is parsed again to the same
//   scheduler  starts, runs a task and ends if all options are in their documented ranges; else
//              throws std::invalid_argument, which names a field
//   service    any command line ends as settings within the documented ranges, or as an error
//   tokens     each token that the file has opens its game, and no other does
#pragma once

#include "fuzz/address_model.hpp"
#include "fuzz/input.hpp"

#include <fairlead/detail/base/assert.hpp>
#include <fairlead/io/address.hpp>
#include <fairlead/sched/scheduler.hpp>

#include <netinet/in.h>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "savegames/settings.hpp"
#include "savegames/tokens.hpp"

namespace fairlead::fuzz {

// The code that is checked.
struct options_code {
    using scheduler = fairlead::scheduler;
    using token_table = savegames::token_table;
    static auto parse_address(std::string_view host, std::uint16_t port) {
        return io::address::parse(host, port);
    }
    static void complete(savegames::settings& given) { savegames::complete(given); }
};

// --- addresses -----------------------------------------------------------------------------------

template <class Code>
void check_address(std::string_view host, std::uint16_t port) {
    const auto parsed = Code::parse_address(host, port);
    if (host.contains('%')) return;  // the interfaces depend on the system
    const auto v4 = parse_v4(host);
    const auto v6 = parse_v6(host);
    FAIRLEAD_ASSERT(parsed.has_value() == (v4 || v6), "both know it for an address, or neither");
    if (!parsed) return;
    FAIRLEAD_ASSERT(parsed->is_v6() == v6.has_value(), "of the same family");
    FAIRLEAD_ASSERT(parsed->port() == port, "with its port");
    if (v4) {
        const auto* const bits = reinterpret_cast<const sockaddr_in*>(parsed->data());
        FAIRLEAD_ASSERT(std::memcmp(&bits->sin_addr, v4->data(), v4->size()) == 0, "the same bits");
        FAIRLEAD_ASSERT(parsed->is_loopback() == ((*v4)[0] == 127), "127.0.0.0/8 is loopback");
    } else {
        const auto* const bits = reinterpret_cast<const sockaddr_in6*>(parsed->data());
        FAIRLEAD_ASSERT(std::memcmp(&bits->sin6_addr, v6->data(), v6->size()) == 0,
                        "the same bits");
    }
    const std::string printed = parsed->to_string();
    const auto again = savegames::parse_listen(printed);
    FAIRLEAD_ASSERT(again.to_string() == printed, "what is printed can be parsed");
    FAIRLEAD_ASSERT(again.is_v6() == parsed->is_v6() && again.port() == port, "to the same");
}

// --- the options of a scheduler ------------------------------------------------------------------

template <class Code>
void check_scheduler(input& bytes) {
    using namespace std::chrono_literals;
    scheduler_options options;
    options.run_on_caller = bytes.flag();
    // A few threads at most are started.
    options.workers =
        static_cast<unsigned>(bytes.flag() ? 1001 + bytes.below(60'000) : bytes.below(3));
    const int exponent = static_cast<int>(bytes.below(12));
    std::int64_t interval = static_cast<std::int64_t>(bytes.byte()) - 64;
    for (int i = 0; i != exponent; ++i) interval *= 10;
    options.round_interval = duration{interval};
    options.stop_limit = duration{static_cast<std::int64_t>(bytes.number())};
    options.name = bytes.rest();
    const bool good = options.workers <= (options.run_on_caller ? 1 : 1000) &&
                      options.round_interval >= 10us && options.round_interval <= 10s &&
                      options.stop_limit >= 0s;
    bool ran = false;
    try {
        typename Code::scheduler home{std::move(options)};
        home.post([&] { ran = true; });
        home.drain();
    } catch (const std::invalid_argument& refused) {
        FAIRLEAD_ASSERT(std::string_view{refused.what()}.contains("options."),
                        "it names the field");
        FAIRLEAD_ASSERT(!good, "only wrong options are refused");
    }
    FAIRLEAD_ASSERT(ran == good, "a scheduler with good options works");
}

// --- the service ---------------------------------------------------------------------------------

// `text`: an argument a line.
template <class Code>
void check_command_line(std::string_view text) {
    std::vector<std::string> arguments;
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        arguments.emplace_back(line);
        text.remove_prefix(std::min(line.size() + 1, text.size()));
    }
    std::ranges::reverse(arguments);  // as the library wants them
    savegames::settings given;
    CLI::App app;
    savegames::add_options(app, given);
    try {
        app.parse(arguments);
        Code::complete(given);
        if (!given.latency.empty()) {
            const auto profile = savegames::parse_store_latency(given.latency);
            FAIRLEAD_ASSERT(
                profile.median.count() >= 0 && profile.median <= std::chrono::minutes{1},
                "a latency is within its range");
            FAIRLEAD_ASSERT(profile.sigma >= 0 && profile.sigma <= 3, "and so is its sigma");
        }
    } catch (const CLI::ParseError&) {
        return;
    } catch (const savegames::usage_error& refused) {
        FAIRLEAD_ASSERT(!refused.message.empty(), "an error has words");
        return;
    }
    const savegames::server_options& server = given.server;
    const auto is_timeout = [](std::chrono::milliseconds each) {
        return each >= std::chrono::milliseconds{10} && each <= std::chrono::hours{24};
    };
    const auto is_threads = [](std::size_t each) { return each >= 1 && each <= 1000; };
    FAIRLEAD_ASSERT(!given.database.empty(), "there is a database");
    FAIRLEAD_ASSERT(server.listen.is_loopback() || !given.tokens_file.empty(),
                    "who listens to others wants tokens");
    FAIRLEAD_ASSERT(is_threads(server.workers) && is_threads(server.io_workers), "threads");
    FAIRLEAD_ASSERT(server.max_connections >= 1 && server.max_connections <= 1'000'000,
                    "connections");
    FAIRLEAD_ASSERT(server.limits.http.body_max >= 1, "bodies");
    FAIRLEAD_ASSERT(server.memory_max >= server.limits.http.body_max, "memory for a body");
    FAIRLEAD_ASSERT(is_timeout(server.limits.request_timeout), "time for a request");
    FAIRLEAD_ASSERT(is_timeout(server.limits.read_timeout), "time to read");
    FAIRLEAD_ASSERT(is_timeout(server.limits.idle_timeout), "time between requests");
    FAIRLEAD_ASSERT(is_timeout(server.limits.write_timeout), "time to write");
}

template <class Code>
void check_tokens(std::string_view text) {
    const auto table = Code::token_table::parse(text, "tokens");
    if (!table) {
        FAIRLEAD_ASSERT(!table.error().empty(), "an error has words");
        return;
    }
    std::size_t found = 0;
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(line.size() + 1, text.size()));
        std::istringstream words{std::string{line}};
        std::string game;
        std::string token;
        if (!(words >> game >> token) || game.starts_with('#')) continue;
        ++found;
        FAIRLEAD_ASSERT(table->allows(game, token), "a token opens its game");
        FAIRLEAD_ASSERT(!table->allows(game, token + "x"), "a longer one does not");
        token.pop_back();
        FAIRLEAD_ASSERT(!table->allows(game, token), "a shorter one does not");
    }
    FAIRLEAD_ASSERT(found == table->size(), "each line is a token");
}

// --- all of them ---------------------------------------------------------------------------------

template <class Code>
void check_options(input bytes) {
    switch (bytes.below(5)) {
        case 0: {
            const auto port = static_cast<std::uint16_t>(bytes.below(65'536));
            check_address<Code>(bytes.rest(), port);
            break;
        }
        case 1:
            check_scheduler<Code>(bytes);
            break;
        case 2:
            check_command_line<Code>(bytes.rest());
            break;
        case 3:
            check_tokens<Code>(bytes.rest());
            break;
        default:
            try {
                static_cast<void>(savegames::parse_listen(std::string{bytes.rest()}));
            } catch (const savegames::usage_error&) {
            }
            break;
    }
}

}  // namespace fairlead::fuzz
