// Futures without memory: a call that throws leaves its future as it was, and no continuation is
// lost.
#include "faults/faults.hpp"
#include "faults/sweep.hpp"

#include <fairlead/future/promise.hpp>
#include <fairlead/future/run.hpp>
#include <fairlead/future/shared_future.hpp>
#include <fairlead/future/zip.hpp>

#include <gtest/gtest.h>

#include <exception>
#include <new>
#include <tuple>
#include <utility>
#include <vector>

namespace fairlead::test::future_tests {
namespace {

constexpr fault no_memory{};

// The recycler keeps memory: so a value that is larger than what it keeps.
struct large {
    int number = 0;
    char rest[8000]{};
};

TEST(future_allocations, a_continuation_without_memory_leaves_the_future) {
    scheduler home{{.run_on_caller = true}};
    auto both = make_promise<large>();
    {
        const armed plan{no_memory, call_range::from(1)};
        EXPECT_THROW(static_cast<void>(std::move(both.future).map([](large it) { return it; })),
                     std::bad_alloc);
        EXPECT_TRUE(plan.hit());
    }
    EXPECT_TRUE(both.future.valid());
    auto next = std::move(both.future).map([](large it) {
        ++it.number;
        return it;
    });
    both.promise.set(large{4});
    EXPECT_EQ(next.get().number, 5);
}

TEST(future_allocations, a_call_without_memory_is_not_made) {
    scheduler home{{.run_on_caller = true}};
    bool called = false;
    const auto call = [&, big = large{}] {
        called = true;
        return big;
    };
    {
        const armed plan{no_memory, call_range::from(1)};
        EXPECT_THROW(static_cast<void>(run(home, call)), std::bad_alloc);
    }
    home.run_until_idle();
    EXPECT_FALSE(called);
}

// The rest of a long chain is posted; without memory for that the step goes on itself.
TEST(future_allocations, a_chain_goes_on_without_memory) {
    scheduler home{{.run_on_caller = true}};
    auto both = make_promise<int>();
    for (int i = 0; i != 1000; ++i) {
        both.future = std::move(both.future).map([](int value) { return value + 1; });
    }
    bool in_time = false;
    home.post([&] {
        const armed plan{no_memory, call_range::from(1)};
        both.promise.set(0);
        in_time = both.future.is_ready() || !plan.hit();
    });
    home.run_until_idle();
    EXPECT_TRUE(in_time);
    EXPECT_EQ(both.future.take(), 1000);
}

TEST(future_allocations, each_call_fails_alone) {
    const auto calls = [] {
        scheduler home{{.run_on_caller = true}};
        std::vector<future<large>> all;
        for (int i = 0; i != 2; ++i) all.push_back(run(home, [] { return large{}; }));
        auto shared = share(sequence(std::move(all)));
        auto size =
            shared.copy().map([](const std::vector<large>& values) { return values.size(); });
        home.run_until_idle();
        EXPECT_TRUE(size.is_ready());
        const auto result = size.take();
        if (!result) std::rethrow_exception(result.error());
        EXPECT_EQ(*result, 2U);
    };
    const auto continuations = [] {
        scheduler home{{.run_on_caller = true}};
        auto one = make_promise<large>();
        auto two = make_promise<large>();
        auto both = zip(std::move(one.future), std::move(two.future))
                        .via(home)
                        .map([](const std::tuple<large, large>& values) {
                            return std::get<0>(values).number + std::get<1>(values).number;
                        });
        one.promise.set(large{1});
        two.promise.set(large{2});
        home.run_until_idle();
        EXPECT_EQ(both.take(), 3);
    };
    sweep(no_memory, outcome::maybe_reported, calls);
    sweep(no_memory, outcome::maybe_reported, continuations);
}

}  // namespace
}  // namespace fairlead::test::future_tests
