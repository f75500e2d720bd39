// This machine, to compare with: see machine.hpp.
#include "cores/machine.hpp"

#include <atomic>
#include <chrono>
#include <ctime>
#include <memory>
#include <mutex>
#include <vector>

namespace fairlead::cores {
namespace {

std::atomic<bool> in_window{false};

std::mutex mutex;
std::vector<std::unique_ptr<waits>> of_threads;  // guarded by mutex

waits& waits_here() {
    thread_local waits* const mine = [] {
        const std::lock_guard lock{mutex};
        return of_threads.emplace_back(std::make_unique<waits>()).get();
    }();
    return *mine;
}

// What the process has had of the processors, and in the end what it had in the window.
std::int64_t used = 0;

std::int64_t used_ns() noexcept {
    std::timespec time{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

bool set(std::string_view, double) { return false; }

void run(std::size_t, std::function<void()> body) { body(); }

std::int64_t now() noexcept { return std::chrono::steady_clock::now().time_since_epoch().count(); }

std::int64_t work_until(std::int64_t end) noexcept {
    for (;;) {
        const std::int64_t at = now();
        if (at >= end) return at;
    }
}

void count_wait(std::int64_t ns) noexcept {
    if (in_window.load(std::memory_order_relaxed)) waits_here().add(ns);
}

void name_tasks(const void*, std::size_t) {}
void name_parts() {}

void begin_window() {
    used = used_ns();
    in_window.store(true, std::memory_order_relaxed);
}
void end_window() {
    in_window.store(false, std::memory_order_relaxed);
    used = used_ns() - used;
}

// The workers have ended.
waits waits_of_all() {
    const std::lock_guard lock{mutex};
    waits all;
    for (const auto& each : of_threads) all.add(*each);
    return all;
}

std::string print_window() { return ", \"used\": " + std::to_string(used); }

}  // namespace fairlead::cores
