// The command line of the service.
#pragma once

#include <fairlead/io/address.hpp>

#include <cstddef>
#include <string>
#include <vector>

#include "savegames/latency_store.hpp"
#include "savegames/server.hpp"

namespace CLI {
class App;
}

namespace savegames {

// The text fields are as the user wrote them. `complete` fills `server`.
struct settings {
    std::string listen = "127.0.0.1:8080";
    std::string database;
    std::string profiles;  // with `blobs`: servers in place of `database`
    std::string blobs;
    std::uint32_t blob_connections = 8;
    double lease_s = 10;
    std::string scheduler = "fairlead";
    std::string latency;
    std::string tokens_file;
    std::string games_file;
    tls_files tls;
    std::string log_requests = "none";
    double game_idle_s = 60;
    double request_timeout_s = 5;
    double read_timeout_s = 10;
    double idle_timeout_s = 60;
    double write_timeout_s = 30;
    std::size_t memory_max_mib = 1024;
    std::size_t max_connections = 0;  // 0: 10,000, or fewer if there are fewer descriptors
    server_options server;
    std::vector<std::string> warnings;  // sentences for a person
};

// A sentence that says what is wrong with the command line. The program then ends.
struct usage_error {
    std::string message;
};

// Adds all options to `app`. Parsing writes their values to `to`.
void add_options(CLI::App& app, settings& to);

// Derives the options of the server from the text fields. Reads the file of `--games`. Raises the
// limit of descriptors as far as this process may. Throws usage_error.
void complete(settings& given);

// Reads the file of `--games`, if there is one. Throws usage_error.
[[nodiscard]] game_settings load_games(const settings& given);

// Parses "127.0.0.1:8080", "[::1]:0", "localhost:80". Throws usage_error.
[[nodiscard]] fairlead::io::address parse_listen(const std::string& text);

// Parses "5ms,0.5", or "5" and "5:0.5" in milliseconds. Throws usage_error.
[[nodiscard]] latency_profile parse_store_latency(std::string text);

}  // namespace savegames
