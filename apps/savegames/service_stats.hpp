// The counters of the service, and the JSON text of `GET /stats`.
//
// Any thread. Each connection counts in one of a few shards. Each shard has its own mutex, so that
// workers seldom meet. A reader merges the shards.
#pragma once

#include <fairlead/os/unique_fd.hpp>
#include <fairlead/sched/scheduler.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "savegames/connection_table.hpp"
#include "savegames/histogram.hpp"
#include "savegames/routes.hpp"
#include "savegames/store.hpp"
#include "savegames/tenants.hpp"

namespace savegames {

class service_stats {
public:
    // The requests of one kind. The latency is from the whole request to the whole answer, without
    // the time on the network.
    struct of_kind {
        std::map<int, std::uint64_t> by_status;
        latency_histogram latency;
    };
    using by_kind = std::array<of_kind, request_kinds>;

    // `spread`: any number that is always the same for one connection; it chooses the shard.
    void count_request(std::size_t spread, request_kind kind, int status,
                       std::chrono::nanoseconds latency);

    // Counts a connection that ended by an exception: memory was short.
    void count_failure();

    [[nodiscard]] by_kind requests() const;
    [[nodiscard]] std::uint64_t failures() const;

private:
    struct shard {
        mutable std::mutex mutex;
        by_kind requests;
    };

    std::array<shard, 8> shards_;
    mutable std::mutex mutex_;
    std::uint64_t failures_ = 0;
};

// What the kernel reports about this process.
struct process_usage {
    double cpu_s = 0;  // the time of all threads, user and system
    std::uint64_t rss_bytes = 0;
    std::uint64_t voluntary_switches = 0;
    std::uint64_t involuntary_switches = 0;
};

// Keeps its file open, because there may be no descriptor left for a later reading.
class process_meter {
public:
    process_meter();
    [[nodiscard]] process_usage read() const;

private:
    fairlead::os::unique_fd statm_;
};

// The contents of `GET /stats`.
struct stats_report {
    std::string scheduler;  // fairlead, updater, trivial
    double uptime_s = 0;
    service_stats::by_kind requests;
    connection_table::counters connections;
    std::uint64_t accept_starved = 0;
    std::uint64_t failures = 0;
    std::size_t memory_used = 0;            // bytes, of memory_max
    std::size_t memory_of_connections = 0;  // of memory_used: buffers and heads; bodies: the rest
    std::size_t memory_max = 0;
    tenant_report games;
    std::vector<fairlead::worker_stats> workers;  // of the Fairlead scheduler
    std::size_t job_workers = 0;                  // threads of a baseline, or 0
    std::uint64_t job_wakeups = 0;                // of these threads
    store_counters store;
    process_usage process;

    [[nodiscard]] std::string to_json() const;
};

}  // namespace savegames
