// What a task inherits, from which task, and how far it goes.
#include <fairlead/context/context.hpp>
#include <fairlead/context/trace.hpp>
#include <fairlead/context/with_deadline.hpp>
#include <fairlead/context/with_error_sink.hpp>
#include <fairlead/coro/adapted_wait.hpp>
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/for_each.hpp>
#include <fairlead/coro/fork_join.hpp>
#include <fairlead/coro/scope.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/coro/when_all.hpp>
#include <fairlead/coro/with_scope.hpp>
#include <fairlead/sched/parallel_invoke.hpp>
#include <fairlead/wait/event.hpp>

#include "support/ending_of.hpp"
#include "support/simulated_test.hpp"

#include <gtest/gtest.h>

#include <latch>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace fairlead::inheritance_tests {
namespace {

using namespace std::chrono_literals;

constexpr context_key<std::string> kept{inherit::none};
constexpr context_key<std::string> handed_on{inherit::children};
constexpr context_key<std::string> sent{inherit::messages};

// What reaches a task, as letters.
task<std::string> seen() {
    const context here = co_await current_context();
    std::string all;
    if (here.get(kept) != nullptr) all += *here.get(kept);
    if (here.get(handed_on) != nullptr) all += *here.get(handed_on);
    if (here.get(sent) != nullptr) all += *here.get(sent);
    if (here.deadline() != never) all += 'd';
    co_return all;
}

template <class T>
task<T> in_all(task<T> body) {
    auto inside = with_value(kept, std::string{"n"},
                             with_value(handed_on, std::string{"c"},
                                        with_value(sent, std::string{"m"}, std::move(body))));
    auto result = co_await with_deadline(10s, std::move(inside));
    co_return *std::move(result);
}

class inheritance_test : public test::simulated_test {
protected:
    template <class T>
    T run(task<T> body) {
        return block_on(*simulation, std::move(body));
    }
};

TEST_F(inheritance_test, a_task_without_a_context_has_none) { EXPECT_EQ(run(seen()), ""); }

TEST_F(inheritance_test, the_task_itself_sees_all) { EXPECT_EQ(run(in_all(seen())), "ncmd"); }

TEST_F(inheritance_test, the_innermost_value_of_a_key_counts) {
    const auto body = []() -> task<std::string> {
        const auto inner = co_await with_value(sent, std::string{"i"}, seen());
        const auto outer = co_await seen();
        co_return inner + outer;
    };
    EXPECT_EQ(run(with_value(sent, std::string{"o"}, body())), "io");
}

TEST_F(inheritance_test, a_spawned_task_inherits) {
    const auto body = [this]() -> task<std::string> {
        co_return co_await spawn(*simulation, seen());
    };
    EXPECT_EQ(run(in_all(body())), "cmd");
}

TEST_F(inheritance_test, a_detached_task_has_only_what_is_sent) {
    const auto body = [this]() -> task<std::string> {
        auto started = spawn(*simulation, seen(), {.detached = true});
        co_return co_await started;
    };
    EXPECT_EQ(run(in_all(body())), "m");
}

TEST_F(inheritance_test, a_grandchild_of_a_detached_task_has_no_more) {
    const auto middle = [this]() -> task<std::string> {
        co_return co_await spawn(*simulation, seen());
    };
    const auto body = [&]() -> task<std::string> {
        auto started = spawn(*simulation, middle(), {.detached = true});
        co_return co_await started;
    };
    EXPECT_EQ(run(in_all(body())), "m");
}

TEST_F(inheritance_test, children_of_when_all_inherit) {
    const auto body = []() -> task<std::string> {
        const auto both = co_await when_all(seen(), seen());
        co_return std::get<0>(both) + std::get<1>(both);
    };
    EXPECT_EQ(run(in_all(body())), "cmdcmd");
}

// Which fork runs as part of its parent is chance: so forks see what their parent sees.
TEST_F(inheritance_test, forks_see_what_their_parent_sees) {
    const auto waits = []() -> task<std::string> {
        co_await yield();  // then the second is posted
        co_return co_await seen();
    };
    const auto body = [&]() -> task<std::string> {
        const auto both = co_await fork_join(waits(), seen());
        co_return std::get<0>(both) + std::get<1>(both);
    };
    EXPECT_EQ(run(in_all(body())), "ncmdncmd");
}

TEST_F(inheritance_test, children_of_a_scope_have_the_context_in_which_it_was_made) {
    std::vector<std::string> all;
    const auto notes = [](std::vector<std::string>& into) -> task<> {
        into.push_back(co_await seen());
    };
    const auto body = [&]() -> task<int> {
        co_await with_scope([&](scope& children) -> task<> {
            children.spawn(notes(all));
            co_await children.fork(notes(all));
        });
        co_return 0;
    };
    run(in_all(body()));
    EXPECT_EQ(all, (std::vector<std::string>{"cmd", "cmd"}));

    scope outside{*simulation};
    const auto spawns = [&]() -> task<int> {
        outside.spawn(notes(all));
        co_return 0;
    };
    run(in_all(spawns()));
    const auto joins = [&]() -> task<> { co_await outside.join(); };
    run(joins());
    EXPECT_EQ(all.back(), "");
}

TEST_F(inheritance_test, a_posted_callable_has_none) {
    std::optional<join_handle<std::string>> later;
    const auto body = [&]() -> task<int> {
        simulation->post([&] { later.emplace(spawn(*simulation, seen())); });
        co_await yield();
        co_return 0;
    };
    run(in_all(body()));
    ASSERT_TRUE(later.has_value());
    EXPECT_EQ(later->get(), "");
}

TEST_F(inheritance_test, the_next_step_of_another_task_has_none) {
    std::string of_other = "?";
    event go;
    const auto other = [&]() -> task<> {
        static_cast<void>(co_await go.wait());
        of_other = co_await spawn(*simulation, seen());
    };
    auto waiting = spawn(*simulation, other());
    const auto body = [&]() -> task<int> {
        co_await yield();
        go.set();
        co_await sleep_for(1s);
        co_return 0;
    };
    run(in_all(body()));
    waiting.get();
    EXPECT_EQ(of_other, "");
}

TEST_F(inheritance_test, bodies_of_a_loop_start_tasks_with_the_context_of_the_loop) {
    std::vector<join_handle<std::string>> started;
    const auto body = [&]() -> task<int> {
        co_await for_each_index(
            3, [&](std::size_t) { started.push_back(spawn(*simulation, seen())); });
        co_return 0;
    };
    run(in_all(body()));
    for (auto& each : started) EXPECT_EQ(each.get(), "cmd");
}

TEST_F(inheritance_test, a_message_carries_what_is_sent) {
    context carried;
    const auto sender = [&]() -> task<int> {
        carried = (co_await current_context()).to_send();
        co_return 0;
    };
    run(in_all(sender()));
    EXPECT_EQ(run(with_context(carried, seen())), "md");
    EXPECT_EQ(run(with_context(carried.detached(), seen())), "m");
    EXPECT_EQ(run(in_all(with_context(context{}, seen()))), "");
}

TEST_F(inheritance_test, a_context_holds_its_values) {
    context taken;
    const auto takes = [&]() -> task<int> {
        taken = co_await current_context();
        co_return 0;
    };
    run(in_all(takes()));
    const context copy = taken;
    taken = {};
    ASSERT_NE(copy.get(sent), nullptr);
    EXPECT_EQ(*copy.get(sent), "m");
    EXPECT_EQ(taken.get(sent), nullptr);
}

// --- deadlines of children -----------------------------------------------------------------------

task<> sleeps(duration length) { co_await sleep_for(length); }

TEST_F(inheritance_test, a_child_ends_at_the_deadline_and_fails_by_name) {
    std::string origin;
    const auto body = [&]() -> task<> {
        std::exception_ptr failure;
        auto started = spawn(*simulation, sleeps(1h), {.name = "query"});
        try {
            co_await shielded(started);
        } catch (const overdue_error&) {
            failure = std::current_exception();
        }
        const auto from = co_await origin_of(failure);
        if (from) origin = from->thrower().name;
    };
    const time_point begin = clock.now();
    EXPECT_TRUE(run(with_deadline(1s, body())).has_value());
    EXPECT_EQ(clock.now() - begin, 1s);
    EXPECT_EQ(origin, "query");
}

TEST_F(inheritance_test, a_scope_joins_children_that_are_overdue_and_rethrows) {
    std::vector<wake_reason> endings;
    const auto child = [](std::vector<wake_reason>& into) -> task<> {
        into.push_back(co_await test::ending_of(sleep_for(1h)));
    };
    const auto body = [&]() -> task<> {
        co_await with_scope([&](scope& children) -> task<> {
            children.spawn(child(endings));
            co_return;
        });
    };
    EXPECT_TRUE(run(with_deadline(1s, body())).has_value());  // the child has not failed
    EXPECT_EQ(endings, std::vector{wake_reason::overdue});
    const auto with_failure = [&]() -> task<> {
        co_await with_scope([&](scope& children) -> task<> {
            children.spawn(sleeps(1h));
            children.spawn(sleeps(2h));
            co_return;
        });
    };
    EXPECT_EQ(run(with_deadline(1s, with_failure())).error(), wait_error::expired);
}

// The children of the scope know nothing of the deadline of the task that joins.
TEST_F(inheritance_test, a_join_in_a_narrower_deadline_stops_the_children) {
    const time_point begin = clock.now();
    std::vector<wake_reason> endings;
    const auto child = [&]() -> task<> {
        endings.push_back(co_await test::ending_of(sleep_for(1h)));
        throw stopped_error{};
    };
    scope outside{*simulation};
    outside.spawn(child());
    const auto joins = [&]() -> task<> { co_await outside.join(); };
    EXPECT_EQ(run(with_deadline(1s, joins())).error(), wait_error::expired);
    EXPECT_EQ(endings, std::vector{wake_reason::stopped});
    EXPECT_EQ(clock.now() - begin, 1s);
}

TEST_F(inheritance_test, a_join_until_ends_overdue_and_the_scope_goes_on) {
    scope outside{*simulation};
    outside.spawn(sleeps(1min));
    const auto joins = [&]() -> task<waited<void>> {
        co_return co_await outside.join_until(never);
    };
    EXPECT_EQ(run(with_deadline(1s, joins())).error(), wait_error::expired);
    EXPECT_EQ(outside.size(), 1U);
    EXPECT_TRUE(run(joins()).has_value());
}

TEST_F(inheritance_test, when_all_rethrows_that_a_child_was_overdue) {
    const auto body = []() -> task<> { co_await when_all(sleeps(1h), sleeps(2h)); };
    EXPECT_EQ(run(with_deadline(1s, body())).error(), wait_error::expired);
}

TEST_F(inheritance_test, a_fork_join_rethrows_that_a_child_was_overdue) {
    const auto body = []() -> task<> { co_await fork_join(sleeps(1h), sleeps(2h)); };
    EXPECT_EQ(run(with_deadline(1s, body())).error(), wait_error::expired);
}

// --- work that is overdue before it begins -------------------------------------------------------

TEST_F(inheritance_test, a_task_that_is_overdue_before_its_first_step_does_not_begin) {
    bool has_begun = false;
    const auto child = [&]() -> task<> {
        has_begun = true;
        co_return;
    };
    std::string origin;
    const auto body = [&]() -> task<> {
        auto started = spawn(*simulation, child(), {.name = "late work"});
        clock.advance(1h);
        std::exception_ptr failure;
        try {
            co_await shielded(started);
        } catch (const overdue_error&) {
            failure = std::current_exception();
        }
        const auto from = co_await origin_of(failure);
        if (from) origin = from->to_string();
    };
    EXPECT_TRUE(run(with_deadline(1s, body())).has_value());
    EXPECT_FALSE(has_begun);
    EXPECT_TRUE(origin.starts_with("\"late work\"")) << origin;
}

TEST_F(inheritance_test, children_that_are_overdue_do_not_begin_in_a_scope_and_in_when_all) {
    int begun = 0;
    const auto child = [](int& count) -> task<> {
        ++count;
        co_return;
    };
    const auto in_scope = [&]() -> task<> {
        co_await with_scope([&](scope& children) -> task<> {
            children.spawn(child(begun));
            clock.advance(1h);
            co_return;
        });
    };
    EXPECT_EQ(run(with_deadline(1s, in_scope())).error(), wait_error::expired);
    const auto together = [&]() -> task<> {
        clock.advance(1h);
        co_await when_all(child(begun), child(begun));
    };
    EXPECT_EQ(run(with_deadline(1s, together())).error(), wait_error::expired);
    EXPECT_EQ(begun, 0);
}

TEST_F(inheritance_test, a_failure_that_no_task_joins_goes_to_the_sink) {
    std::vector<std::string> told;
    const auto throws = []() -> task<> {
        co_await yield();
        throw std::runtime_error{"nobody waits"};
    };
    const auto body = [&]() -> task<> {
        spawn(*simulation, throws(), {.name = "background", .detached = true}).detach();
        spawn(*simulation, sleeps(1h), {.name = "in time"}).detach();
        co_await sleep_for(1s);
    };
    auto sink = [&](std::exception_ptr, const failure_origin& from) {
        told.push_back(from.thrower().name);
    };
    EXPECT_TRUE(run(with_deadline(2s, with_error_sink(sink, body()))).has_value());
    simulation->run_until(clock.now() + 1min);
    EXPECT_EQ(told, (std::vector<std::string>{"background", "in time"}));
}

TEST_F(inheritance_test, the_nearest_sink_counts) {
    std::string told;
    const auto throws = []() -> task<> {
        throw std::runtime_error{"?"};
        co_return;
    };
    const auto body = [&]() -> task<> {
        spawn(*simulation, throws()).detach();
        co_await yield();
    };
    const auto names = [&told](std::string which) {
        return [&told, which](std::exception_ptr, const failure_origin&) { told += which; };
    };
    run(with_error_sink(names("outer"), with_error_sink(names("inner"), body())));
    EXPECT_EQ(told, "inner");
}

// --- the trace -----------------------------------------------------------------------------------

task<std::string> trace_seen() {
    const context here = co_await current_context();
    const trace* const found = trace_of(here);
    co_return found != nullptr ? found->to_string() : "none";
}

TEST_F(inheritance_test, the_trace_goes_everywhere) {
    const trace span = trace_source{1}.start();
    const auto body = [&]() -> task<std::vector<std::string>> {
        std::vector<std::string> all;
        all.push_back(co_await trace_seen());
        all.push_back(co_await spawn(*simulation, trace_seen()));
        auto started = spawn(*simulation, trace_seen(), {.detached = true});
        all.push_back(co_await started);
        all.push_back(co_await shielded(trace_seen()));
        co_return all;
    };
    EXPECT_EQ(run(with_trace(span, body())), std::vector(4, span.to_string()));
    EXPECT_EQ(run(trace_seen()), "none");
}

// Under load that is the normal course of things: it must not end the program.
TEST(inheritance_in_real_time, overdue_work_without_a_sink_is_printed) {
    scheduler plain{{.run_on_caller = true}};
    const auto body = [&]() -> task<> {
        spawn(plain, sleeps(1h), {.name = "too late"}).detach();
        co_await sleep_for(1h);
    };
    testing::internal::CaptureStderr();
    EXPECT_FALSE(block_on(plain, with_deadline(1ms, body())).has_value());
    plain.run_until_idle();
    const std::string printed = testing::internal::GetCapturedStderr();
    EXPECT_NE(printed.find("\"too late\": the deadline of the work has passed"), std::string::npos)
        << printed;
}

// Another worker makes the call that starts it.
TEST(inheritance_on_threads, a_task_that_a_call_in_parallel_spawns_inherits) {
    scheduler scheduler{{.workers = 2}};
    const auto body = [&scheduler]() -> task<std::string> {
        std::latch begun{1};
        std::optional<join_handle<std::string>> started;
        parallel_invoke([&] { begun.wait(); },
                        [&] {
                            started.emplace(spawn(scheduler, seen()));
                            begun.count_down();
                        });
        co_return co_await *started;
    };
    EXPECT_EQ(block_on(scheduler, in_all(body())), "cmd");
}

}  // namespace
}  // namespace fairlead::inheritance_tests
