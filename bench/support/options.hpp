// The command line that all programs of the benchmarks share.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace bench {

/// Exit status of a program that does not offer the case it was asked for: a missing row, no error.
inline constexpr int not_offered = 3;

struct options {
    std::string name;                 // --case
    std::uint64_t workers = 1;        // --workers: threads that run tasks, or consume
    std::uint64_t producers = 1;      // --producers: threads that post, outside the runtime
    std::uint64_t consumers = 1;      // --consumers: tasks that receive
    std::uint64_t count = 1'000'000;  // --count: tasks a producer, or hops a chain
    std::uint64_t chains = 1;         // --chains
    std::uint64_t work_ns = 0;        // --work_ns: CPU time that each task burns
    std::uint64_t span_ms = 20;       // --span_ms: the longest time that a sleeper sleeps
    std::uint64_t claim = 1;          // --claim: the most that a consumer takes at once
    std::uint64_t connections = 1;    // --connections: that say something
    std::uint64_t idle = 0;           // --idle: connections that do not
    std::uint64_t size = 64;          // --size: bytes of a message
    std::uint64_t in_flight = 1;      // --in_flight: messages of a connection that are on their way
};

[[noreturn]] inline void usage_error(const std::string& what) {
    std::fprintf(stderr, "%s\n", what.c_str());
    std::exit(64);
}

inline std::uint64_t parse_number(std::string_view option, const char* text) {
    char* end = nullptr;
    const std::uint64_t value = std::strtoull(text, &end, 10);
    if (*text == '\0' || *end != '\0') usage_error(std::string{option} + " needs a number");
    return value;
}

inline options parse(int argc, char** argv) {
    options result;
    struct {
        std::string_view option;
        std::uint64_t& value;
    } const numbers[] = {
        {"--workers", result.workers},
        {"--producers", result.producers},
        {"--consumers", result.consumers},
        {"--count", result.count},
        {"--chains", result.chains},
        {"--work_ns", result.work_ns},
        {"--span_ms", result.span_ms},
        {"--claim", result.claim},
        {"--connections", result.connections},
        {"--idle", result.idle},
        {"--size", result.size},
        {"--in_flight", result.in_flight},
    };
    for (int i = 1; i < argc; i += 2) {
        const std::string_view option = argv[i];
        if (i + 1 == argc) usage_error(std::string{option} + " needs a value");
        bool known = option == "--case";
        if (known) result.name = argv[i + 1];
        for (const auto& number : numbers) {
            if (option != number.option) continue;
            number.value = parse_number(option, argv[i + 1]);
            known = true;
        }
        if (!known) usage_error("unknown option " + std::string{option});
    }
    if (result.name.empty()) usage_error("--case NAME is needed");
    return result;
}

}  // namespace bench
