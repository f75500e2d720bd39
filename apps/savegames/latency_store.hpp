// A store that makes the stores behind it answer as late as remote ones: `--store-latency`.
//
// Each operation is carried out at once, and its answer sleeps as a task of a scheduler of the
// store; no thread waits for an answer.
#pragma once

#include <fairlead/coro/task.hpp>
#include <fairlead/message/gate.hpp>
#include <fairlead/sched/scheduler.hpp>

#include <chrono>
#include <cstdint>
#include <expected>
#include <mutex>
#include <random>
#include <stop_token>
#include <string>
#include <string_view>

#include "savegames/store.hpp"

namespace savegames {

// A log-normal distribution of latencies. With sigma 0, every latency is the median.
struct latency_profile {
    std::chrono::nanoseconds median{0};
    double sigma = 0;  // of the logarithm: with 0.3, p99 is 2 medians; with 0.5, 3.2 medians
};

// Parses "MEDIAN" or "MEDIAN,SIGMA": "5ms", "800us", "0.2s", "5ms,0.5". The median is at most 60 s;
// sigma is 0 to 3. The error is a sentence for a person.
[[nodiscard]] std::expected<latency_profile, std::string> parse_latency(std::string_view text);

class latency_store final : public profile_store, public blob_store {
public:
    // The stores outlive this object. Equal seeds draw equal latencies, in the order of the calls.
    latency_store(profile_store& profiles, blob_store& blobs, latency_profile latency,
                  std::uint64_t seed = 1);

    // Gives the answers that are held back, without their delay, and waits until the inner stores
    // have answered every operation. Blocks. Not on a thread that runs a callback of a store.
    ~latency_store() override;

    void acquire(const profile_key& key, owner_token owner, std::chrono::milliseconds lease,
                 completion<lock_result> done) override;
    void release(const profile_key& key, owner_token owner, completion<void> done) override;
    void get(const profile_key& key, time_point deadline, completion<save> done) override;
    void put(const profile_key& key, const write_condition& condition, save value,
             completion<std::uint64_t> done) override;
    void erase(const profile_key& key, const write_condition& condition,
               completion<void> done) override;

    // The latency of the next operation; at most 100 medians. Any thread.
    [[nodiscard]] std::chrono::nanoseconds draw();

private:
    template <class T>
    completion<T> delayed(completion<T> done);

    profile_store& profiles_;
    blob_store& blobs_;
    const latency_profile latency_;
    std::mutex random_mutex_;
    std::mt19937_64 random_;
    fairlead::gate under_way_;   // an operation is inside until its answer was given
    std::stop_source no_delay_;  // stops the answers that sleep, and those that come
    fairlead::scheduler answers_{{.workers = 1}};
};

}  // namespace savegames
