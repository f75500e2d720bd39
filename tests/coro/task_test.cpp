// `task<T>` inside one root: results, laziness, depth.
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/coro/task.hpp>

#include "support/probes.hpp"

#include <gtest/gtest.h>

#include <expected>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace fairlead::task_tests {
namespace {

using test::counted;
using test::journal;
using test::move_only;
using test::obituary;

// Runs a coroutine to its end on this thread.
template <class T>
T run(task<T> body) {
    scheduler here{{.run_on_caller = true}};
    return block_on(here, std::move(body));
}

// --- results -------------------------------------------------------------------------------------

task<int> number(int value) { co_return value; }
task<> nothing() { co_return; }
task<move_only> movable(int value) { co_return move_only{value}; }
task<int&> reference(int& to) { co_return to; }
task<const std::string&> constant(const std::string& to) { co_return to; }
task<std::string> converted() { co_return "a literal"; }
task<std::exception_ptr> an_exception_as_value() {
    co_return std::make_exception_ptr(std::logic_error{"a value"});
}
task<> throws(std::string what) {
    throw std::runtime_error{what};
    co_return;
}
task<std::expected<int, std::errc>> expected(bool good) {
    if (!good) co_return std::unexpected{std::errc::timed_out};
    co_return 7;
}

TEST(task, gives_a_value) { EXPECT_EQ(run(number(42)), 42); }

TEST(task, gives_nothing) { run(nothing()); }

TEST(task, gives_what_can_only_be_moved) {
    EXPECT_EQ(run(movable(5)).value, 5);
    constexpr auto through = []() -> task<move_only> { co_return co_await movable(6); };
    EXPECT_EQ(run(through()).value, 6);
}

TEST(task, gives_a_reference_to_the_very_object) {
    int object = 1;
    EXPECT_EQ(&run(reference(object)), &object);
    constexpr auto through = [](int& to) -> task<> {
        int& got = co_await reference(to);
        got = 2;
    };
    run(through(object));
    EXPECT_EQ(object, 2);
    const std::string text{"kept"};
    EXPECT_EQ(&run(constant(text)), &text);
}

TEST(task, converts_what_is_returned) { EXPECT_EQ(run(converted()), "a literal"); }

TEST(task, gives_an_exception_pointer_as_a_value) {
    const std::exception_ptr value = run(an_exception_as_value());
    EXPECT_THROW(std::rethrow_exception(value), std::logic_error);
}

TEST(task, gives_both_sides_of_an_expected) {
    EXPECT_EQ(run(expected(true)), 7);
    EXPECT_EQ(run(expected(false)), std::unexpected{std::errc::timed_out});
}

TEST(task, throws_where_it_is_awaited) {
    constexpr auto catches = []() -> task<std::string> {
        try {
            co_await throws("from below");
        } catch (const std::runtime_error& caught) {
            co_return caught.what();
        }
        co_return "nothing was thrown";
    };
    EXPECT_EQ(run(catches()), "from below");
    EXPECT_THROW(run(throws("to the thread")), std::runtime_error);
}

// An exception in return_value is an exception of the task. It does not end the program.
struct throws_when_moved {
    throws_when_moved() = default;
    throws_when_moved(throws_when_moved&&) { throw std::domain_error{"moved"}; }
};
task<throws_when_moved> bad_result() { co_return throws_when_moved{}; }

TEST(task, reports_a_result_that_cannot_be_stored) {
    EXPECT_THROW(run(bad_result()), std::domain_error);
}

// --- life ----------------------------------------------------------------------------------------

task<> notes(journal& into, obituary) {
    into.add("ran");
    co_return;
}

TEST(task, starts_only_when_awaited) {
    journal log;
    constexpr auto later = [](journal& into) -> task<> {
        task<> made = notes(into, obituary{into, "parameter"});
        into.add("made");
        co_await std::move(made);
        into.add("awaited");
    };
    run(later(log));
    EXPECT_EQ(log.entries(), (std::vector<std::string>{"made", "ran", "parameter", "awaited"}));
}

TEST(task, that_never_started_only_frees_its_parameters) {
    journal log;
    { const task<> made = notes(log, obituary{log, "parameter"}); }
    EXPECT_EQ(log.entries(), std::vector<std::string>{"parameter"});
}

TEST(task, replaces_what_it_held_when_assigned) {
    journal log;
    task<> first = notes(log, obituary{log, "first"});
    task<> second = notes(log, obituary{log, "second"});
    first = std::move(second);
    EXPECT_EQ(log.entries(), std::vector<std::string>{"first"});
    EXPECT_TRUE(first.valid());
    EXPECT_FALSE(second.valid());
}

TEST(task, frees_frames_from_the_inside_when_it_throws) {
    journal log;
    static constexpr auto inner = [](journal& into) -> task<> {
        const obituary local{into, "inner"};
        co_await nothing();
        throw std::runtime_error{"inner"};
    };
    static constexpr auto middle = [](journal& into) -> task<> {
        const obituary local{into, "middle"};
        co_await inner(into);
        into.add("not reached");
    };
    EXPECT_THROW(run(middle(log)), std::runtime_error);
    EXPECT_EQ(log.entries(), (std::vector<std::string>{"inner", "middle"}));
}

TEST(task, frees_every_frame_in_a_loop_of_calls) {
    std::atomic<int> alive{0};
    static constexpr auto one = [](counted held) -> task<int> {
        static_cast<void>(held);
        co_return 1;
    };
    constexpr auto many = [](std::atomic<int>& count) -> task<int> {
        int sum = 0;
        for (int i = 0; i != 100; ++i) {
            sum += co_await one(counted{count});
            EXPECT_EQ(count, 0);
        }
        co_return sum;
    };
    EXPECT_EQ(run(many(alive)), 100);
}

using task_death_test = testing::Test;

TEST(task_death_test, awaiting_an_empty_task_says_so) {
    testing::FLAGS_gtest_death_test_style = "threadsafe";
    constexpr auto bad = []() -> task<> { co_await task<>{}; };
    EXPECT_DEATH(run(bad()), "an empty task was awaited");
}

// --- depth ---------------------------------------------------------------------------------------

constexpr int many = 1'000'000;

task<int> nested(int depth) {
    if (depth == 0) co_return 0;
    co_return 1 + co_await nested(depth - 1);
}

// Each level suspends before it returns, so the root resumes each level on the way up.
task<int> nested_to_a_yield(int depth) {
    if (depth == 0) {
        co_await yield();
        co_return 0;
    }
    co_return 1 + co_await nested_to_a_yield(depth - 1);
}

task<int> nested_to_a_throw(int depth) {
    if (depth == 0) throw std::runtime_error{"the bottom"};
    co_return 1 + co_await nested_to_a_throw(depth - 1);
}

task<long> sequential(int count) {
    long sum = 0;
    for (int i = 0; i != count; ++i) sum += co_await number(i);
    co_return sum;
}

task<int> caught_in_turn(int count) {
    int caught = 0;
    for (int i = 0; i != count; ++i) {
        try {
            co_await throws("again");
        } catch (const std::runtime_error&) {
            ++caught;
        }
    }
    co_return caught;
}

TEST(task_depth, a_million_nested_awaits) { EXPECT_EQ(run(nested(many)), many); }

TEST(task_depth, a_million_frames_above_a_suspension) {
    EXPECT_EQ(run(nested_to_a_yield(many)), many);
}

TEST(task_depth, a_million_awaits_in_a_row) {
    EXPECT_EQ(run(sequential(many)), static_cast<long>(many) * (many - 1) / 2);
}

TEST(task_depth, an_exception_through_many_frames) {
    EXPECT_THROW(run(nested_to_a_throw(20'000)), std::runtime_error);
}

TEST(task_depth, many_exceptions_in_a_row) { EXPECT_EQ(run(caught_in_turn(20'000)), 20'000); }

TEST(task_depth, on_a_worker_thread_whose_stack_is_small) {
    scheduler threads{{.workers = 1}};
    EXPECT_EQ(block_on(threads, nested(many)), many);
    EXPECT_EQ(block_on(threads, sequential(many)), static_cast<long>(many) * (many - 1) / 2);
}

}  // namespace
}  // namespace fairlead::task_tests
