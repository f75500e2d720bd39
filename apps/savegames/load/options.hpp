// The options of the load generator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fairlead/base/time.hpp>
#include <fairlead/io/address.hpp>

#include "savegames/generate.hpp"

namespace savegames::load {

// Shares of the operations; only their ratios matter.
struct operation_mix {
    std::uint32_t put = 10;
    std::uint32_t get = 60;
    std::uint32_t update = 29;
    std::uint32_t erase = 1;

    [[nodiscard]] std::uint64_t sum() const noexcept {
        return std::uint64_t{put} + get + update + erase;
    }
};

struct load_options {
    std::vector<fairlead::io::address> targets{};  // processes of the service; at least one
    std::size_t connections = 64;
    fairlead::duration run_time = std::chrono::seconds{10};
    std::optional<std::uint64_t> requests{};  // if set, it replaces run_time
    double rate = 0;                          // requests a second; 0: closed loop
    operation_mix mix{};
    std::size_t players = 1000;
    std::size_t games = 4;
    std::string game{};  // the game of all players; empty: they are dealt to `games` games
    double skew = 0.8;   // 0: all players are equally frequent
    size_distribution sizes{};
    std::size_t pool = 256;  // how many different saves, and how many patches
    std::uint64_t seed = 1;
    unsigned workers = 1;
    std::string token{};
    std::string json_path{};
    std::string ledger_path{};
    fairlead::duration timeout = std::chrono::seconds{30};
    bool preload = false;
    bool verify = true;
};

// Parses "http://127.0.0.1:8080", "http://[::1]:8080", "http://localhost:8080/". The error is a
// sentence. Only addresses of this machine are allowed: a load generator must not be aimed at other
// machines, and figures over a real network are not its purpose.
[[nodiscard]] std::expected<fairlead::io::address, std::string> parse_target(std::string_view url);

// Parses "10:60:29:1", the shares of put, get, update and delete.
[[nodiscard]] std::expected<operation_mix, std::string> parse_mix(std::string_view text);

// The options, or the exit status of --help or of a mistake. The text has been printed then.
[[nodiscard]] std::expected<load_options, int> parse_options(int argc, const char* const* argv);

}  // namespace savegames::load
