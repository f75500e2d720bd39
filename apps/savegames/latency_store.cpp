#include "savegames/latency_store.hpp"

#include <fairlead/coro/adapted_wait.hpp>
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/spawn.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include <fmt/format.h>

namespace savegames {

namespace fl = fairlead;

namespace {

std::unexpected<std::string> wrong(std::string_view text) {
    return std::unexpected(fmt::format(
        "\"{}\" is not a latency: write a median of at most 60 s, such as \"5ms\", \"800us\" or "
        "\"0.2s\", and then, if you like, a sigma of 0 to 3, as in \"5ms,0.5\"",
        text));
}

// Takes a number off the front of `text`.
bool take_number(std::string_view& text, double& value) {
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (code != std::errc{} || !std::isfinite(value) || value < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return true;
}

// Gives an answer at `when`, or at once when the task is stopped. `inside` ends after `done`.
template <class Inside, class T>
fl::task<> answer_at(time_point when, Inside inside, completion<T> done,
                     std::expected<T, error> result) {
    static_cast<void>(co_await fl::as_result(fl::sleep_until(when)));
    std::exchange(done, nullptr)(std::move(result));
    static_cast<void>(inside);
}

}  // namespace

std::expected<latency_profile, std::string> parse_latency(std::string_view text) {
    std::string_view rest = text;
    latency_profile result;
    double median = 0;
    if (!take_number(rest, median)) return wrong(text);
    const std::string_view unit = rest.substr(0, rest.find(','));
    rest.remove_prefix(unit.size());
    double ns_per_unit = 0;
    if (unit == "us") ns_per_unit = 1e3;
    if (unit == "ms") ns_per_unit = 1e6;
    if (unit == "s") ns_per_unit = 1e9;
    if (unit.empty() && median == 0) ns_per_unit = 1;
    if (ns_per_unit == 0 || median * ns_per_unit > 60e9) return wrong(text);
    if (!rest.empty()) {
        rest.remove_prefix(1);
        if (!take_number(rest, result.sigma) || !rest.empty() || result.sigma > 3)
            return wrong(text);
    }
    result.median = std::chrono::nanoseconds{std::llround(median * ns_per_unit)};
    return result;
}

latency_store::latency_store(profile_store& profiles, blob_store& blobs, latency_profile latency,
                             std::uint64_t seed)
    : profiles_{profiles}, blobs_{blobs}, latency_{latency}, random_{seed} {}

latency_store::~latency_store() {
    no_delay_.request_stop();
    static_cast<void>(under_way_.close_blocking());
}

std::chrono::nanoseconds latency_store::draw() {
    if (latency_.sigma == 0) return latency_.median;
    double normal = 0;
    {
        const std::lock_guard lock{random_mutex_};
        normal = std::normal_distribution<double>{}(random_);
    }
    const double factor = std::min(std::exp(latency_.sigma * normal), 100.0);
    return std::chrono::nanoseconds{
        std::llround(static_cast<double>(latency_.median.count()) * factor)};
}

template <class T>
completion<T> latency_store::delayed(completion<T> done) {
    return [this, inside = under_way_.try_concurrent(), delay = draw(),
            done = std::move(done)](std::expected<T, error> result) mutable {
        fl::spawn(
            answers_,
            answer_at(clock::now() + delay, std::move(inside), std::move(done), std::move(result)),
            {.name = "late answer", .stop = no_delay_.get_token(), .detached = true})
            .detach();
    };
}

void latency_store::acquire(const profile_key& key, owner_token owner,
                            std::chrono::milliseconds lease, completion<lock_result> done) {
    profiles_.acquire(key, owner, lease, delayed(std::move(done)));
}

void latency_store::release(const profile_key& key, owner_token owner, completion<void> done) {
    profiles_.release(key, owner, delayed(std::move(done)));
}

void latency_store::get(const profile_key& key, time_point deadline, completion<save> done) {
    blobs_.get(key, deadline, delayed(std::move(done)));
}

void latency_store::put(const profile_key& key, const write_condition& condition, save value,
                        completion<std::uint64_t> done) {
    blobs_.put(key, condition, std::move(value), delayed(std::move(done)));
}

void latency_store::erase(const profile_key& key, const write_condition& condition,
                          completion<void> done) {
    blobs_.erase(key, condition, delayed(std::move(done)));
}

}  // namespace savegames
