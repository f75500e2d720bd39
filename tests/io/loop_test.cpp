// A scheduler with sockets in a foreign main loop. Here poll(2) is the loop, which knows only a
// descriptor.
#include "support/sockets.hpp"
#include "support/watchdog.hpp"

#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/spawn.hpp>

#include <gtest/gtest.h>

#include <poll.h>

#include <array>
#include <memory>
#include <thread>

namespace fairlead::loop_tests {
namespace {

using namespace std::chrono_literals;
using io::tcp_listener;

scheduler_options in_loop() {
    return {.run_on_caller = true, .driver = std::make_unique<io::epoll_driver>()};
}

bool is_readable(const scheduler& of, int timeout_ms) {
    pollfd entry{.fd = of.driver().descriptor(), .events = POLLIN, .revents = 0};
    return ::poll(&entry, 1, timeout_ms) == 1;
}

// The loop: sleeps until the descriptor is readable, without a limit, and never looks at the time.
template <class Done>
int loop_until(scheduler& home, Done done) {
    int turns = 0;
    for (;; ++turns) {
        const time_point until = home.run_in_loop();
        if (done()) return turns;
        EXPECT_TRUE(is_readable(home, until == immediately ? 0 : -1));
    }
}

TEST(ForeignLoop, IsWokenByADeadline) {
    const test::watchdog guard;
    scheduler home{in_loop()};
    auto sleeper = spawn(home, []() -> task<time_point> {
        co_await sleep_for(3ms);
        co_return clock::now();
    }());
    const time_point begin = clock::now();
    loop_until(home, [&] { return sleeper.ended(); });
    EXPECT_GE(sleeper.get() - begin, 3ms);
}

TEST(ForeignLoop, IsWokenByAPostOfAnotherThread) {
    const test::watchdog guard;
    scheduler home{in_loop()};
    for (int round = 0; round != 50; ++round) {
        bool ran = false;
        EXPECT_EQ(home.run_in_loop(), never);
        std::jthread poster{[&] { home.post([&] { ran = true; }); }};
        loop_until(home, [&] { return ran; });
    }
}

TEST(ForeignLoop, SleepsWhileThereIsNothingToDo) {
    const test::watchdog guard;
    scheduler home{in_loop()};
    EXPECT_EQ(home.run_in_loop(), never);
    EXPECT_FALSE(is_readable(home, 0));
    home.post([] {});
    EXPECT_TRUE(is_readable(home, 0));
    EXPECT_EQ(home.run_in_loop(), never);
    EXPECT_FALSE(is_readable(home, 0));  // the wake-up is used up
}

TEST(ForeignLoop, IsCalledAgainWhenItHasRunEnough) {
    const test::watchdog guard;
    scheduler home{in_loop()};
    EXPECT_EQ(home.run_in_loop(), never);
    for (int i = 0; i != 10; ++i) home.post([] {});
    EXPECT_EQ(home.run_in_loop(9), immediately);
    EXPECT_TRUE(is_readable(home, 0));
}

TEST(ForeignLoop, IsToldTheNextDeadline) {
    const test::watchdog guard;
    scheduler home{in_loop()};
    const time_point due = clock::now() + 1h;
    auto sleeper =
        spawn(home, [](time_point until) -> task<void> { co_await sleep_until(until); }(due));
    EXPECT_EQ(home.run_in_loop(), due);
    EXPECT_FALSE(is_readable(home, 0));
    sleeper.request_stop();
    loop_until(home, [&] { return sleeper.ended(); });
    EXPECT_EQ(home.run_in_loop(), never);
}

task<std::size_t> echo(tcp_listener& listener) {
    auto peer = co_await listener.accept();
    std::size_t total = 0;
    std::array<std::byte, 64> buffer;
    while (const std::size_t size = (co_await peer->read_some(buffer)).value_or(0)) {
        static_cast<void>(co_await peer->write_all(std::span{buffer}.first(size)));
        total += size;
    }
    co_return total;
}

TEST(ForeignLoop, IsWokenBySockets) {
    const test::watchdog guard;
    scheduler home{in_loop()};
    auto listener = tcp_listener::bind(home, io::address::loopback(0));
    ASSERT_TRUE(listener);
    const io::address where = *listener->local_address();
    auto server = spawn(home, echo(*listener));
    int answers = 0;
    std::jthread client{[&] {
        const auto socket = test::raw_socket::connected(where);
        std::array<char, 4> got{};
        for (; answers != 20; ++answers) {
            if (::send(socket.fd(), "ping", 4, 0) != 4) return;
            if (::recv(socket.fd(), got.data(), got.size(), MSG_WAITALL) != 4) return;
        }
    }};
    loop_until(home, [&] { return server.ended(); });
    client.join();
    EXPECT_EQ(answers, 20);
    EXPECT_EQ(server.get(), 80u);
}

TEST(ForeignLoop, AStopEndsItsTasks) {
    const test::watchdog guard;
    scheduler home{in_loop()};
    auto listener = tcp_listener::bind(home, io::address::loopback(0));
    auto server = spawn(home, listener->accept());
    EXPECT_EQ(home.run_in_loop(), never);
    EXPECT_TRUE(home.stop(1h).clean());
    EXPECT_EQ(server.get().error(), std::errc::operation_canceled);
}

}  // namespace
}  // namespace fairlead::loop_tests
