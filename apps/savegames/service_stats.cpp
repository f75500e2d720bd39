#include "savegames/service_stats.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

namespace savegames {
namespace {

using nlohmann::json;

double seconds(const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

double in_ms(std::chrono::nanoseconds time) { return static_cast<double>(time.count()) / 1e6; }

json describe(const latency_histogram& latency) {
    return {{"count", latency.count()},
            {"mean", in_ms(latency.mean())},
            {"p50", in_ms(latency.quantile(0.5))},
            {"p90", in_ms(latency.quantile(0.9))},
            {"p99", in_ms(latency.quantile(0.99))},
            {"p99.9", in_ms(latency.quantile(0.999))},
            {"max", in_ms(latency.max())}};
}

json describe(const std::vector<fairlead::worker_stats>& workers) {
    json result = json::array();
    for (const fairlead::worker_stats& each : workers) {
        result.push_back({{"steps", each.steps},
                          {"rounds", each.rounds},
                          {"wakeups", each.wakeups},
                          {"stolen", each.stolen}});
    }
    return result;
}

json describe(const store_counters& store) {
    return {{"reads", store.reads},
            {"writes", store.writes},
            {"commits", store.commits},
            {"failures", store.failures},
            {"refused", store.refused},
            {"overdue", store.overdue},
            {"connects", store.connects},
            {"queued_reads", store.queued_reads},
            {"queued_writes", store.queued_writes},
            {"last_failure", store.last_failure}};
}

// `groups`: games have groups, so the time that `game` used is known.
json describe(const tenant_usage& game, bool groups) {
    json result{{"connections", game.connections},
                {"requests",
                 {{"admitted", game.requests.granted},
                  {"refused", game.requests.refused + game.memory.refused},
                  {"under_way", game.requests.used}}},
                {"bodies", game.memory.used}};
    if (!game.game.empty()) {
        result["game"] = game.game;
        result["limits"] = {{"weight", game.limits.weight},
                            {"max_concurrency", game.limits.max_concurrency},
                            {"max_requests", game.limits.max_requests}};
    }
    if (groups) {
        result["used_s"] = in_ms(game.group.used) / 1e3;
        result["steps"] = game.group.steps;
        result["tasks"] = game.group.tasks;
        result["queued"] = game.group.queued;
    }
    return result;
}

json describe(const tenant_report& games) {
    json most = json::array();
    for (const tenant_usage& each : games.most) most.push_back(describe(each, games.groups));
    return {{"groups", games.groups},
            {"known", games.known},
            {"idle", games.idle},
            {"made", games.made},
            {"dropped", games.dropped},
            {"most", std::move(most)},
            {"others", describe(games.others, games.groups)},
            {"gone", describe(games.gone, games.groups)}};
}

}  // namespace

void service_stats::count_request(std::size_t spread, request_kind kind, int status,
                                  std::chrono::nanoseconds latency) {
    auto& mine = shards_[spread % shards_.size()];
    const std::lock_guard lock{mine.mutex};
    of_kind& counted = mine.requests[std::to_underlying(kind)];
    ++counted.by_status[status];
    counted.latency.record(latency);
}

void service_stats::count_failure() {
    const std::lock_guard lock{mutex_};
    ++failures_;
}

service_stats::by_kind service_stats::requests() const {
    by_kind merged;
    for (const shard& each : shards_) {
        const std::lock_guard lock{each.mutex};
        for (std::size_t i = 0; i != request_kinds; ++i) {
            for (const auto& [status, count] : each.requests[i].by_status) {
                merged[i].by_status[status] += count;
            }
            merged[i].latency.merge(each.requests[i].latency);
        }
    }
    return merged;
}

std::uint64_t service_stats::failures() const {
    const std::lock_guard lock{mutex_};
    return failures_;
}

process_meter::process_meter() : statm_{::open("/proc/self/statm", O_RDONLY | O_CLOEXEC)} {}

process_usage process_meter::read() const {
    process_usage result;
    rusage usage{};
    if (::getrusage(RUSAGE_SELF, &usage) == 0) {
        result.cpu_s = seconds(usage.ru_utime) + seconds(usage.ru_stime);
        result.voluntary_switches = static_cast<std::uint64_t>(usage.ru_nvcsw);
        result.involuntary_switches = static_cast<std::uint64_t>(usage.ru_nivcsw);
    }
    std::array<char, 128> text{};
    const ssize_t size = ::pread(statm_.get(), text.data(), text.size(), 0);
    if (size > 0) {  // the text is "total resident ...", in pages
        std::string_view rest{text.data(), static_cast<std::size_t>(size)};
        rest.remove_prefix(std::min(rest.find(' ') + 1, rest.size()));
        std::uint64_t pages = 0;
        std::from_chars(rest.data(), rest.data() + rest.size(), pages);
        result.rss_bytes = pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    }
    return result;
}

std::string stats_report::to_json() const {
    json by_status = json::object();
    json latency = json::object();
    latency_histogram all_jobs;
    for (std::size_t i = 0; i != request_kinds; ++i) {
        const auto kind = static_cast<request_kind>(i);
        const std::string name{to_string(kind)};
        if (requests[i].by_status.empty()) continue;
        for (const auto& [status, count] : requests[i].by_status) {
            by_status[name][std::to_string(status)] = count;
        }
        latency[name] = describe(requests[i].latency);
        if (is_job(kind)) all_jobs.merge(requests[i].latency);
    }
    latency["jobs"] = describe(all_jobs);

    fairlead::worker_stats sum;
    for (const fairlead::worker_stats& each : workers) {
        sum.steps += each.steps;
        sum.rounds += each.rounds;
        sum.wakeups += each.wakeups;
        sum.stolen += each.stolen;
    }
    const json result{{"scheduler", scheduler},
                      {"uptime_s", uptime_s},
                      {"requests", by_status},
                      {"latency_ms", latency},
                      {"connections",
                       {{"open", connections.open},
                        {"idle", connections.idle},
                        {"limit", connections.limit},
                        {"accepted", connections.accepted},
                        {"evicted", connections.evicted},
                        {"refused", connections.refused},
                        {"waited", connections.waited},
                        {"accept_starved", accept_starved},
                        {"failures", failures}}},
                      {"memory",
                       {{"used", memory_used},
                        {"max", memory_max},
                        {"connections", memory_of_connections},
                        {"bodies", memory_used - std::min(memory_used, memory_of_connections)}}},
                      {"games", describe(games)},
                      {"workers", describe(workers)},
                      {"totals",
                       {{"threads", workers.size() + job_workers},
                        {"steps", sum.steps},
                        {"rounds", sum.rounds},
                        {"wakeups", sum.wakeups + job_wakeups},
                        {"stolen", sum.stolen}}},
                      {"job_workers", job_workers},
                      {"job_wakeups", job_wakeups},
                      {"store", describe(store)},
                      {"process",
                       {{"cpu_s", process.cpu_s},
                        {"rss_bytes", process.rss_bytes},
                        {"voluntary_switches", process.voluntary_switches},
                        {"involuntary_switches", process.involuntary_switches}}}};
    return result.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace savegames
