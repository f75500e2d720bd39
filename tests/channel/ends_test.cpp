// Counted handles of a channel: its end when one side is gone, and the ends of their waits.
#include <fairlead/channel/make_channel.hpp>
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/spawn.hpp>

#include "support/tasks.hpp"
#include "support/threads.hpp"
#include "support/watchdog.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace fairlead::ends_tests {
namespace {

using namespace std::chrono_literals;
using test::simulation;
using values = std::vector<int>;

static_assert(sizeof(sender<int>) == sizeof(void*) && sizeof(receiver<int>) == sizeof(void*));

task<> receives_all(receiver<int> from, values& into) {
    while (const auto next = co_await from.receive()) into.push_back(*next);
}

task<> sends(sender<int> given, int first, int last) {
    const auto into = std::move(given);  // a parameter lives until the handle of the task is gone
    for (int i = first; i != last; ++i) {
        int value = i;
        EXPECT_TRUE(co_await into.send(std::move(value)));
    }
}

TEST(ChannelEnds, TheLastSenderClosesAndTheReceiversDrain) {
    simulation sim;
    values got;
    auto [into, from] = make_channel<int>(2);
    auto receiving = spawn(sim.scheduler, receives_all(std::move(from), got));
    spawn(sim.scheduler, sends(into, 0, 10)).detach();
    spawn(sim.scheduler, sends(into, 10, 20)).detach();
    sim.scheduler.run_until_idle();
    EXPECT_EQ(got.size(), 20U);
    EXPECT_FALSE(receiving.ended()) << "a sender is left";
    EXPECT_TRUE(into.try_send(20));
    into = {};
    sim.scheduler.run_until_idle();
    EXPECT_TRUE(receiving.ended());
    EXPECT_EQ(got.size(), 21U) << "what was sent before arrives";
}

TEST(ChannelEnds, TheLastReceiverClosesAndDrops) {
    simulation sim;
    values dropped;
    auto [into, from] = make_channel<std::unique_ptr<int>>(
        1, when_full::wait, [to = &dropped](std::unique_ptr<int>&& gone) { to->push_back(*gone); });
    EXPECT_TRUE(into.try_send(std::make_unique<int>(1)));
    std::optional<wait_error> error;
    const auto waits = [&, mine = into]() -> task<> {
        auto value = std::make_unique<int>(2);
        const auto sent = co_await mine.send(std::move(value));
        if (!sent) error = sent.error();
        EXPECT_EQ(*value, 2) << "the sender keeps what was not sent";
    };
    auto sending = spawn(sim.scheduler, waits());
    sim.scheduler.run_until_idle();
    auto second = from;
    from = {};
    sim.scheduler.run_until_idle();
    EXPECT_FALSE(error) << "a receiver is left";
    second = {};
    sim.scheduler.run_until_idle();
    EXPECT_EQ(error, wait_error::closed);
    EXPECT_EQ(dropped, values{1});
    EXPECT_TRUE(into.is_closed());
    auto late = std::make_unique<int>(3);
    EXPECT_EQ(into.try_send(std::move(late)).error(), wait_error::closed);
    EXPECT_EQ(*late, 3);
    std::move(sending).get();
}

// tokio#4867: closed stays closed, whatever handles come and go.
TEST(ChannelEnds, ClosedStaysClosed) {
    auto [into, from] = make_channel<int>(4);
    EXPECT_TRUE(into.try_send(1));
    EXPECT_TRUE(from.close());
    EXPECT_FALSE(from.close());
    {
        const auto copy = into;
        EXPECT_EQ(copy.try_send(2).error(), wait_error::closed);
    }
    const auto more = from;
    EXPECT_TRUE(more.is_closed() && into.is_closed());
    EXPECT_EQ(more.try_receive(), 1);
    EXPECT_EQ(from.try_receive().error(), wait_error::closed);
    EXPECT_EQ(into.try_send(3).error(), wait_error::closed);
}

// tokio#8260: the last sender is gone, and the last permit returns: the receiver is told.
TEST(ChannelEnds, TheLastPermitEndsTheReceiver) {
    simulation sim;
    values got;
    auto [into, from] = make_channel<int>(2);
    auto receiving = spawn(sim.scheduler, receives_all(std::move(from), got));
    auto used = *into.try_reserve();
    auto unused = *into.try_reserve();
    into.close();
    sim.scheduler.run_until_idle();
    EXPECT_FALSE(receiving.ended()) << "the permits may bring elements";
    EXPECT_TRUE(std::move(used).send(1));
    sim.scheduler.run_until_idle();
    EXPECT_FALSE(receiving.ended());
    unused = {};
    sim.scheduler.run_until_idle();
    EXPECT_TRUE(receiving.ended());
    EXPECT_EQ(got, values{1});
}

// saa#304: a sender that is stopped ends alone.
TEST(ChannelEnds, AStoppedSenderDoesNotCloseTheChannel) {
    simulation sim;
    auto [into, from] = make_channel<int>(1);
    EXPECT_TRUE(into.try_send(1));
    const auto waits = [](sender<int> mine) -> task<wait_error> {
        co_return (co_await mine.send(2)).error();
    };
    auto sending = spawn(sim.scheduler, waits(into));
    sim.scheduler.run_until_idle();
    sending.request_stop();
    sim.scheduler.run_until_idle();
    EXPECT_EQ(std::move(sending).get(), wait_error::stopped);
    EXPECT_FALSE(from.is_closed());
    EXPECT_EQ(from.try_receive(), 1);
    EXPECT_TRUE(into.try_send(3));
    EXPECT_EQ(from.try_receive(), 3);
}

// TMC#242: a receiver that sleeps is told the end, whenever the senders go.
TEST(ChannelEnds, ASleepingReceiverIsToldTheEnd) {
    test::watchdog guard;
    scheduler home{{.workers = 2}};
    for (int round = 0; round != 300; ++round) {
        values got;
        auto [into, from] = make_channel<int>(1);
        auto receiving = spawn(home, receives_all(std::move(from), got));
        auto first = spawn(home, sends(into, 0, 3));
        auto second = spawn(home, sends(std::move(into), 3, 6));
        std::move(receiving).get();
        EXPECT_EQ(got.size(), 6U);
        std::move(first).get();
        std::move(second).get();
    }
}

TEST(ChannelEnds, CopiesAndMovesAreCounted) {
    auto [into, from] = make_channel<int>(4);
    sender<int> none;
    EXPECT_FALSE(none);
    sender<int> copy = into;
    sender<int> moved = std::move(copy);
    EXPECT_FALSE(copy);
    EXPECT_TRUE(moved);
    moved = std::as_const(moved);
    moved = none;
    EXPECT_FALSE(moved);
    EXPECT_FALSE(from.is_closed());
    auto [other_into, other_from] = make_channel<int>(1);
    into = other_into;
    EXPECT_TRUE(from.is_closed()) << "the last sender has become another one's";
    EXPECT_EQ(other_from.capacity(), 1U);
    EXPECT_EQ(into.length(), 0U);
}

TEST(ChannelEnds, TheLastHandleOfAnySideFreesTheChannel) {
    for (const bool senders_first : {false, true}) {
        auto probe = std::make_shared<int>(1);
        {
            auto [into, from] = make_channel<std::shared_ptr<int>>(4);
            EXPECT_TRUE(into.try_send(std::shared_ptr{probe}));
            if (senders_first) {
                into = {};
                EXPECT_EQ(probe.use_count(), 2);
                from = {};
            } else {
                from = {};
                EXPECT_EQ(probe.use_count(), 1) << "dropped with the last receiver";
                into = {};
            }
            EXPECT_EQ(probe.use_count(), 1);
        }
    }
}

TEST(ChannelEnds, BatchesAndThreadsUseThem) {
    test::watchdog guard;
    auto [into, from] = make_channel<int>(8);
    std::atomic<int> sum{0};
    test::run_together(4, [&, from = &from, into = &into](std::size_t index) {
        if (index < 2) {
            const sender<int> mine = *into;
            std::array<int, 50> all{};
            all.fill(1);
            EXPECT_EQ(mine.send_many_blocking(all), 50U);
            EXPECT_TRUE(mine.send_blocking(1));
            EXPECT_TRUE(std::move(*mine.reserve_blocking()).send(1));
        } else {
            const receiver<int> mine = *from;
            std::array<int, 7> some{};
            // With a deadline, because the other receiver may take the last ones.
            while (sum != 104) {
                const auto count = mine.receive_many_blocking(some, clock::system_now() + 1ms);
                if (count) sum += static_cast<int>(*count);
            }
        }
    });
    into = {};
    EXPECT_FALSE(from.receive_blocking());
    EXPECT_EQ(sum, 104);
}

TEST(ChannelEndsDeathTest, AHandleThatIsNoneIsNotUsed) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const sender<int> into;
    const receiver<int> from;
    EXPECT_DEATH(static_cast<void>(into.try_send(1)),
                 "a sender of a channel was used that is none");
    EXPECT_DEATH(static_cast<void>(from.try_receive()),
                 "a receiver of a channel was used that is none");
}

}  // namespace
}  // namespace fairlead::ends_tests
