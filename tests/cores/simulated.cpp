// The simulated machine: see machine.hpp.
#include "cores/machine.hpp"
#include "cores/simulation.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>

namespace fairlead::cores {
namespace {

costs machine;
std::unique_ptr<simulation> here;

bool in_window = false;
waits in_window_waits;
double window_begin = 0;
double window = 0;
std::size_t workers_of_run = 0;

// At the end of the window.
traffic moved;
uses spent;
std::vector<lines::part_counts> of_parts;
std::uint64_t switches = 0;

std::string member(const char* name, double value) {
    std::array<char, 64> text;
    std::snprintf(text.data(), text.size(), ", \"%s\": %.6g", name, value);
    return text.data();
}

}  // namespace

bool set(std::string_view name, double value) {
    for (const costs::named& each : costs::all) {
        if (each.name != name) continue;
        machine.*each.value = value;
        return true;
    }
    return false;
}

void run(std::size_t workers, std::function<void()> body) {
    workers_of_run = workers;
    here = std::make_unique<simulation>(machine, workers);
    here->run([&body] { body(); });
    switches = here->switches();
}

// The clock is read in the middle of the call.
std::int64_t now() noexcept {
    here->spend(machine.clock / 2);
    const auto at = static_cast<std::int64_t>(here->now());
    here->spend(machine.clock / 2);
    return at;
}

// It sees the end by half of a reading too late.
std::int64_t work_until(std::int64_t end) noexcept {
    here->step(std::max(static_cast<double>(end) - here->now(), 0.0) + machine.clock / 2);
    const auto at = static_cast<std::int64_t>(here->now());
    here->spend(machine.clock / 2);
    return at;
}

void count_wait(std::int64_t ns) noexcept {
    if (in_window) in_window_waits.add(ns);
}

void name_tasks(const void* at, std::size_t size) { here->lines().name(at, size, "tasks"); }

void begin_window() {
    here->forget_counts();
    window_begin = here->now();
    in_window = true;
}

void end_window() {
    in_window = false;
    window = here->now() - window_begin;
    moved = here->traffic_of_all();
    spent = here->uses_of_workers();
    of_parts = here->lines().parts();
}

waits waits_of_all() { return in_window_waits; }

std::string print_window() {
    const double time = window * static_cast<double>(workers_of_run);
    std::string text = member("accesses", static_cast<double>(moved.accesses)) +
                       member("changes", static_cast<double>(moved.changes)) +
                       member("near", static_cast<double>(moved.near)) +
                       member("far", static_cast<double>(moved.far)) +
                       member("remote", static_cast<double>(moved.remote)) +
                       member("stepping", spent.stepping / time) +
                       member("sleeping", spent.sleeping / time) +
                       member("searching", spent.searching / time) +
                       member("switches", static_cast<double>(switches));
    text += ", \"parts\": {";
    const char* separator = "";
    for (const lines::part_counts& each : of_parts) {
        if (each.fetches == 0 && each.changes == 0) continue;
        std::array<char, 160> line;
        std::snprintf(line.data(), line.size(),
                      "%s\"%s\": {\"changes\": %llu, \"fetches\": %llu, \"waited\": %.5g}",
                      separator, each.name.c_str(), static_cast<unsigned long long>(each.changes),
                      static_cast<unsigned long long>(each.fetches), each.waited / time);
        text += line.data();
        separator = ", ";
    }
    return text + "}";
}

}  // namespace fairlead::cores
