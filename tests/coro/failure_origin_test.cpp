// Which task an exception came from, through every way from a task to the task that joins it.
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/fork_join.hpp>
#include <fairlead/coro/scope.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/coro/when_all.hpp>
#include <fairlead/coro/with_scope.hpp>

#include "support/simulated.hpp"
#include "support/watchdog.hpp"

#include <gtest/gtest.h>

#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <source_location>
#include <span>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace fairlead::failure_origin_tests {
namespace {

using namespace std::chrono_literals;
using names = std::vector<std::string>;

// The line of the spawn that is written behind it.
unsigned line_of(std::source_location here = std::source_location::current()) {
    return static_cast<unsigned>(here.line());
}

task<> throws(std::string what = "thrown") {
    co_await sleep_for(1s);
    throw std::runtime_error{what};
}

task<> throws_now() {
    throw std::runtime_error{"thrown"};
    co_return;
}
task<> sleep_for_ever() { co_await sleep_until(never); }

class failure_origin_test : public testing::Test {
protected:
    scheduler_options options() {
        scheduler_options made = test::simulated(clock, driver);
        made.on_unhandled = [this](const std::exception_ptr& failure, const failure_origin& from) {
            ++reports;
            tasks.clear();
            for (const failed_task& each : from.tasks()) tasks.emplace_back(each.name);
            spawned_at = from.thrower().spawned_at;
            try {
                std::rethrow_exception(failure);
            } catch (const std::exception& known) {
                what = known.what();
            }
        };
        return made;
    }

    // Runs it as the task "request", whose exception is reported.
    void run(task<> body) {
        spawn(*simulation, std::move(body), {.name = "request"}).detach();
        simulation->drain();
    }

