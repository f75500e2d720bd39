#include "savegames/load/statistics.hpp"

#include <utility>

namespace savegames::load {

latency_histogram totals::all_latencies() const {
    latency_histogram all;
    for (const latency_histogram& each : latencies) all.merge(each);
    return all;
}

void totals::add(const totals& other) {
    for (std::size_t i = 0; i < latencies.size(); ++i) latencies[i].merge(other.latencies[i]);
    good += other.good;
    absent += other.absent;
    errors += other.errors;
    wrong += other.wrong;
    for (const auto& [kind, count] : other.errors_by_kind) errors_by_kind[kind] += count;
    details.insert(details.end(), other.details.begin(), other.details.end());
    bytes_sent += other.bytes_sent;
    bytes_received += other.bytes_received;
}

statistics::statistics() {
    for (std::size_t i = 0; i < shard_count; ++i) shards_.push_back(std::make_unique<shard>());
}

void statistics::record(std::size_t connection, operation_kind kind,
                        std::chrono::nanoseconds latency, const outcome& ended) {
    shard& mine = shard_of(connection);
    const std::lock_guard lock{mine.mutex};
    totals& counted = mine.counted;
    switch (ended.what) {
        case outcome::verdict::good:
            ++counted.good;
            break;
        case outcome::verdict::absent:
            ++counted.absent;
            break;
        case outcome::verdict::wrong:
            ++counted.wrong;
            if (counted.details.size() < details_max) counted.details.push_back(ended.detail);
            [[fallthrough]];
        case outcome::verdict::error:
            ++counted.errors;
            ++counted.errors_by_kind[ended.error_kind];
            return;
    }
    counted.latencies[std::to_underlying(kind)].record(latency);
}

void statistics::add_bytes(std::size_t connection, std::uint64_t sent, std::uint64_t received) {
    shard& mine = shard_of(connection);
    const std::lock_guard lock{mine.mutex};
    mine.counted.bytes_sent += sent;
    mine.counted.bytes_received += received;
}

statistics::progress statistics::so_far() const {
    progress sum;
    for (const auto& each : shards_) {
        const std::lock_guard lock{each->mutex};
        sum.done += each->counted.done();
        sum.errors += each->counted.errors;
    }
    return sum;
}

totals statistics::collect() const {
    totals sum;
    for (const auto& each : shards_) {
        const std::lock_guard lock{each->mutex};
        sum.add(each->counted);
    }
    if (sum.details.size() > details_max) sum.details.resize(details_max);
    return sum;
}

}  // namespace savegames::load
