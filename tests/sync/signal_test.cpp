#include <fairlead/detail/sync/signal.hpp>

#include "support/threads.hpp"
#include "support/watchdog.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>

namespace fairlead::sync::signal_tests {
namespace {

using namespace std::chrono_literals;

TEST(Signal, IsNotSentAtFirst) {
    signal event;
    EXPECT_FALSE(event.try_receive());
    EXPECT_FALSE(event.receive_until(immediately));
}

TEST(Signal, IsReceivedOnce) {
    signal event;
    event.send();
    EXPECT_TRUE(event.try_receive());
    EXPECT_FALSE(event.try_receive());
}

TEST(Signal, DoesNotCount) {
    signal event;
    event.send();
    event.send();
    EXPECT_TRUE(event.receive_until(never));
    EXPECT_FALSE(event.receive_until(immediately));
}

TEST(Signal, IsReceivedThoughTheDeadlineHasPassed) {
    signal event;
    event.send();
    EXPECT_TRUE(event.receive_until(immediately));
}

TEST(Signal, NeverTimesOutEarlyAndIsUsableAfterwards) {
    test::watchdog guard;
    signal event;
    const time_point deadline = clock::now() + 3ms;
    EXPECT_FALSE(event.receive_until(deadline));
    EXPECT_GE(clock::now(), deadline);
    event.send();
    EXPECT_TRUE(event.try_receive());
}

TEST(Signal, PingPong) {
    test::watchdog guard;
    constexpr int turns = 20'000;
    signal ping;
    signal pong;
    int ball = 0;  // not atomic: the signals order it, which the thread sanitizer checks
    std::thread other{[&] {
        for (int i = 0; i != turns; ++i) {
            ping.receive();
            ++ball;
            pong.send();
        }
    }};
    for (int i = 0; i != turns; ++i) {
        ++ball;
        ping.send();
        pong.receive();
        ASSERT_EQ(ball, 2 * (i + 1));
    }
    other.join();
}

// A send that finds the event already sent must still publish what was written before it: the
// receiver that takes the older event sees the newer data, or gets another event.
TEST(Signal, ASecondSendIsNotLost) {
    test::watchdog guard;
    constexpr int per_thread = 30'000;
    constexpr std::size_t senders = 3;
    signal event;
    std::atomic<int> work{0};
    std::thread receiver{[&] {
        int done = 0;
        while (done != per_thread * static_cast<int>(senders)) {
            event.receive();
            done += work.exchange(0, std::memory_order_relaxed);
        }
    }};
    test::run_together(senders, [&](std::size_t) {
        for (int i = 0; i != per_thread; ++i) {
            work.fetch_add(1, std::memory_order_relaxed);
            event.send();
        }
    });
    receiver.join();
}

// Short time-outs against sends: every send is either received in time or left for the next
// receive.
TEST(Signal, TimeOutsRaceWithSends) {
    test::watchdog guard;
    constexpr int sends = 3'000;
    signal event;
    std::atomic<int> sent{0};
    std::atomic<int> received{0};
    std::thread sender{[&] {
        for (int i = 0; i != sends; ++i) {
            ++sent;
            event.send();
            received.wait(i);  // until it was received
        }
    }};
    while (received != sends) {
        if (event.receive_until(clock::now() + 20us)) {
            ++received;
            received.notify_one();
        }
    }
    sender.join();
    EXPECT_FALSE(event.try_receive());
}

// The receiver may free the signal as soon as it has received it.
TEST(Signal, TheSendersLastTouchIsTheExchange) {
    test::watchdog guard;
    for (int i = 0; i != 5'000; ++i) {
        auto event = std::make_unique<signal>();
        std::thread sender{[raw = event.get()] { raw->send(); }};
        event->receive();
        event.reset();
        sender.join();
    }
}

}  // namespace
}  // namespace fairlead::sync::signal_tests