    test::manual_clock clock;
    test::simulated_driver* driver = nullptr;
    std::optional<scheduler> simulation{std::in_place, options()};
    int reports = 0;
    names tasks;  // of the last report
    std::source_location spawned_at;
    std::string what;
};

// --- one task after the other --------------------------------------------------------------------

TEST_F(failure_origin_test, a_task_and_where_it_was_spawned) {
    const unsigned line = line_of() + 1;
    auto handle = spawn(*simulation, throws(), {.name = "request"});
    handle.detach();
    simulation->drain();
    EXPECT_EQ(tasks, names{"request"});
    EXPECT_EQ(spawned_at.line(), line);
    EXPECT_TRUE(std::string{spawned_at.file_name()}.ends_with("failure_origin_test.cpp"));
}

TEST_F(failure_origin_test, a_child_of_a_scope) {
    unsigned line = 0;
    run([](unsigned& spawned_in) -> task<> {
        scope all{co_await current_executor()};
        spawned_in = line_of() + 1;
        all.spawn(throws(), {.name = "upload"});
        co_await all.join();
    }(line));
    EXPECT_EQ(tasks, (names{"upload", "request"}));
    EXPECT_EQ(spawned_at.line(), line);
    EXPECT_EQ(what, "thrown");
}

TEST_F(failure_origin_test, a_child_with_a_stop_token) {
    std::stop_source source;
    run([](std::stop_token stop) -> task<> {
        scope all{co_await current_executor()};
        all.spawn(throws(), {.name = "upload", .stop = std::move(stop)});
        static_cast<void>(co_await all.join_until(never));
    }(source.get_token()));
    EXPECT_EQ(tasks, (names{"upload", "request"}));
}

TEST_F(failure_origin_test, a_forked_child_of_a_scope) {
    unsigned line = 0;
    run([](unsigned& spawned_in) -> task<> {
        scope all{co_await current_executor()};
        spawned_in = line_of() + 1;
        co_await all.fork(throws(), "part");
        co_await all.join();
    }(line));
    EXPECT_EQ(tasks, (names{"part", "request"}));
    EXPECT_EQ(spawned_at.line(), line);
}

task<> nests(int depth) {
    if (depth == 0) co_await throws();
    const auto body = [depth](scope& all) -> task<> {
        all.spawn(nests(depth - 1), {.name = depth == 1 ? task_name{"leaf"} : task_name{"inner"}});
        co_return;
    };
    co_await with_scope(body);
}

TEST_F(failure_origin_test, a_child_of_a_child_of_a_child) {
    run(nests(3));
    EXPECT_EQ(tasks, (names{"leaf", "inner", "inner", "request"}));
}

TEST_F(failure_origin_test, a_task_that_was_joined_by_its_handle_before_and_after_its_end) {
    for (const duration delay : {0s, 2s}) {
        run([](duration first) -> task<> {
            const executor here = co_await current_executor();
            auto handle = spawn(here, throws(), {.name = "query"});
            co_await sleep_for(first);
            co_await handle;
        }(delay));
        EXPECT_EQ(tasks, (names{"query", "request"}));
    }
}

TEST_F(failure_origin_test, a_task_that_was_joined_with_a_deadline) {
    run([]() -> task<> {
        const executor here = co_await current_executor();
        auto handle = spawn(here, throws(), {.name = "query"});
        static_cast<void>(co_await handle.join_until(never));
    }());
    EXPECT_EQ(tasks, (names{"query", "request"}));
}

TEST_F(failure_origin_test, what_ran_in_when_all) {
    run([]() -> task<> { static_cast<void>(co_await when_all(sleep_for_ever(), nests(1))); }());
    EXPECT_EQ(tasks, (names{"leaf", "when_all", "request"}));
    run([]() -> task<> {
        std::vector<task<>> all;
        all.push_back(throws());
        static_cast<void>(co_await when_all(std::move(all)));
    }());
    EXPECT_EQ(tasks, (names{"when_all", "request"}));
}

// Its children are no tasks of their own.
TEST_F(failure_origin_test, what_was_forked) {
    run([]() -> task<> { static_cast<void>(co_await fork_join(throws(), sleep_for_ever())); }());
    EXPECT_EQ(tasks, names{"request"});
    run([]() -> task<> { static_cast<void>(co_await fork_join(nests(1), sleep_for_ever())); }());
    EXPECT_EQ(tasks, (names{"leaf", "request"}));
}

TEST(failure_origin_on_threads, what_was_forked_and_ran_on_another_worker) {
    const test::watchdog guard;
    std::mutex mutex;
    std::vector<names> reported;
    scheduler_options wanted{.workers = 3};
    wanted.on_unhandled = [&](const std::exception_ptr&, const failure_origin& from) {
        const std::lock_guard lock{mutex};
        names& all = reported.emplace_back();
        for (const failed_task& each : from.tasks()) all.emplace_back(each.name);
    };
    static constexpr auto fails = []() -> task<> {
        co_await with_scope([](scope& all) -> task<> {
            all.spawn(throws_now(), {.name = "leaf"});
            co_return;
        });
    };
    static constexpr auto forks = []() -> task<> {
        std::vector<task<>> parts;
        for (int i = 0; i != 4; ++i) parts.push_back(fails());
        static_cast<void>(co_await fork_join(std::move(parts)));
    };
    {
        scheduler threads{std::move(wanted)};
        for (int i = 0; i != 300; ++i) spawn(threads, forks(), {.name = "request"}).detach();
        threads.drain();
    }
    ASSERT_EQ(reported.size(), 300U);
    for (const names& each : reported) EXPECT_EQ(each, (names{"leaf", "request"}));
}

// --- which exception it is -----------------------------------------------------------------------

TEST_F(failure_origin_test, the_first_child_in_time) {
    run([]() -> task<> {
        static constexpr auto later = []() -> task<> {
            static_cast<void>(co_await as_result(sleep_for(1h)));  // until the stop
            throw std::runtime_error{"later"};
        };
        scope all{co_await current_executor()};
        all.spawn(later(), {.name = "second"});
        all.spawn(throws("first"), {.name = "first"});
        co_await all.join();
    }());
    EXPECT_EQ(tasks, (names{"first", "request"}));
    EXPECT_EQ(what, "first");
}

TEST_F(failure_origin_test, an_exception_of_its_own_after_that_of_a_child) {
    run([]() -> task<> {
        try {
            co_await nests(1);
        } catch (const std::exception&) {
            throw std::runtime_error{"translated"};
        }
    }());
    EXPECT_EQ(tasks, names{"request"});
    run([]() -> task<> {
        try {
            co_await nests(1);
        } catch (const std::exception&) {
        }
        co_await throws("later");  // perhaps at the address of the former one
    }());
    EXPECT_EQ(tasks, names{"request"});
    EXPECT_EQ(what, "later");
}

TEST_F(failure_origin_test, an_exception_that_was_kept_over_a_wait) {
    run([]() -> task<> {
        std::exception_ptr failure;
        try {
            co_await nests(1);
        } catch (...) {
            failure = std::current_exception();
        }
        co_await sleep_for(1s);
        std::rethrow_exception(failure);
    }());
    EXPECT_EQ(tasks, (names{"leaf", "request"}));
}

// with_scope joins children that fail later than the body has, and rethrows the failure of the
// body.
TEST_F(failure_origin_test, the_body_of_a_scope_that_fails_before_its_children) {
    run([]() -> task<> {
        co_await with_scope([](scope& all) -> task<> {
            static constexpr auto late = []() -> task<> {
                static_cast<void>(co_await as_result(sleep_for(1h)));
                throw std::runtime_error{"late"};
            };
            all.spawn(late(), {.name = "late"});
            co_await nests(1);
        });
    }());
    EXPECT_EQ(tasks, (names{"leaf", "request"}));
    EXPECT_EQ(what, "thrown");
}

// --- the joining task ----------------------------------------------------------------------------

task<> asks(std::optional<std::string>& answer, task<> body) {
    std::exception_ptr failure;
    try {
        co_await std::move(body);
    } catch (...) {
        failure = std::current_exception();
    }
    if (const auto origin = co_await origin_of(failure)) answer = origin->to_string();
}

TEST_F(failure_origin_test, a_joining_task_asks) {
    std::optional<std::string> answer;
    run(asks(answer, nests(2)));
    ASSERT_TRUE(answer.has_value());
    EXPECT_TRUE(answer->starts_with("\"leaf\" of \"inner\", spawned at ")) << *answer;
    EXPECT_NE(answer->find("failure_origin_test.cpp:"), std::string::npos) << *answer;
    EXPECT_EQ(reports, 0);
}

TEST_F(failure_origin_test, a_task_that_has_thrown_itself_has_no_origin) {
    std::optional<std::string> answer;
    run(asks(answer, throws()));
    EXPECT_FALSE(answer.has_value());
}

TEST_F(failure_origin_test, a_text_names_ten_tasks_and_the_last) {
    const std::vector<failed_task> chain(30, failed_task{"link", {}});
    const std::string text = failure_origin{chain}.to_string();
    EXPECT_TRUE(text.ends_with("of \"link\" of 19 more of \"link\"")) << text;
    EXPECT_EQ(failure_origin{std::span{chain}.first(1)}.to_string(), "\"link\"");
    EXPECT_EQ(failure_origin{std::span{chain}.first(2)}.to_string(), "\"link\" of \"link\"");
}

// --- how long ------------------------------------------------------------------------------------

struct payload : std::exception {
    std::shared_ptr<int> held;
};

TEST_F(failure_origin_test, nothing_of_the_exception_outlives_its_tasks) {
    auto held = std::make_shared<int>(1);
    static constexpr auto fails = [](std::shared_ptr<int> with) -> task<> {
        payload thrown;
        thrown.held = std::move(with);
        throw thrown;
        co_return;
    };
    run([](std::shared_ptr<int> with) -> task<> {
        scope all{co_await current_executor()};
        all.spawn(fails(std::move(with)));
        try {
            co_await all.join();
        } catch (const payload&) {
        }
    }(held));
    EXPECT_EQ(held.use_count(), 1);
}

// 1. The task fails. 2. The scheduler is destroyed. 3. The handle goes.
TEST_F(failure_origin_test, a_report_after_the_end_of_the_scheduler) {
    auto handle = spawn(*simulation, nests(1), {.name = "request"});
    simulation->drain();
    simulation.reset();
    handle.detach();
    EXPECT_EQ(tasks, (names{"leaf", "request"}));
}

TEST_F(failure_origin_test, a_long_chain_of_joins) {
    auto last = spawn(*simulation, throws());
    for (int i = 0; i != 10'000; ++i) {
        last = spawn(*simulation,
                     [](join_handle<void> other) -> task<> { co_await other; }(std::move(last)));
    }
    last.detach();
    simulation->drain();
    EXPECT_EQ(tasks.size(), 10'001U);
}

TEST(failure_origin_death_test, the_message_names_the_task_that_threw_and_its_spawn) {
    testing::FLAGS_gtest_death_test_style = "threadsafe";
    EXPECT_DEATH(
        {
            test::manual_clock clock;
            test::simulated_driver* driver = nullptr;
            scheduler simulation{test::simulated(clock, driver)};
            spawn(simulation, nests(1), {.name = "request"}).detach();
            simulation.drain();
        },
        "left the task \"request\": thrown\n"
        "fairlead: it was thrown by \"leaf\" of \"request\", spawned at .*origin_test.cpp:[0-9]+");
}

}  // namespace
}  // namespace fairlead::failure_origin_tests
