// Why a task was asked to stop: which request counts, and how a reason follows the joins.
#include "combine/children.hpp"

#include <fairlead/combine/as_completed.hpp>
#include <fairlead/combine/race.hpp>
#include <fairlead/combine/when_any.hpp>
#include <fairlead/combine/with_timeout.hpp>
#include <fairlead/context/with_deadline.hpp>
#include <fairlead/coro/fork_join.hpp>
#include <fairlead/coro/scope.hpp>
#include <fairlead/coro/when_all.hpp>
#include <fairlead/coro/with_scope.hpp>
#include <fairlead/sched/callback_task.hpp>

#include <gtest/gtest.h>

#include <array>
#include <exception>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace fairlead::stop_reason_tests {
namespace {

using namespace std::chrono_literals;
using test::combine_test;
using test::fails;
using test::gives;

constexpr stopped_by kicked = own_reason(7);

// Sleeps for a day, writes down why it was asked to stop, and passes the stop on.
task<int> tells(stopped_by& why) {
    const auto slept = co_await as_result(sleep_for(24h));
    why = co_await stop_reason();
    if (!slept) throw stopped_error{why};
    co_return 1;
}
// The same, but ends with a result.
task<int> notes(stopped_by& why) {
    static_cast<void>(co_await as_result(sleep_for(24h)));
    why = co_await stop_reason();
    co_return 1;
}
task<> tells_only(stopped_by& why) { static_cast<void>(co_await tells(why)); }

// The reason of a `stopped_error`; nothing: it is another failure.
std::optional<stopped_by> reason_in(const std::exception_ptr& failure) {
    try {
        std::rethrow_exception(failure);
    } catch (const stopped_error& stopped) {
        return stopped.reason();
    } catch (...) {
        return std::nullopt;
    }
}

class stop_reason_test : public combine_test {
protected:
    // Runs `body` for an hour, asks it to stop with `why`, and gives how it has ended.
    template <class T>
    settled<T> kicked_after_an_hour(task<T> body, stopped_by why = kicked) {
        return stopped_after(1h, std::move(body), why);
    }

