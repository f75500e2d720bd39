// A read or a write of a stream as a branch of a select.
#include <fairlead/channel/channel.hpp>
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/select.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/io/epoll_driver.hpp>
#include <fairlead/io/tcp.hpp>

#include "support/tasks.hpp"

#include <gtest/gtest.h>

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

namespace fairlead::select_tests {
namespace {

using namespace std::chrono_literals;

// A scheduler with sockets, and a pair of them: `near` is a stream, `far` a descriptor.
class SelectIo : public testing::Test {
protected:
    SelectIo() {
        auto driver = std::make_unique<io::epoll_driver>();
        io::epoll_driver& epoll = *driver;
        home.emplace(scheduler_options{.workers = 1, .driver = std::move(driver)});
        std::array<int, 2> ends{};
        if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()) != 0) std::abort();
        near = io::tcp_stream::adopt(epoll, os::unique_fd{ends[0]}).value();
        far = os::unique_fd{ends[1]};
    }
    ~SelectIo() override { near.reset(); }

    // The only worker has run what was posted before.
    void let_it_wait() {
        const auto nothing = []() -> task<> { co_return; };
        spawn(*home, nothing()).get();
    }

    void far_sends(std::string_view text) {
        ASSERT_EQ(::send(far.get(), text.data(), text.size(), 0), std::ssize(text));
    }

    std::optional<scheduler> home;
    std::optional<io::tcp_stream> near;
    os::unique_fd far;
};

task<std::string> reads_or_receives(io::tcp_stream& from, channel<int>& in, time_span limit) {
    std::array<std::byte, 64> buffer{};
    const auto ended = co_await select(
        on(from.read_some(buffer),
           [&](std::expected<std::size_t, std::error_code> size) {
               if (!size) return std::string{"error"};
               return "read " + std::string{reinterpret_cast<const char*>(buffer.data()), *size};
           }),
        on(in.receive(), [](waited<int> got) { return "got " + std::to_string(*got); }),
        on(sleep_for(limit), [] { return std::string{"late"}; }));
    co_return ended ? *ended : std::string{"stopped"};
}

TEST_F(SelectIo, ReadsWhatIsThere) {
    channel<int> in{1};
    far_sends("a");
    EXPECT_EQ(spawn(*home, reads_or_receives(*near, in, 60s)).get(), "read a");
}

TEST_F(SelectIo, WaitsForData) {
    channel<int> in{1};
    auto waits = spawn(*home, reads_or_receives(*near, in, 60s));
    let_it_wait();
    EXPECT_FALSE(waits.ended());
    far_sends("b");
    EXPECT_EQ(waits.get(), "read b");
    ASSERT_TRUE(in.try_send(1));
    EXPECT_EQ(in.length(), 1U);
}

// The data of a read that was not taken stay in the socket.
TEST_F(SelectIo, AnotherBranchLeavesTheData) {
    channel<int> in{1};
    auto waits = spawn(*home, reads_or_receives(*near, in, 60s));
    let_it_wait();
    ASSERT_TRUE(in.try_send(7));
    EXPECT_EQ(waits.get(), "got 7");
    far_sends("c");
    EXPECT_EQ(spawn(*home, reads_or_receives(*near, in, 60s)).get(), "read c");
}

TEST_F(SelectIo, ADeadlineAndAStopEndIt) {
    channel<int> in{1};
    EXPECT_EQ(spawn(*home, reads_or_receives(*near, in, 1ms)).get(), "late");
    auto waits = spawn(*home, reads_or_receives(*near, in, 60s));
    let_it_wait();
    waits.request_stop();
    EXPECT_EQ(waits.get(), "stopped");
}

// A wake-up without data: it begins again, and goes on to wait for both.
TEST_F(SelectIo, BeginsAgainAfterAWakeUpWithoutData) {
    channel<int> in{1};
    for (const bool by_data : {true, false}) {
        auto waits = spawn(*home, reads_or_receives(*near, in, 60s));
        for (int i = 0; i != 5; ++i) {
            let_it_wait();
            waits.get_task().wakeup();
        }
        let_it_wait();
        EXPECT_FALSE(waits.ended());
        if (by_data) {
            far_sends("d");
            EXPECT_EQ(waits.get(), "read d");
        } else {
            ASSERT_TRUE(in.try_send(3));
            EXPECT_EQ(waits.get(), "got 3");
        }
    }
}

// The round after a long step polls the driver: the edge wakes the task that selects. Before its
// step the only worker sends the element.
task<std::string> ends_by_both(io::tcp_stream& from, const os::unique_fd& far, channel<int>& in) {
    // A read that gets less than it asks for: the next one waits for an edge.
    std::array<std::byte, 64> buffer{};
    EXPECT_EQ(::send(far.get(), "x", 1, 0), 1);
    EXPECT_EQ((co_await from.read_some(buffer)).value(), 1U);

    auto waits = spawn(co_await current_executor(), reads_or_receives(from, in, 60s));
    for (int i = 0; i != 4; ++i) co_await yield();
    EXPECT_EQ(::send(far.get(), "d", 1, 0), 1);
    const time_point begin = clock::now();
    while (clock::now() < begin + 2ms) {
    }
    co_await yield();
    EXPECT_TRUE(in.try_send(1));
    std::string ends = co_await waits;
    ends += ", " + co_await reads_or_receives(from, in, 5s);
    co_return ends;
}

TEST_F(SelectIo, AnEdgeWhoseBranchHasNotEndedIsKept) {
    for (int i = 0; i != 20; ++i) {
        channel<int> in{1};
        const std::string ends = spawn(*home, ends_by_both(*near, far, in)).get();
        EXPECT_TRUE(ends == "got 1, read d" || ends == "read d, got 1") << ends;
    }
}

task<int> counts_both(io::tcp_stream& from, channel<int>& in, int bytes, int elements) {
    std::array<std::byte, 16> buffer{};
    int turns = 0;
    while (bytes > 0 || elements > 0) {
        ++turns;
        const auto ended = co_await select(
            on_if(bytes > 0, from.read_some(buffer),
                  [&](std::expected<std::size_t, std::error_code> size) {
                      bytes -= static_cast<int>(size.value());
                  }),
            on_if(elements > 0, in.receive(), [&](waited<int> got) { elements -= *got; }));
        EXPECT_TRUE(ended);
    }
    co_return turns;
}

// Both sides at once, from other threads: nothing is lost.
TEST_F(SelectIo, NothingIsLostBetweenASocketAndAChannel) {
    constexpr int count = 2000;
    channel<int> in{4};
    auto counts = spawn(*home, counts_both(*near, in, count, count));
    std::thread sends{[&] {
        for (int i = 0; i != count; ++i) EXPECT_TRUE(in.send_blocking(1));
    }};
    for (int i = 0; i != count; ++i) {
        while (::send(far.get(), "x", 1, 0) != 1) {
            ASSERT_EQ(errno, EAGAIN);
            std::this_thread::yield();
        }
    }
    sends.join();
    EXPECT_LE(counts.get(), 2 * count);
}

}  // namespace
}  // namespace fairlead::select_tests
