// Reports of steps that block: without a stack before `enable_stacks`, with their calls afterwards.
#include <fairlead/diagnostics/enable_stacks.hpp>

#include "diagnostics/stacks.hpp"
#include "sched/block/stack_reader.hpp"
#include "support/printed_report.hpp"
#include "support/threads.hpp"
#include "support/watchdog.hpp"

#include <fairlead/sched/blocked_step.hpp>
#include <fairlead/sched/callback_task.hpp>
#include <fairlead/sched/scheduler.hpp>
#include <fairlead/sched/task_name.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace fairlead::enable_stacks_tests {
namespace {

using namespace std::chrono_literals;

// Waits for the next report in functions that record their return addresses.
template <std::size_t Level = test::return_addresses::depth - 1>
[[gnu::noinline]] void wait_in_functions(std::atomic<int>& reports, int seen,
                                         test::return_addresses& noted) {
    FAIRLEAD_TEST_NOTE_RETURN(noted, Level);
    if constexpr (Level == 0) {
        reports.wait(seen);
    } else {
        wait_in_functions<Level - 1>(reports, seen, noted);
    }
    test::use(&reports);
}

// What is in the stack of a report.
enum class contents : std::uint8_t { nothing, the_calls, something_else };

// A scheduler with one worker. Each of its reports needs another name, because each name is
// reported once.
class reporting_scheduler {
public:
    explicit reporting_scheduler(std::optional<duration> blocked_after = 1ms)
        : home_{{.workers = 1,
                 .blocked_after = blocked_after,
                 .on_blocked = [this](const blocked_step& step) noexcept { take(step); }}} {}

    // Runs a step that blocks until it is reported.
    contents report_of(task_name name) {
        callback_task task{
            [this](callback_task&) { wait_in_functions(reports_, reports_.load(), noted_); }, name};
        home_.post(task);
        home_.drain();
        return last_;
    }

private:
    void take(const blocked_step& step) noexcept {
        const bool has_calls = noted_.find_in(step.stack) != step.stack.size();
        last_ = step.stack.empty() ? contents::nothing
                : has_calls        ? contents::the_calls
                                   : contents::something_else;
        ++reports_;
        reports_.notify_one();
    }

    test::return_addresses noted_;
    contents last_ = contents::something_else;
    std::atomic<int> reports_{0};
    scheduler home_;
};

class EnableStacks : public testing::Test {
protected:
    // Another test of this process may have set the reader.
    EnableStacks() { sched::use_stack_reader(nullptr); }
    ~EnableStacks() override { sched::use_stack_reader(nullptr); }

    // What a report says after `enable_stacks`.
    const contents with_stack_ =
        test::system_tells_stacks() ? contents::the_calls : contents::nothing;
    test::watchdog guard_;
};

TEST_F(EnableStacks, AReportHasNoStackBefore) {
    EXPECT_EQ(reporting_scheduler{}.report_of("task"), contents::nothing);
}

TEST_F(EnableStacks, AReportHasItsCallsAfterwards) {
    diagnostics::enable_stacks();
    EXPECT_EQ(reporting_scheduler{}.report_of("task"), with_stack_);
}

// With one worker, and without a wish that its step loses the slot.
TEST_F(EnableStacks, AReportOfAStepThatKeepsItsSlotHasItsCalls) {
    diagnostics::enable_stacks();
    EXPECT_EQ(reporting_scheduler{std::nullopt}.report_of("task"), with_stack_);
}

TEST_F(EnableStacks, TheSecondCallChangesNothing) {
    diagnostics::enable_stacks();
    const sched::stack_reader* const first = sched::current_stack_reader();
    diagnostics::enable_stacks();
    EXPECT_EQ(sched::current_stack_reader(), first);
    EXPECT_EQ(reporting_scheduler{}.report_of("task"), with_stack_);
}

TEST_F(EnableStacks, ASchedulerThatRunsHasStacksFromTheNextReportOn) {
    reporting_scheduler running;
    EXPECT_EQ(running.report_of("first"), contents::nothing);
    diagnostics::enable_stacks();
    EXPECT_EQ(running.report_of("second"), with_stack_);
}

// Two threads call the function while the monitors of two schedulers report.
TEST_F(EnableStacks, MayBeCalledWhileMonitorsReport) {
    std::atomic<int> reports{0};
    test::run_together(4, [&](std::size_t index) {
        if (index % 2 == 0) {
            test::await([&] { return reports >= 2; });
            return diagnostics::enable_stacks();
        }
        reporting_scheduler running;
        bool had_stack = false;
        constexpr std::array<task_name, 8> names{"1", "2", "3", "4", "5", "6", "7", "8"};
        for (const task_name name : names) {
            const contents found = running.report_of(name);
            EXPECT_TRUE(found == with_stack_ || (found == contents::nothing && !had_stack));
            had_stack = found == contents::the_calls;
            ++reports;
        }
    });
    EXPECT_EQ(reporting_scheduler{}.report_of("afterwards"), with_stack_);
}

TEST_F(EnableStacks, TheCallsArePrinted) {
    diagnostics::enable_stacks();
    const std::string report = test::printed_report();
    EXPECT_TRUE(report.starts_with("fairlead: a step of the task \"posted callable\" blocks, "))
        << report;
    EXPECT_FALSE(report.contains("enable_stacks")) << report;
    if (test::system_tells_stacks()) {
        EXPECT_TRUE(report.contains("diagnostics_test+0x")) << report;
        EXPECT_TRUE(report.contains("/libc.so.6+0x")) << report;
    }
}

}  // namespace
}  // namespace fairlead::enable_stacks_tests
