// What a run measured, and how it is printed: one JSON object on a line.
#pragma once

#include "support/clock.hpp"
#include "support/options.hpp"

#include <cstdint>
#include <cstdio>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace bench {

/// What a run measured besides its value: a percentile, a cost.
struct side_value {
    const char* name;
    double value;
    const char* unit;
};

/// What a run measured along something, as a curve of the plot.
struct profile {
    const char* along = "";
    const char* what = "";  // with its unit
    std::vector<std::pair<double, double>> points;
};

struct measurement {
    double value = 0;
    const char* unit = "ns";
    double cpu_seconds = 0;
    std::uint64_t items = 0;  // tasks, hops or queue items of the run

    /// If `value` is a small difference: what it was taken from. How steady a run was is judged by
    /// it.
    std::optional<double> total = std::nullopt;

    /// How often a thread had to wait for a mutex, or lost an exchange, where that was counted.
    std::optional<std::uint64_t> contended = std::nullopt;

    std::vector<side_value> beside = {};

    /// Of the server, where it is another process.
    std::optional<std::uint64_t> memory_bytes = std::nullopt;

    /// Without points: there is none.
    bench::profile profile = {};

    /// Empty, or why the run is void: an item was lost, or came twice.
    std::string failure = {};
};

/// Wall and CPU time since construction.
class stopwatch {
public:
    [[nodiscard]] std::uint64_t began_ns() const noexcept { return began_ns_; }

    [[nodiscard]] measurement per_item(std::uint64_t items) const {
        const auto elapsed = static_cast<double>(now_ns() - began_ns_);
        return {.value = elapsed / static_cast<double>(items),
                .cpu_seconds = process_cpu_seconds() - began_cpu_,
                .items = items};
    }

private:
    double began_cpu_ = process_cpu_seconds();
    std::uint64_t began_ns_ = now_ns();
};

inline void print(const char* workload, const char* runtime, const options& asked,
                  const measurement& found) {
    std::printf(
        "{\"workload\": \"%s\", \"case\": \"%s\", \"runtime\": \"%s\", \"value\": %.4f, "
        "\"unit\": \"%s\", \"cpu_seconds\": %.6f, \"items\": %llu, ",
        workload, asked.name.c_str(), runtime, found.value, found.unit, found.cpu_seconds,
        static_cast<unsigned long long>(found.items));
    if (found.contended.has_value()) {
        std::printf("\"contended\": %llu, ", static_cast<unsigned long long>(*found.contended));
    }
    if (found.total.has_value()) std::printf("\"total\": %.4f, ", *found.total);
    if (!found.beside.empty()) {
        const char* before = "\"beside\": {";
        for (const side_value& each : found.beside) {
            std::printf("%s\"%s\": [%.4f, \"%s\"]", before, each.name, each.value, each.unit);
            before = ", ";
        }
        std::printf("}, ");
    }
    if (!found.profile.points.empty()) {
        std::printf("\"profile\": {\"along\": \"%s\", \"what\": \"%s\", \"points\": ",
                    found.profile.along, found.profile.what);
        char before = '[';
        for (const auto& [at, value] : found.profile.points) {
            std::printf("%c[%g, %.4f]", before, at, value);
            before = ',';
        }
        std::printf("]}, ");
    }
    std::printf("\"peak_rss_bytes\": %llu}\n",
                static_cast<unsigned long long>(found.memory_bytes.value_or(peak_rss_bytes())));
}

/// The body of every main: parses, measures once, prints. `measure` returns nothing for a case that
/// this program does not have.
inline int run_main(int argc, char** argv, const char* workload, const char* runtime,
                    const std::function<std::optional<measurement>(const options&)>& measure) {
    const options asked = parse(argc, argv);
    const std::optional<measurement> found = measure(asked);
    if (!found.has_value()) {
        std::fprintf(stderr, "%s does not offer %s\n", runtime, asked.name.c_str());
        return not_offered;
    }
    if (!found->failure.empty()) {
        std::fprintf(stderr, "%s: %s\n", asked.name.c_str(), found->failure.c_str());
        return 1;
    }
    print(workload, runtime, asked, *found);
    return 0;
}

}  // namespace bench
