// Broadcasts, watches and counted ends without memory: what fails changes nothing, and waits need
// none.
#include "faults/faults.hpp"
#include "faults/sweep.hpp"

#include <fairlead/channel/broadcast.hpp>
#include <fairlead/channel/make_channel.hpp>
#include <fairlead/channel/watch.hpp>
#include <fairlead/coro/spawn.hpp>

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <new>
#include <stdexcept>
#include <utility>

namespace fairlead::test::fanout_tests {
namespace {

constexpr fault no_memory{};

// Too large for what a thread has recycled: each one is an allocation.
struct page {
    std::array<char, 8192> bytes{};
    int number = 0;
};
page page_of(int number) {
    page made;
    made.number = number;
    return made;
}

TEST(fanout_allocations, a_value_that_there_is_no_memory_for_is_not_sent) {
    broadcast<page> one{2};
    auto sub = one.subscribe();
    const auto kept = make_held<page>(page_of(1));
    {
        const armed plan{no_memory, call_range::from(1)};
        EXPECT_THROW(one.try_send(page_of(2)), std::bad_alloc);
        EXPECT_THROW(static_cast<void>(one.send_blocking(page_of(2))), std::bad_alloc);
        EXPECT_TRUE(plan.hit());
        EXPECT_TRUE(one.try_send(kept)) << "a value that is shared already needs no memory";
        EXPECT_EQ((*sub.try_receive())->number, 1);
    }
    EXPECT_TRUE(one.try_send(page_of(3)));
    EXPECT_EQ((*sub.try_receive())->number, 3);
    EXPECT_EQ(sub.try_receive().error(), wait_error::would_wait);
}

TEST(fanout_allocations, a_task_whose_send_has_no_memory_goes_on) {
    broadcast<page> one{1};
    auto sub = one.subscribe();
    scheduler home{{.run_on_caller = true}};
    bool failed = false;
    const auto sends = [&]() -> task<> {
        try {
            const armed plan{no_memory, call_range::from(1)};
            static_cast<void>(co_await one.send(page_of(1)));
        } catch (const std::bad_alloc&) {
            failed = true;
        }
        const auto sent = co_await one.send(page_of(2));
        EXPECT_TRUE(sent);
    };
    spawn(home, sends()).get();
    EXPECT_TRUE(failed);
    EXPECT_EQ((*sub.try_receive())->number, 2);
}

TEST(fanout_allocations, a_watch_without_memory_keeps_its_value) {
    watch<page> one{page_of(1)};
    auto mine = one.subscribe(initial::seen);
    {
        const armed plan{no_memory, call_range::from(1)};
        EXPECT_THROW(one.set(page_of(2)), std::bad_alloc);
        EXPECT_THROW(one.update([](page& it) { it.number = 3; }), std::bad_alloc);
        EXPECT_TRUE(plan.hit());
        EXPECT_EQ(one.get()->number, 1);
        EXPECT_EQ(mine.try_changed().error(), wait_error::would_wait);
    }
    EXPECT_TRUE(one.update([](page& it) { it.number = 3; }));
    EXPECT_EQ((*mine.try_changed())->number, 3);
}

// Waits, receives and subscriptions, with each allocation failing.
TEST(fanout_allocations, waits_and_receives_need_no_memory) {
    broadcast<int> one{2, lag::wait};
    watch<int> newest{0};
    scheduler home{{.run_on_caller = true}};
    auto sub = one.subscribe();
    auto mine = newest.subscribe(initial::seen);
    int got = 0;
    const auto waits = [&]() -> task<> {
        while (const auto next = co_await sub.receive()) got += **next;
        while (const auto next = co_await mine.changed()) got += **next;
    };
    auto waiting = spawn(home, waits());
    home.run_until_idle();
    const auto value = make_held<int>(1);
    {
        const armed plan{no_memory, call_range::from(1)};
        for (int i = 0; i != 100; ++i) {
            EXPECT_TRUE(one.try_send(value));
            auto late = one.subscribe(1);
            EXPECT_TRUE(late.try_receive());
            home.run_until_idle();
        }
        one.close();
        home.run_until_idle();
        for (int i = 0; i != 100; ++i) {
            EXPECT_TRUE(newest.set(value));
            home.run_until_idle();
        }
        newest.close();
        home.run_until_idle();
        EXPECT_FALSE(plan.hit());
    }
    std::move(waiting).get();
    EXPECT_EQ(got, 200);
}

// Everything at once, with the n-th allocation failing: nothing leaks.
TEST(fanout_allocations, whatever_fails_frees_all) {
    sweep(no_memory, outcome::maybe_reported, [] {
        auto [into, from] = make_channel<std::unique_ptr<page>>(40);
        static_cast<void>(into.try_send(std::make_unique<page>()));
        broadcast<page> one{3, lag::wait};
        auto sub = one.subscribe();
        for (int i = 0; i != 3; ++i) static_cast<void>(one.try_send(page_of(i)));
        watch<page> newest{page_of(0)};
        auto mine = newest.subscribe();
        newest.update([](page& it) { ++it.number; });
        if (*sub.try_receive() == *mine.try_changed()) throw std::logic_error{"one page"};
    });
}

}  // namespace
}  // namespace fairlead::test::fanout_tests
