// The results of requests: latencies, errors by kind, bytes.
//
// Thread-safe: the connections are dealt to shards, each with a mutex. A histogram for each of
// 10,000 connections would take 400 MB.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "savegames/histogram.hpp"
#include "savegames/load/workload.hpp"

namespace savegames::load {

// How one request ended.
struct outcome {
    // An error has a kind, which is its name in the report.
    enum class verdict : std::uint8_t {
        good,
        absent,  // a 404 that the service may give: the save was deleted
        error,
        wrong,  // an error that must never happen: the service broke a promise
    };
    verdict what = verdict::good;
    std::string error_kind{};  // "contended", "status 503", "timed out", ...
    std::string detail{};      // of `wrong`: a sentence
};

struct totals {
    std::array<latency_histogram, operation_kinds> latencies;  // of good and absent answers
    std::uint64_t good = 0;
    std::uint64_t absent = 0;
    std::uint64_t errors = 0;  // also counts the wrong answers
    std::uint64_t wrong = 0;
    std::map<std::string, std::uint64_t> errors_by_kind;
    std::vector<std::string> details;  // of the first wrong answers
    std::uint64_t bytes_sent = 0;
    std::uint64_t bytes_received = 0;

    [[nodiscard]] std::uint64_t done() const noexcept { return good + absent; }
    [[nodiscard]] latency_histogram all_latencies() const;
    void add(const totals& other);
};

class statistics {
public:
    statistics();

    // `connection` is the number of the caller.
    void record(std::size_t connection, operation_kind kind, std::chrono::nanoseconds latency,
                const outcome& ended);
    void add_bytes(std::size_t connection, std::uint64_t sent, std::uint64_t received);

    struct progress {
        std::uint64_t done = 0;
        std::uint64_t errors = 0;
    };
    [[nodiscard]] progress so_far() const;
    [[nodiscard]] totals collect() const;

private:
    static constexpr std::size_t shard_count = 16;
    static constexpr std::size_t details_max = 10;

    struct shard {
        mutable std::mutex mutex;
        totals counted;
    };

    [[nodiscard]] shard& shard_of(std::size_t connection) {
        return *shards_[connection % shard_count];
    }

    std::vector<std::unique_ptr<shard>> shards_;
};

}  // namespace savegames::load
