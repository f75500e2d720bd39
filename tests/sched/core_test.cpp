// The options that a scheduler refuses, and how it uses those that it accepts.
#include "sched/runtime/core.hpp"

#include "support/tasks.hpp"
#include "support/watchdog.hpp"

#include <fairlead/detail/os/cpu.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <stdexcept>
#include <string>

namespace fairlead::core_tests {
namespace {

using namespace std::chrono_literals;

std::string refusal(const std::function<void(scheduler_options&)>& change) {
    scheduler_options options;
    options.workers = 1;
    change(options);
    try {
        scheduler refused{std::move(options)};
    } catch (const std::invalid_argument& failure) {
        return failure.what();
    }
    return "accepted";
}

void expect_names(const std::string& message, const std::string& field, const std::string& range) {
    EXPECT_NE(message.find(field), std::string::npos) << message;
    EXPECT_NE(message.find(range), std::string::npos) << message;
}

TEST(Options, WrongValuesAreRefusedWithFieldAndRange) {
    expect_names(refusal([](auto& o) { o.workers = 1'001; }), "options.workers", "0 to 1000");
    expect_names(refusal([](auto& o) {
                     o.run_on_caller = true;
                     o.workers = 2;
                 }),
                 "options.workers", "0 or 1");
    expect_names(refusal([](auto& o) { o.round_interval = 9us; }), "round_interval",
                 "10 us to 10 s");
    expect_names(refusal([](auto& o) { o.round_interval = 10s + 1ns; }), "round_interval",
                 "10 us to 10 s");
    expect_names(refusal([](auto& o) { o.round_interval = duration::min(); }), "round_interval",
                 "10 us to 10 s");
    expect_names(refusal([](auto& o) { o.stop_limit = -1ns; }), "stop_limit", "negative");
    expect_names(refusal([](auto& o) { o.policy = static_cast<policy>(2); }), "policy",
                 "fair or stealing");
    expect_names(refusal([](auto& o) { o.spin = -1ns; }), "options.spin", "0 to 1 s");
    expect_names(refusal([](auto& o) { o.spin = 1s + 1ns; }), "options.spin", "0 to 1 s");
}

TEST(Options, TheEndsOfTheRangesAreAccepted) {
    test::watchdog guard;
    EXPECT_EQ(refusal([](auto& o) { o.round_interval = 10us; }), "accepted");
    EXPECT_EQ(refusal([](auto& o) { o.round_interval = 10s; }), "accepted");
    EXPECT_EQ(refusal([](auto& o) { o.stop_limit = 0s; }), "accepted");
    EXPECT_EQ(refusal([](auto& o) { o.spin = 0s; }), "accepted");
    EXPECT_EQ(refusal([](auto& o) { o.spin = 1s; }), "accepted");
    EXPECT_EQ(refusal([](auto& o) { o.stop_limit = duration::max(); }), "accepted");
    EXPECT_EQ(refusal([](auto& o) { o.name = ""; }), "accepted");
    EXPECT_EQ(refusal([](auto& o) { o.name = std::string(1'000, 'x'); }), "accepted");
    EXPECT_EQ(refusal([](auto& o) {
                  o.run_on_caller = true;
                  o.workers = 0;
              }),
              "accepted");
}

TEST(Options, NoWorkersMeansOneForEachProcessor) {
    test::watchdog guard;
    const scheduler scheduler{{.workers = 0}};
    EXPECT_EQ(scheduler.workers(), os::available_cpus());
}

TEST(Options, ManyMoreWorkersThanProcessorsWork) {
    test::watchdog guard;
    scheduler scheduler{{.workers = 100}};
    EXPECT_EQ(scheduler.workers(), 100U);
    std::atomic<int> runs{0};
    for (int i = 0; i != 1'000; ++i) scheduler.post([&runs] { ++runs; });
    scheduler.drain();
    EXPECT_EQ(runs, 1'000);
}

TEST(Options, TheDriverAndTheClockArePassedIn) {
    test::simulation sim;
    EXPECT_EQ(&sim.scheduler.driver(), sim.driver);
    EXPECT_EQ(sim.scheduler.now(), sim.clock.now());
    sim.clock.advance(1h);
    EXPECT_EQ(sim.scheduler.now(), sim.clock.now());
}

TEST(StopReport, IsOneLine) {
    stop_report report;
    EXPECT_TRUE(report.clean());
    EXPECT_EQ(report.to_string(), "nothing left");
    report.waiting = 2;
    report.tasks = {{"session", "waiting"}, {"session", "waiting"}, {"upload", "running"}};
    report.running = 1;
    EXPECT_FALSE(report.clean());
    EXPECT_EQ(report.to_string(), "2 waiting (session, session), 1 running (upload)");
}

TEST(StopReport, IsCutWhenThereAreMany) {
    stop_report report;
    report.queued = 7;
    for (int i = 0; i != 7; ++i) report.tasks.push_back({"t", "queued"});
    EXPECT_EQ(report.to_string(), "7 queued (t, t, t, t, t, ...)");
}

}  // namespace
}  // namespace fairlead::core_tests
