// Combinators, contexts and selects when memory runs out: what is reported is std::bad_alloc, or
// what they report anyway; no child is left behind, and nothing hangs.
#include "faults/sweep.hpp"
#include "support/watchdog.hpp"

#include <fairlead/channel/channel.hpp>
#include <fairlead/combine/as_completed.hpp>
#include <fairlead/combine/race.hpp>
#include <fairlead/combine/retry.hpp>
#include <fairlead/combine/when_all_ok.hpp>
#include <fairlead/combine/when_all_settled.hpp>
#include <fairlead/combine/when_any.hpp>
#include <fairlead/combine/with_timeout.hpp>
#include <fairlead/context/context.hpp>
#include <fairlead/context/trace.hpp>
#include <fairlead/context/with_deadline.hpp>
#include <fairlead/context/with_error_sink.hpp>
#include <fairlead/coro/select.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/coro/when_all.hpp>
#include <fairlead/sched/scheduler.hpp>
#include <fairlead/test/jumping_driver.hpp>
#include <fairlead/test/manual_clock.hpp>

#include <gtest/gtest.h>

#include <expected>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace fairlead::test::combine_tests {
namespace {

using namespace std::chrono_literals;

constexpr fault no_memory{};

class combine_faults : public testing::Test {
protected:
    // The body runs on a scheduler of its own, in virtual time.
    template <class Make>
    auto on_scheduler(Make make) {
        return [this, make] {
            scheduler_options options;
            options.run_on_caller = true;
            options.driver = std::make_unique<jumping_driver>(clock);
            scheduler home{std::move(options)};
            block_on(home, make());
        };
    }

    manual_clock clock;
    const watchdog guard;
};

task<int> gives(duration delay, int value) {
    co_await sleep_for(delay);
    co_return value;
}
task<int> fails(duration delay) {
    co_await sleep_for(delay);
    throw std::bad_alloc{};
}
using answer = std::expected<int, std::string>;
task<answer> answers(duration delay, int value) {
    co_await sleep_for(delay);
    co_return value;
}
task<answer> refuses(duration delay) {
    co_await sleep_for(delay);
    co_return std::unexpected{std::string{"a text that is too long for a small string"}};
}

template <class... Child>
std::vector<task<int>> list_of(Child... children) {
    std::vector<task<int>> list;
    list.reserve(sizeof...(Child));
    (list.push_back(std::move(children)), ...);
    return list;
}

// With some memory less, children may fail, and a failure may decide. All have ended.
TEST_F(combine_faults, combinators) {
    const auto body = []() -> task<> {
        static_cast<void>(co_await when_any(gives(1s, 1), gives(2s, 2)));
        static_cast<void>(co_await when_any(on_loser([](std::size_t, const auto&) {}),
                                            list_of(gives(1s, 1), gives(2s, 2), gives(3s, 3)),
                                            max_concurrency{1}));
        static_cast<void>(co_await race(gives(1s, 1), fails(500ms)));
        try {
            static_cast<void>(co_await race(list_of(fails(1s), fails(2s)), max_concurrency{1}));
        } catch (const race_error& failure) {
            EXPECT_EQ(failure.failures().size(), 2U);
        }
        static_cast<void>(co_await race_ok(answers(2s, 1), refuses(1s)));
        static_cast<void>(co_await when_all_ok(answers(2s, 1), refuses(1s)));
        static_cast<void>(
            co_await when_all_settled(list_of(gives(1s, 1), gives(2s, 2)), max_concurrency{1}));
        static_cast<void>(co_await when_all(gives(1s, 1), gives(2s, 2)));
        static_cast<void>(co_await with_timeout(gives(2s, 1), 1s));
        static_cast<void>(co_await when_all_until(immediately, gives(1s, 1), gives(2s, 2)));
    };
    sweep(no_memory, outcome::maybe_reported, on_scheduler(body));
}

// A stream that is left by an exception must have ended, so each is inside with_completed.
TEST_F(combine_faults, streams) {
    const auto body = []() -> task<> {
        const auto none = [](completions<int>&) -> task<> { co_return; };
        co_await with_completed(list_of(gives(1s, 1), gives(3s, 2)), none);
        const auto one = [](completions<int>& of) -> task<> {
            static_cast<void>(co_await of.next());
        };
        co_await with_completed(list_of(gives(1s, 1), gives(3s, 2)), one, max_concurrency{1});
        const auto all = [](completions<int>& of) -> task<> {
            int count = 0;
            while (co_await of.next()) ++count;
            EXPECT_EQ(count, 3);
        };
        co_await with_completed(list_of(gives(1s, 1), gives(3s, 2), fails(2s)), all);
    };
    sweep(no_memory, outcome::maybe_reported, on_scheduler(body));
}

task<> leaves_a_failure() {
    spawn(co_await current_executor(), fails(1s)).detach();
    co_await sleep_for(2s);
}

constexpr context_key<std::string> name{inherit::children};

// The deadline passes before the first step of the tasks. Their failure needs memory, too.
TEST_F(combine_faults, tasks_that_are_overdue) {
    const auto body = [this]() -> task<> {
        const auto late = [this]() -> task<> {
            auto started = spawn(co_await current_executor(), gives(1h, 1));
            clock.advance(2s);
            try {
                co_await shielded(started);
            } catch (const overdue_error&) {
                clock.advance(1s);
            }
            static_cast<void>(co_await when_all_settled(gives(1h, 1), gives(1h, 2)));
        };
        const auto ended = co_await with_deadline(1s, late());
        EXPECT_TRUE(ended.has_value());
    };
    sweep(no_memory, outcome::maybe_reported, on_scheduler(body));
}

TEST_F(combine_faults, contexts) {
    const auto body = []() -> task<> {
        const auto ended = co_await with_deadline(
            5s, with_value(name, std::string{"a text that is too long for a small string"},
                           with_trace(trace{}, with_deadline(1s, gives(1h, 1)))));
        EXPECT_EQ(ended.error(), wait_error::expired);
        const auto outer = co_await with_deadline(1s, with_deadline(5s, gives(1h, 1)));
        EXPECT_EQ(outer.error(), wait_error::expired);
        const auto own = [] { return with_timeout(gives(1h, 1), 1s); };
        const retry_policy twice{.attempts = 2};
        static_cast<void>(co_await retry(twice, own));
        const auto sink = [](std::exception_ptr, const failure_origin&) noexcept {};
        co_await with_error_sink(sink, leaves_a_failure());
    };
    sweep(no_memory, outcome::maybe_reported, on_scheduler(body));
}

// The send needs a block of the channel. The other branches are as if they had never been tried.
TEST_F(combine_faults, a_select_that_sends_without_memory) {
    const auto body = []() -> task<> {
        channel<int> into{channel<int>::unbounded};
        channel<int> from{1};
        auto started = spawn(co_await current_executor(), gives(1h, 1));
        int sent = 0;
        int value = 1;
        try {
            co_await select_in_order(on(from.receive(), [](auto) {}),
                                     on(started.join(), [](auto) {}),
                                     on(into.send(std::move(value)), [&](auto) { ++sent; }));
        } catch (const std::bad_alloc&) {
            EXPECT_EQ(value, 1);
            started.request_stop();
            static_cast<void>(from.try_send(2));
            EXPECT_EQ(from.length(), 1U) << "nothing waits";
            throw;
        }
        EXPECT_EQ(sent, 1);
        started.request_stop();
    };
    sweep(no_memory, outcome::maybe_reported, on_scheduler(body));
}

}  // namespace
}  // namespace fairlead::test::combine_tests
