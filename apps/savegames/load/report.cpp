#include "savegames/load/report.hpp"

#include <array>
#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace savegames::load {
namespace {

constexpr std::array<std::pair<const char*, double>, 5> quantiles{
    {{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p99.9", 0.999}, {"max", 1}}};

double in_ms(std::chrono::nanoseconds time) {
    return std::chrono::duration<double, std::milli>(time).count();
}

double per_second(std::uint64_t count, const run_result& result) {
    return result.elapsed_s > 0 ? static_cast<double>(count) / result.elapsed_s : 0;
}

std::string human_bytes(std::uint64_t bytes) {
    constexpr std::array units{"B", "KB", "MB", "GB", "TB"};
    auto value = static_cast<double>(bytes);
    std::size_t unit = 0;
    while (value >= 1000 && unit + 1 < units.size()) {
        value /= 1000;
        ++unit;
    }
    return fmt::format("{:.4g} {}", value, units[unit]);
}

void append_latencies(std::string& text, const char* name, const latency_histogram& latencies) {
    fmt::format_to(std::back_inserter(text), "  {:<8}{:>10}", name, latencies.count());
    for (const auto& [label, share] : quantiles) {
        fmt::format_to(std::back_inserter(text), "{:>11.2f}", in_ms(latencies.quantile(share)));
    }
    text += '\n';
}

nlohmann::json latencies_json(const latency_histogram& latencies) {
    nlohmann::json all{{"mean", in_ms(latencies.mean())}};
    for (const auto& [label, share] : quantiles) all[label] = in_ms(latencies.quantile(share));
    return all;
}

}  // namespace

std::string text_report(const load_options& options, const run_result& result) {
    const totals& counted = result.counted;
    std::string text;
    auto out = std::back_inserter(text);
    if (result.preloaded > 0) fmt::format_to(out, "preloaded {} saves\n", result.preloaded);
    const std::string loop =
        options.rate > 0 ? fmt::format("{:g} requests/s wanted", options.rate) : "closed loop";
    fmt::format_to(out, "{:.2f} s, {} connections, {}\n", result.elapsed_s, options.connections,
                   loop);
    fmt::format_to(out, "requests/s  {:.1f}\n", per_second(counted.done(), result));
    fmt::format_to(out, "  {:<8}{:>10}", "", "requests");
    for (const auto& [label, share] : quantiles) {
        fmt::format_to(out, "{:>11}", fmt::format("{} ms", label));
    }
    text += '\n';
    append_latencies(text, "all", counted.all_latencies());
    for (std::size_t i = 0; i < operation_kinds; ++i) {
        if (counted.latencies[i].count() == 0) continue;
        append_latencies(text, to_string(static_cast<operation_kind>(i)), counted.latencies[i]);
    }
    fmt::format_to(out, "sent {}, received {}\n", human_bytes(counted.bytes_sent),
                   human_bytes(counted.bytes_received));
    if (counted.absent > 0) {
        fmt::format_to(out, "{} requests found that the save was deleted (404)\n", counted.absent);
    }
    fmt::format_to(out, "errors      {}\n", counted.errors);
    for (const auto& [kind, count] : counted.errors_by_kind) {
        fmt::format_to(out, "  {:<24}{:>10}\n", kind, count);
    }
    for (const std::string& detail : counted.details) fmt::format_to(out, "  {}\n", detail);
    return text;
}

std::string json_report(const load_options& options, const run_result& result) {
    const totals& counted = result.counted;
    nlohmann::json operations = nlohmann::json::object();
    for (std::size_t i = 0; i < operation_kinds; ++i) {
        operations[to_string(static_cast<operation_kind>(i))] = {
            {"requests", counted.latencies[i].count()},
            {"latency_ms", latencies_json(counted.latencies[i])}};
    }
    const auto contended = counted.errors_by_kind.find("contended");
    const nlohmann::json report{
        {"elapsed_s", result.elapsed_s},
        {"connections", options.connections},
        {"rate_wanted", options.rate},
        {"requests", counted.done()},
        {"rps", per_second(counted.done(), result)},
        {"latency_ms", latencies_json(counted.all_latencies())},
        {"operations", std::move(operations)},
        {"absent", counted.absent},
        {"errors", counted.errors},
        {"errors_by_kind", counted.errors_by_kind},
        {"contended", contended == counted.errors_by_kind.end() ? 0 : contended->second},
        {"verification_errors", counted.wrong},
        {"bytes_sent", counted.bytes_sent},
        {"bytes_received", counted.bytes_received},
        {"preloaded", result.preloaded}};
    return report.dump(2) + "\n";
}

}  // namespace savegames::load
