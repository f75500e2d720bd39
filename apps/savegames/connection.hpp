// One client: fairlead::http reads its requests, one after another; a connection runs them, and
// pays for what it holds.
#pragma once

#include <fairlead/coro/task.hpp>
#include <fairlead/http/server_options.hpp>
#include <fairlead/io/tcp.hpp>

#include <chrono>
#include <cstddef>
#include <expected>
#include <functional>
#include <memory>
#include <string>

#include "savegames/connection_table.hpp"
#include "savegames/job.hpp"
#include "savegames/memory_trimmer.hpp"
#include "savegames/request_context.hpp"
#include "savegames/runner.hpp"
#include "savegames/service_stats.hpp"
#include "savegames/tenants.hpp"
#include "savegames/tls_files.hpp"
#include "savegames/tokens.hpp"

namespace savegames {

struct http_limits {
    // Of the request line and the fields, in bytes. The same limit holds for the extensions of all
    // chunks of a body, and for the lines after the last chunk.
    std::size_t head_max = std::size_t{16} << 10;
    std::size_t body_max = std::size_t{4} << 20;
};

struct connection_limits {
    http_limits http{};
    std::chrono::milliseconds read_timeout{10'000};    // for the head and the body of one request
    std::chrono::milliseconds idle_timeout{60'000};    // between two requests
    std::chrono::milliseconds write_timeout{30'000};   // for 256 KiB of an answer
    std::chrono::milliseconds request_timeout{5'000};  // from the whole request to its answer, at
                                                       // most: a client may ask for less
};

// How fairlead::http serves the connections. `stats` counts what no handler gets.
[[nodiscard]] fairlead::http::server_options http_options(const connection_limits& limits,
                                                          service_stats& stats);

// What all connections share. It outlives them.
struct service_parts {
    connection_limits limits;
    fairlead::http::server_options http;
    const job_context& jobs;
    runner& run;
    service_stats& stats;
    tenant_table& tenants;
    connection_table& table;
    memory_trimmer& trimmer;
    fairlead::trace_source& spans;
    request_log log = request_log::none;
    std::function<void(const std::string& line)> write_log{};    // any thread; not null with a log
    std::function<std::shared_ptr<const token_table>()> tokens;  // null: requests need no token
    std::function<std::string()> stats_json;
    // Whether a write would succeed. The error says why not, without a path.
    std::function<std::expected<void, std::string>()> ready;
};

// Serves `stream` until the client closes it or breaks a rule, or the task is asked to stop. Throws
// nothing. `number` is different for each connection. `tls`: null for a connection without it.
fairlead::task<> serve_connection(const service_parts& service, fairlead::io::tcp_stream stream,
                                  connection_table::seat seat, std::size_t number,
                                  std::shared_ptr<const tls_context> tls = nullptr);

}  // namespace savegames
