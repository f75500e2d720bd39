// Continuations that handle failures and look at results, and futures made of several.
#include "future/failures.hpp"

#include <fairlead/coro/spawn.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/future/promise.hpp>
#include <fairlead/future/shared_future.hpp>
#include <fairlead/future/zip.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <expected>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

namespace fairlead::combinators_tests {
namespace {

using test::code;
using test::failure;

future<int, failure> good(int value) { return ready<int, failure>(std::move(value)); }
future<int, failure> bad(std::string what) { return failed<int, failure>({std::move(what)}); }

TEST(FutureCombinators, RecoverMakesAValueOfAFailure) {
    const auto length = [](failure why) { return static_cast<int>(why.what.size()); };
    EXPECT_EQ(bad("four").recover(length).get(), 4);
    EXPECT_EQ(good(1).recover(length).get(), 1);
    EXPECT_EQ(bad("four").recover_value(9).get(), 9);
    EXPECT_EQ(good(1).recover_value(9).get(), 1);
    int calls = 0;
    EXPECT_TRUE((failed<void, failure>({"no"}))
                    .recover([&](const failure&) { ++calls; })
                    .get()
                    .has_value());
    EXPECT_EQ(calls, 1);
    EXPECT_EQ(bad("x")
                  .recover([](const failure&) -> int { throw std::runtime_error{"y"}; })
                  .get()
                  .error(),
              failure{"y"});
}

TEST(FutureCombinators, OrElseMayChangeTheFailure) {
    const auto other = [](const failure&) { return failed<int, code>({3}); };
    EXPECT_EQ(bad("x").or_else(other).get().error().number, 3);
    EXPECT_EQ(good(1).or_else(other).get(), 1);
    EXPECT_EQ(bad("x").recover_with([](const failure&) { return good(2); }).get(), 2);
    EXPECT_EQ(bad("x").or_else([](const failure&) { return std::expected<int, code>{4}; }).get(),
              4);
}

TEST(FutureCombinators, MapFailureMayChangeTheType) {
    const auto to_code = [](const failure& why) { return code{static_cast<int>(why.what.size())}; };
    EXPECT_EQ(bad("four").map_failure(to_code).get().error().number, 4);
    EXPECT_EQ(good(1).map_failure(to_code).get(), 1);
}

TEST(FutureCombinators, FilterRejects) {
    const auto even = [](int value) { return value % 2 == 0; };
    EXPECT_EQ(good(2).filter(even, {"odd"}).get(), 2);
    EXPECT_EQ(good(3).filter(even, {"odd"}).get().error(), failure{"odd"});
    EXPECT_EQ(bad("x").filter(even, {"odd"}).get().error(), failure{"x"});
}

TEST(FutureCombinators, ObserversLetTheResultPass) {
    std::string seen;
    const auto watch = [&](future<int, failure> it) {
        return std::move(it)
            .on_success([&](int) { seen += 's'; })
            .tap([&](int) { seen += 't'; })
            .on_failure([&](const failure&) { seen += 'f'; })
            .on_complete([&](const std::expected<int, failure>&) { seen += 'c'; });
    };
    EXPECT_EQ(watch(good(1)).get(), 1);
    EXPECT_EQ(seen, "stc");
    EXPECT_EQ(watch(bad("x")).get().error(), failure{"x"});
    EXPECT_EQ(seen, "stcfc");
    EXPECT_EQ(good(1).tap([](int) { throw std::runtime_error{"y"}; }).get().error(), failure{"y"});
}

TEST(FutureCombinators, AValueMayBeAnExpected) {
    using value = std::expected<int, code>;
    EXPECT_EQ((ready<value, failure>(value{5})).tap([](const value&) {}).get()->value(), 5);
}

// --- zip, sequence -------------------------------------------------------------------------------

TEST(FutureZip, GivesAllValues) {
    auto one = make_promise<int, failure>();
    auto two = make_promise<std::unique_ptr<int>, failure>();
    auto all = zip(std::move(one.future), std::move(two.future), (ready<failure>()));
    two.promise.set(std::make_unique<int>(2));
    EXPECT_FALSE(all.is_ready());
    one.promise.set(1);
    const auto result = all.get();
    EXPECT_EQ(std::get<0>(*result), 1);
    EXPECT_EQ(*std::get<1>(*result), 2);
    EXPECT_EQ(std::get<2>(*result), std::monostate{});
}

// asynqro looks from left to right.
TEST(FutureZip, FailsAsSoonAsOneFailsAndDropsTheRest) {
    auto one = make_promise<int, failure>();
    auto two = make_promise<int, failure>();
    auto three = make_promise<int, failure>();
    auto all = zip(std::move(one.future), std::move(two.future), std::move(three.future));
    two.promise.fail({"second"});
    ASSERT_TRUE(all.is_ready());
    EXPECT_EQ(all.get().error(), failure{"second"});
    EXPECT_FALSE(one.promise.is_wanted());
    EXPECT_FALSE(three.promise.is_wanted());
    one.promise.set(1);
}

TEST(FutureZip, AFailureThatIsThereDropsTheRest) {
    auto one = make_promise<int, failure>();
    auto two = make_promise<int, failure>();
    auto all = zip(std::move(one.future), bad("there"), std::move(two.future));
    EXPECT_EQ(all.get().error(), failure{"there"});
    EXPECT_FALSE(one.promise.is_wanted());
    EXPECT_FALSE(two.promise.is_wanted());
}

TEST(FutureZip, FailuresOfOtherTypesAreConverted) {
    EXPECT_EQ(zip(good(1), (failed<int, code>({6}))).get().error(), failure{"code 6"});
    EXPECT_EQ(zip<failure>((failed<int, code>({6})), good(1)).get().error(), failure{"code 6"});
}

TEST(FutureSequence, KeepsTheOrder) {
    std::vector<future<int, failure>> all;
    std::vector<promise<int, failure>> promises;
    for (int i = 0; i != 100; ++i) {
        auto both = make_promise<int, failure>();
        promises.push_back(std::move(both.promise));
        all.push_back(std::move(both.future));
    }
    auto result = sequence(std::move(all));
    for (int i = 99; i >= 0; --i) promises[static_cast<std::size_t>(i)].set(i);
    const auto values = result.get();
    ASSERT_EQ(values->size(), 100U);
    for (int i = 0; i != 100; ++i) EXPECT_EQ((*values)[static_cast<std::size_t>(i)], i);
}

TEST(FutureSequence, OfNothingIsThere) {
    EXPECT_TRUE(sequence(std::vector<future<int>>{}).get().empty());
    sequence(std::vector<future<void>>{}).get();
}

TEST(FutureSequence, SettledGivesEachResult) {
    std::vector<future<int, failure>> all;
    all.push_back(good(1));
    all.push_back(bad("x"));
    const auto results = sequence_settled(std::move(all)).get();
    EXPECT_EQ((*results)[0], 1);
    EXPECT_EQ((*results)[1].error(), failure{"x"});
}

TEST(FutureSequence, ThreadsThatFailAtOnceGiveOneFailure) {
    for (int round = 0; round != 200; ++round) {
        std::vector<future<int, failure>> all;
        std::vector<promise<int, failure>> promises;
        for (int i = 0; i != 3; ++i) {
            auto both = make_promise<int, failure>();
            promises.push_back(std::move(both.promise));
            all.push_back(std::move(both.future));
        }
        std::vector<std::jthread> threads;
        for (auto& each : promises) threads.emplace_back([&each] { each.fail({"x"}); });
        EXPECT_EQ(sequence(std::move(all)).get().error(), failure{"x"});
    }
}

// --- shared futures ------------------------------------------------------------------------------

TEST(SharedFuture, EachConsumerHasACopy) {
    auto both = make_promise<std::string>();
    const auto it = share(std::move(both.future));
    const auto same = it;
    auto longer = it.copy().map([](const std::string& text) { return text + "!"; });
    EXPECT_FALSE(same.is_ready());
    both.promise.set("text");
    EXPECT_EQ(it.get(), "text");
    EXPECT_EQ(same.result(), "text");
    EXPECT_EQ(longer.get(), "text!");
    EXPECT_EQ(it.copy().get(), "text") << "also later";
}

TEST(SharedFuture, TasksAndThreadsWait) {
    scheduler home{{.workers = 2}};
    auto both = make_promise<int, failure>();
    const auto it = share(std::move(both.future));
    const auto waits = [](shared_future<int, failure> mine) -> task<int> {
        const auto result = co_await mine;
        co_return *result;
    };
    auto first = spawn(home, waits(it));
    auto second = spawn(home, waits(it));
    std::jthread thread{[it] { EXPECT_EQ(it.get(), 5); }};
    EXPECT_EQ(it.wait_blocking(clock::now()).error(), wait_error::expired);
    both.promise.set(5);
    EXPECT_EQ(first.get(), 5);
    EXPECT_EQ(second.get(), 5);
}

TEST(SharedFuture, TheLastCopyDropsTheResult) {
    auto both = make_promise<int>();
    auto it = share(std::move(both.future));
    auto same = it;
    it = {};
    EXPECT_TRUE(both.promise.is_wanted());
    same = {};
    EXPECT_FALSE(both.promise.is_wanted());
    for (int round = 0; round != 500; ++round) {
        auto racing = make_promise<int>();
        auto copy = share(std::move(racing.future));
        std::jthread gives{[&] { racing.promise.set(1); }};
        copy = {};
    }
}

}  // namespace
}  // namespace fairlead::combinators_tests