    stopped_by one = stopped_by::unsaid;
    stopped_by two = stopped_by::unsaid;
};

// --- the task ------------------------------------------------------------------------------------

TEST_F(stop_reason_test, a_task_reads_the_reason_and_its_stopped_error_has_it) {
    const auto ended = kicked_after_an_hour(tells(one));
    EXPECT_EQ(one, kicked);
    EXPECT_EQ(reason_in(ended.error()), kicked);
    const auto slept = kicked_after_an_hour([]() -> task<> { co_await sleep_for(24h); }());
    EXPECT_EQ(reason_in(slept.error()), kicked) << "the library throws it";
}

TEST_F(stop_reason_test, the_first_request_counts_also_without_a_reason) {
    for (const stopped_by first : {kicked, stopped_by::unsaid, own_reason(0)}) {
        auto handle = spawn(*simulation, tells(one));
        run_for(1h);
        handle.request_stop(first);
        handle.request_stop(own_reason(8));
        handle.request_stop();
        EXPECT_EQ(handle.get_task().stop_reason(), first);
        simulation->drain();
        EXPECT_EQ(one, first);
        EXPECT_THROW(handle.get(), stopped_error);
    }
}

TEST_F(stop_reason_test, a_task_that_was_not_asked_has_none) {
    EXPECT_EQ(
        block_on(*simulation, []() -> task<stopped_by> { co_return co_await stop_reason(); }()),
        stopped_by::unsaid);
}

TEST_F(stop_reason_test, a_request_before_the_first_step_counts) {
    auto handle = spawn(*simulation, tells(one));
    handle.request_stop(kicked);
    simulation->drain();
    EXPECT_EQ(one, kicked);
    EXPECT_THROW(handle.get(), stopped_error);
}

TEST_F(stop_reason_test, a_token_says_that_it_was_a_token) {
    std::stop_source source;
    auto handle = spawn(*simulation, tells(one), {.stop = source.get_token()});
    run_for(1h);
    source.request_stop();
    simulation->drain();
    EXPECT_EQ(one, stopped_by::token);
    EXPECT_THROW(handle.get(), stopped_error);
}

TEST_F(stop_reason_test, a_stop_of_the_scheduler_is_a_shutdown_unless_another_came_first) {
    auto sleeping = spawn(*simulation, tells(one));
    auto asked = spawn(*simulation, tells(two));
    run_for(1h);
    asked.request_stop(kicked);
    simulation->stop(1min);
    EXPECT_EQ(one, stopped_by::shutdown);
    EXPECT_EQ(two, kicked);
    EXPECT_THROW(sleeping.get(), stopped_error);
    EXPECT_THROW(asked.get(), stopped_error);
}

TEST_F(stop_reason_test, a_callback_task_reads_it) {
    class asked final : public callback_task {
    public:
        asked() noexcept
            : callback_task{
                  [](callback_task& self) { static_cast<asked&>(self).seen = self.stop_reason(); },
                  "asked"} {}
        stopped_by seen = stopped_by::unsaid;
    } task;
    task.request_stop(kicked);
    simulation->post(task);
    simulation->drain();
    EXPECT_EQ(task.seen, kicked);
}

// --- the joins -----------------------------------------------------------------------------------

TEST_F(stop_reason_test, a_scope_tells_the_failure_of_a_sibling) {
    EXPECT_THROW(block_on(*simulation, with_scope([&](scope& all) -> task<> {
                     all.spawn(tells_only(one));
                     all.spawn([]() -> task<> { static_cast<void>(co_await fails(1h, "it")); }());
                     co_return;
                 })),
                 std::runtime_error);
    EXPECT_EQ(one, stopped_by::failure);
}

TEST_F(stop_reason_test, a_scope_tells_why_its_owner_asks_once_for_all) {
    block_on(*simulation, [](stopped_by& first, stopped_by& second) -> task<> {
        scope all{co_await current_executor()};
        all.spawn(tells_only(first));
        static_cast<void>(co_await all.fork(tells_only(second)));
        co_await sleep_for(1h);
        all.request_stop(kicked);
        all.request_stop(own_reason(8));
        co_await all.join();
    }(one, two));
    EXPECT_EQ(one, kicked);
    EXPECT_EQ(two, kicked);
}

// The fork begins after the stop, and in the step of its owner.
TEST_F(stop_reason_test, a_fork_that_begins_later_hears_the_same) {
    block_on(*simulation, [](stopped_by& why) -> task<> {
        scope all{co_await current_executor()};
        static_cast<void>(co_await all.fork(tells_only(why)));
        all.request_stop(kicked);
        co_await all.join();
    }(one));
    EXPECT_EQ(one, kicked);
}

TEST_F(stop_reason_test, an_exception_of_the_owner_is_a_failure_and_a_stop_is_passed_on) {
    EXPECT_THROW(block_on(*simulation, with_scope([&](scope& all) -> task<> {
                     all.spawn(tells_only(one));
                     co_await sleep_for(1h);
                     throw std::runtime_error{"it"};
                 })),
                 std::runtime_error);
    EXPECT_EQ(one, stopped_by::failure);
    static_cast<void>(kicked_after_an_hour(with_scope([&](scope& all) -> task<> {
        all.spawn(tells_only(one));
        co_await sleep_for(24h);
    })));
    EXPECT_EQ(one, kicked);
}

TEST_F(stop_reason_test, every_join_passes_the_reason_on) {
    const auto expect_passed = [&](auto body) {
        one = two = stopped_by::unsaid;
        static_cast<void>(kicked_after_an_hour(body()));
        EXPECT_EQ(one, kicked);
        EXPECT_EQ(two, kicked);
    };
    expect_passed([&] { return when_all(tells(one), tells(two)); });
    expect_passed([&] { return when_any(tells(one), tells(two)); });
    expect_passed([&] { return race(tells(one), tells(two)); });
    expect_passed(
        [&]() -> task<> { static_cast<void>(co_await fork_join(tells(one), tells(two))); });
    expect_passed([&] {
        return with_scope([&](scope& all) -> task<> {
            all.spawn(tells_only(one));
            all.spawn(tells_only(two));
            co_return;
        });
    });
    expect_passed([&]() -> task<> {
        auto inner = spawn(*simulation, notes(one));
        static_cast<void>(co_await inner.join(on_stop::pass_on));
        static_cast<void>(co_await with_timeout(tells(two), 2h));
    });
}

TEST_F(stop_reason_test, when_all_tells_a_failure_and_throws_with_the_reason_of_a_stop) {
    EXPECT_THROW(block_on(*simulation, when_all(tells(one), fails(1h, "it"))), std::runtime_error);
    EXPECT_EQ(one, stopped_by::failure);
    EXPECT_EQ(reason_in(kicked_after_an_hour(when_all(tells(one), tells(two))).error()), kicked);
}

TEST_F(stop_reason_test, fork_join_tells_a_failure) {
    EXPECT_THROW(block_on(*simulation,
                          [](stopped_by& why) -> task<> {
                              static_cast<void>(co_await fork_join(fails(1h, "it"), tells(why)));
                          }(one)),
                 std::runtime_error);
    EXPECT_EQ(one, stopped_by::failure);
}

TEST_F(stop_reason_test, a_deadline_of_the_parent_is_a_timeout) {
    const auto cut = block_on(*simulation, with_timeout(tells(one), 1h));
    EXPECT_EQ(cut.error(), wait_error::expired);
    EXPECT_EQ(one, stopped_by::timeout);
    static_cast<void>(
        block_on(*simulation, when_all_until(clock.now() + 1h, tells(two), gives(1min, 1))));
    EXPECT_EQ(two, stopped_by::timeout);
}

TEST_F(stop_reason_test, losers_lost_the_race) {
    static_cast<void>(block_on(*simulation, when_any(gives(1h, 1), tells(one))));
    EXPECT_EQ(one, stopped_by::lost_race);
    static_cast<void>(block_on(*simulation, race(gives(1h, 1), tells(two))));
    EXPECT_EQ(two, stopped_by::lost_race);
    one = stopped_by::unsaid;
    EXPECT_EQ(block_on(*simulation, race(fails(1h, "it"), tells(one))), 1);
    EXPECT_EQ(one, stopped_by::unsaid) << "a failure stops no racer";
}

// With a bound of one the second child has not begun when the first ends.
TEST_F(stop_reason_test, a_child_that_never_began_is_given_with_the_reason) {
    std::optional<stopped_by> of_loser;
    std::vector<task<int>> bodies;
    bodies.push_back(gives(1h, 1));
    bodies.push_back(gives(1h, 2));
    static_cast<void>(block_on(*simulation, when_any(on_loser([&](std::size_t, settled<int> loser) {
                                                         of_loser = reason_in(loser.error());
                                                     }),
                                                     std::move(bodies), max_concurrency{1})));
    EXPECT_EQ(of_loser, stopped_by::lost_race);
}

// The child has no deadline: its owner was spawned outside.
TEST_F(stop_reason_test, a_deadline_of_the_context_alone_is_overdue) {
    auto inner = spawn(*simulation, notes(one));
    const auto joined =
        block_on(*simulation, with_deadline(1h, [](join_handle<int>& of) -> task<waited<int>> {
            co_return co_await of.join(on_stop::pass_on);
        }(inner)));
    EXPECT_EQ(joined, 1) << "the task was asked, and has a result";
    EXPECT_EQ(one, stopped_by::overdue);
    block_on(*simulation, [](stopped_by& why) -> task<> {
        scope all{co_await current_executor()};
        all.spawn(tells_only(why));
        const auto late =
            co_await with_deadline(1h, [](scope& of) -> task<> { co_await of.join(); }(all));
        EXPECT_EQ(late.error(), wait_error::expired);
        co_await all.join();
    }(two));
    EXPECT_EQ(two, stopped_by::overdue);
}

TEST_F(stop_reason_test, what_is_left_of_a_stream_is_not_wanted_any_more) {
    std::optional<stopped_by> of_second;
    block_on(*simulation, [](stopped_by& why, std::optional<stopped_by>& second) -> task<> {
        std::vector<task<int>> bodies;
        bodies.push_back(gives(1h, 1));
        bodies.push_back(tells(why));
        completions<int> stream{std::move(bodies), max_concurrency{2}};
        static_cast<void>(co_await stream.next());
        co_await stream.finish();

        std::vector<task<int>> more;
        more.push_back(gives(1h, 1));
        more.push_back(gives(1h, 2));
        completions<int> bounded{std::move(more), max_concurrency{1}};
        static_cast<void>(co_await bounded.next());
        bounded.request_stop(kicked);
        second = reason_in((co_await bounded.next())->result.error());
        static_cast<void>(co_await bounded.next());
    }(one, of_second));
    EXPECT_EQ(one, stopped_by::unwanted);
    EXPECT_EQ(of_second, kicked);
}

TEST(StopReason, EachHasAText) {
    EXPECT_EQ(to_string(stopped_by::timeout), std::string{"timeout"});
    EXPECT_EQ(to_string(stopped_by::lost_race), std::string{"lost the race"});
    EXPECT_EQ(to_string(kicked), std::string{"a reason of the program"});
    EXPECT_NE(own_reason(0), own_reason(65'279));
}

}  // namespace
}  // namespace fairlead::stop_reason_tests
