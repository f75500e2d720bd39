// The service: a listener, its connections, and the scheduler they run on. Its tasks:
//
//   serve_all          waits for all tasks below it
//     accept           one task; it ends first when the service stops
//     connection ...   one task for each client
//     sweep            one task, which drops idle games
//     trim             one task, which gives memory back to the system
#pragma once

#include <fairlead/coro/scope.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/io/address.hpp>
#include <fairlead/io/tcp.hpp>
#include <fairlead/sched/scheduler.hpp>

#include <chrono>
#include <cstddef>
#include <expected>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

#include "savegames/connection.hpp"
#include "savegames/game_settings.hpp"
#include "savegames/job.hpp"
#include "savegames/memory_trimmer.hpp"
#include "savegames/runner.hpp"
#include "savegames/store.hpp"
#include "savegames/tenants.hpp"

namespace savegames {

struct server_options {
    fairlead::io::address listen{};
    scheduler_choice scheduler = scheduler_choice::fairlead;
    std::size_t workers = 4;     // threads that run jobs; with fairlead, all threads
    std::size_t io_workers = 2;  // threads that serve the network for a baseline
    std::size_t max_connections = 10'000;
    std::size_t connections_per_address = 0;  // 0: no limit
    network_bits address_bits{};              // how many bits name one address
    connection_limits limits{};
    std::size_t memory_max = std::size_t{1} << 30;  // bytes that all clients hold, about
    request_log log = request_log::none;            // lines on the standard error
    bool groups = true;                             // a group for each game; only with fairlead
    std::chrono::milliseconds game_idle{60'000};
    game_settings games{};
    std::shared_ptr<const tls_context> tls{};  // null: plain HTTP
};

class server {
public:
    // Binds the address and begins to serve. The store, and what `jobs` refers to, outlive the
    // server. `tokens` may be null. The error is a sentence for a person. Throws std::system_error
    // if the system has no thread or descriptor left.
    [[nodiscard]] static std::expected<std::unique_ptr<server>, std::string> start(
        const server_options& options, const job_context& jobs, const save_store& store,
        std::shared_ptr<const token_table> tokens);

    // Stops at once, as `stop(0ms)` does.
    ~server();
    server(const server&) = delete;
    server& operator=(const server&) = delete;

    [[nodiscard]] const fairlead::io::address& address() const noexcept { return address_; }

    // Replaces the tokens, from the next request on. Any thread.
    void set_tokens(std::shared_ptr<const token_table> tokens);

    // Replaces the certificate, from the next connection on. Only for a server that has begun with
    // one. Any thread.
    void set_tls(std::shared_ptr<const tls_context> tls);

    // Replaces the limits of games. Any thread.
    void set_games(game_settings games) { tenants_.set_settings(std::move(games)); }

    // Accepts no more connections. Ends the existing connections as `connection_table` describes,
    // until `limit` has passed, and cuts off the rest. Returns how many it cut off. Call it once.
    std::size_t stop(std::chrono::milliseconds limit);

private:
    server(const server_options& options, const job_context& jobs, const save_store& store,
           std::shared_ptr<const token_table> tokens);

    fairlead::task<> serve_all();
    fairlead::task<> accept_all(fairlead::scope& connections);
    fairlead::task<std::optional<connection_table::seat>> wait_for_seat(network from);
    fairlead::task<> sweep_games();
    fairlead::task<bool> accept_one(fairlead::scope& connections, std::size_t number);
    [[nodiscard]] std::shared_ptr<const tls_context> tls() const;
    [[nodiscard]] std::string stats_json() const;

    const server_options options_;
    const save_store& store_;
    const time_point started_ = clock::now();
    fairlead::io::address address_;
    process_meter meter_;
    mutable std::mutex tokens_mutex_;
    std::shared_ptr<const token_table> tokens_;  // guarded by tokens_mutex_
    std::shared_ptr<const tls_context> tls_;     // guarded by tokens_mutex_
    service_stats stats_;
    connection_table table_;
    memory_trimmer trimmer_;
    std::unique_ptr<runner> runner_;
    fairlead::trace_source spans_;
    service_parts parts_;
    std::stop_source stop_accepting_;
    fairlead::scheduler scheduler_;
    tenant_table tenants_;
    std::optional<fairlead::io::tcp_listener> listener_;  // set by `start`
    std::optional<fairlead::join_handle<void>> serving_;
};

}  // namespace savegames
