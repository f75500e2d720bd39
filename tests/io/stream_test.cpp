// A connection, step by step: data, ends, resets, short writes.
#include "support/sockets.hpp"

#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/when_all.hpp>
#include <fairlead/io/byte_stream.hpp>
#include <fairlead/io/tcp.hpp>

#include <gtest/gtest.h>

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <expected>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace fairlead::io::stream_tests {
namespace {

using namespace std::chrono_literals;
using test::bytes_of;
using test::raw_socket;

// A text, or the error that ended a read.
static_assert(byte_stream<tcp_stream>);

using text_or_error = std::expected<std::string, std::error_code>;

task<text_or_error> reads(tcp_stream& from, std::size_t size, time_point deadline = never) {
    std::string text(size, '\0');
    const auto count = co_await from.read_some(std::as_writable_bytes(std::span{text}), deadline);
    if (!count) co_return std::unexpected{count.error()};
    text.resize(*count);
    co_return text;
}

// Reads everything up to the end, in reads of `size`. It has no deadline: the look at the deadline
// would find an end that no event has reported.
task<text_or_error> reads_to_the_end(tcp_stream& from, std::size_t size) {
    std::string all;
    for (;;) {
        const text_or_error more = co_await reads(from, size);
        if (!more) co_return std::unexpected{more.error()};
        if (more->empty()) co_return all;
        all += *more;
    }
}

task<std::expected<void, std::error_code>> writes(tcp_stream& to, std::string text,
                                                  time_point deadline = never) {
    co_return co_await to.write_all(bytes_of(text), deadline);
}

std::string pattern(std::size_t size) {
    std::string text(size, '\0');
    for (std::size_t i = 0; i != size; ++i)
        text[i] = static_cast<char>('a' + i * 7 % 26 + i / 4096 % 3);
    return text;
}

class stream_test : public test::connected_pair {};

// --- reading -------------------------------------------------------------------------------------

TEST_F(stream_test, reads_what_is_there_already) {
    peer.send("hello");
    auto handle = start(reads(*stream, 100));
    EXPECT_EQ(finish(handle), "hello");
}

TEST_F(stream_test, waits_for_data) {
    auto handle = start(reads(*stream, 100));
    settle();
    EXPECT_FALSE(handle.ended());
    peer.send("later");
    EXPECT_EQ(finish(handle), "later");
}

TEST_F(stream_test, reads_at_most_what_fits) {
    peer.send("hello");
    auto first = start(reads(*stream, 2));
    EXPECT_EQ(finish(first), "he");
    auto rest = start(reads(*stream, 100));
    EXPECT_EQ(finish(rest), "llo");
}

TEST_F(stream_test, reads_in_many_pieces) {
    static constexpr int pieces = 100;
    for (int i = 0; i != pieces; ++i) {
        auto handle = start(reads(*stream, 100));
        if (i % 2 == 0) settle();
        peer.send("piece");
        EXPECT_EQ(finish(handle), "piece");
    }
}

// A read ends before urgent data, which is left out. It returns less than was asked for, though
// there is more data, which no edge reports.
TEST_F(stream_test, what_comes_behind_urgent_data_is_read) {
    for (const bool waits_first : {false, true}) {
        for (int i = 0; i != 3; ++i) {
            auto handle = start([](tcp_stream& from) -> task<std::string> {
                std::string all;
                while (all.size() < 6) {
                    const text_or_error more = co_await reads(from, 100);
                    if (!more) break;
                    all += *more;
                }
                co_return all;
            }(*stream));
            if (waits_first) settle();
            peer.send("abc");
            EXPECT_EQ(::send(peer.fd(), "!", 1, MSG_OOB), 1);
            peer.send("def");
            settle();
            ASSERT_TRUE(handle.ended());
            EXPECT_EQ(handle.get(), "abcdef");
        }
    }
}

TEST_F(stream_test, an_empty_read_does_not_wait) {
    peer.send("x");
    auto first = start(reads(*stream, 100));
    finish(first);
    auto handle = start(reads(*stream, 0));
    settle();
    ASSERT_TRUE(handle.ended());
    EXPECT_EQ(handle.get(), "");
}

// --- the end -------------------------------------------------------------------------------------

TEST_F(stream_test, reads_the_end_again_and_again) {
    peer.shutdown_send();
    for (int i = 0; i != 3; ++i) {
        auto handle = start(reads(*stream, 100, clock::now() + 10s));
        EXPECT_EQ(finish(handle), "");
    }
}

// 1. A task waits. 2. Data and the end come before a poll: one event for both. 3. The read
// gets less than it asked for. 4. No further event will tell of the end.
TEST_F(stream_test, sees_an_end_that_came_together_with_data) {
    auto handle = start(reads_to_the_end(*stream, 100));
    settle();
    peer.send("hello");
    peer.shutdown_send();
    EXPECT_EQ(finish(handle), "hello");
}

TEST_F(stream_test, sees_an_end_that_came_together_with_data_before_the_first_read) {
    peer.send("hello");
    peer.close();
    settle();
    auto handle = start(reads_to_the_end(*stream, 100));
    EXPECT_EQ(finish(handle), "hello");
}

// 1. A read gets less than it asked for, so the next one waits for an event. 2. Data and the end
// come while the task does something else: one event, which is remembered. 3. The next read is for
// the data; the one after it must not wait.
TEST_F(stream_test, sees_an_end_that_came_together_with_data_between_two_reads) {
    peer.send("first");
    auto first = start(reads(*stream, 100));
    EXPECT_EQ(finish(first), "first");
    peer.send("last");
    peer.shutdown_send();
    settle();
    auto rest = start(reads_to_the_end(*stream, 100));
    EXPECT_EQ(finish(rest), "last");
}

TEST_F(stream_test, writes_on_after_the_peer_has_ended) {
    peer.shutdown_send();
    auto read = start(reads(*stream, 10));
    EXPECT_EQ(finish(read), "");
    auto written = start(writes(*stream, "goodbye"));
    EXPECT_TRUE(finish(written));
    EXPECT_EQ(peer.receive(100), "goodbye");
}

TEST_F(stream_test, reads_on_after_its_own_end) {
    ASSERT_TRUE(stream->shutdown_send());
    EXPECT_EQ(peer.receive(10), "");
    auto handle = start(reads_to_the_end(*stream, 10));
    settle();
    peer.send("still here");
    settle();
    peer.close();
    EXPECT_EQ(finish(handle), "still here");
}

TEST_F(stream_test, writing_after_its_own_end_is_an_error) {
    ASSERT_TRUE(stream->shutdown_send());
    auto handle = start(writes(*stream, "x"));
    EXPECT_EQ(finish(handle).error(), std::errc::broken_pipe);
}

// --- resets --------------------------------------------------------------------------------------

TEST_F(stream_test, a_reset_ends_a_read) {
    auto handle = start(reads(*stream, 100));
    settle();
    peer.reset();
    EXPECT_EQ(finish(handle).error(), std::errc::connection_reset);
}

TEST_F(stream_test, a_reset_ends_a_write) {
    auto handle = start(writes(*stream, pattern(32 << 20)));
    settle();
    EXPECT_FALSE(handle.ended());
    peer.reset();
    const std::error_code error = finish(handle).error();
    EXPECT_TRUE(error == std::errc::connection_reset || error == std::errc::broken_pipe);
}

TEST_F(stream_test, a_reset_after_data_is_seen_by_a_later_read) {
    auto first = start(reads(*stream, 100));
    settle();
    peer.send("hello");
    EXPECT_EQ(finish(first), "hello");
    peer.reset();
    auto second = start(reads(*stream, 100, clock::now() + 10s));
    EXPECT_EQ(finish(second).error(), std::errc::connection_reset);
}

TEST_F(stream_test, both_directions_learn_of_a_reset) {
    auto reading = start(reads(*stream, 100));
    auto writing = start(writes(*stream, pattern(32 << 20)));
    settle();
    peer.reset();
    EXPECT_FALSE(finish(reading));
    EXPECT_FALSE(finish(writing));
}

// Without a flag the second write would raise SIGPIPE, which kills the process.
TEST_F(stream_test, writing_to_one_who_is_gone_raises_no_signal) {
    peer.reset();
    for (int i = 0; i != 3; ++i) {
        auto handle = start(writes(*stream, "into the void"));
        EXPECT_FALSE(finish(handle));
    }
}

// --- writing -------------------------------------------------------------------------------------

TEST_F(stream_test, writes_nothing_at_once) {
    auto handle = start(writes(*stream, ""));
    EXPECT_TRUE(finish(handle));
    EXPECT_EQ(home->stats().front().steps, 1U);
}

TEST_F(stream_test, writes_more_than_the_buffers_hold) {
    const int small = 4096;
    ASSERT_EQ(::setsockopt(stream->native_handle(), SOL_SOCKET, SO_SNDBUF, &small, sizeof(small)),
              0);
    const std::string sent = pattern(8 << 20);
    std::string received;
    std::jthread reader{[&] {
        for (;;) {
            const std::string more = peer.receive(3000);
            if (more.empty()) return;
            received += more;
        }
    }};
    auto handle = start(writes(*stream, sent));
    EXPECT_TRUE(finish(handle));
    ASSERT_TRUE(stream->shutdown_send());
    reader.join();
    EXPECT_TRUE(sent == received);
}

TEST_F(stream_test, is_read_by_one_task_and_written_by_another) {
    const std::string sent = pattern(4 << 20);
    std::string echoed;
    std::jthread echo{[&] {
        for (;;) {
            const std::string more = peer.receive(10'000);
            if (more.empty()) break;
            peer.send(more);
        }
        peer.shutdown_send();
    }};
    static constexpr auto writes_and_ends = [](tcp_stream& to, std::string text) -> task<> {
        EXPECT_TRUE(co_await to.write_all(bytes_of(text)));
        EXPECT_TRUE(to.shutdown_send());
    };
    auto writer = start(writes_and_ends(*stream, sent));
    auto reader = start(reads_to_the_end(*stream, 5000));
    const text_or_error received = finish(reader);
    finish(writer);
    ASSERT_TRUE(received);
    EXPECT_TRUE(sent == *received);
}

TEST_F(stream_test, can_be_moved_between_two_reads) {
    peer.send("one");
    auto first = start(reads(*stream, 10));
    EXPECT_EQ(finish(first), "one");
    tcp_stream moved{std::move(*stream)};
    EXPECT_FALSE(stream->is_open());
    auto second = start(reads(moved, 10));
    settle();
    peer.send("two");
    EXPECT_EQ(finish(second), "two");
}

TEST_F(stream_test, knows_its_addresses) {
    EXPECT_EQ(stream->peer_address()->to_string(), peer.local_address().to_string());
    EXPECT_TRUE(stream->local_address()->is_loopback());
}

// --- what a wait leaves behind -------------------------------------------------------------------

// 1. A read that may not wait at all finds nothing. 2. The stream is closed. 3. The task sleeps:
// its sleep must not look at the stream.
TEST_F(stream_test, a_read_that_may_not_wait_leaves_nothing_behind) {
    static constexpr auto looks_and_sleeps = [](tcp_stream from) -> task<std::error_code> {
        std::array<std::byte, 10> buffer;
        const auto count = co_await from.read_some(buffer, immediately);
        from.close();
        for (int i = 0; i != 3; ++i) co_await sleep_for(1ms);
        co_return count ? std::error_code{} : count.error();
    };
    auto handle = start(looks_and_sleeps(std::move(*stream)));
    EXPECT_EQ(finish(handle), std::errc::timed_out);
}

// Two tasks: the first looks and sleeps, the second may then wait for the same direction.
TEST_F(stream_test, after_a_read_that_may_not_wait_another_task_may_read) {
    static constexpr auto looks_and_sleeps = [](tcp_stream& from) -> task<> {
        std::array<std::byte, 10> buffer;
        EXPECT_FALSE(co_await from.read_some(buffer, immediately));
        static_cast<void>(co_await receive_signal());
    };
    auto first = start(looks_and_sleeps(*stream));
    settle();
    auto second = start(reads(*stream, 10, clock::now() + 10s));
    settle();
    peer.send("data");
    EXPECT_EQ(finish(second), "data");
    first.get_task().signal();
    finish(first);
}

TEST_F(stream_test, is_not_made_of_a_pipe) {
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe2(ends.data(), O_NONBLOCK | O_CLOEXEC), 0);
    const os::unique_fd writes{ends[1]};
    const auto made = tcp_stream::adopt(epoll_driver::of(*home), os::unique_fd{ends[0]});
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error(), std::errc::not_a_socket);
}

TEST_F(stream_test, takes_over_a_blocking_socket_without_blocking) {
    std::array<int, 2> ends{};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    const os::unique_fd other{ends[1]};
    auto made = tcp_stream::adopt(epoll_driver::of(*home), os::unique_fd{ends[0]});
    ASSERT_TRUE(made);
    auto handle = start(reads(*made, 10));
    settle();  // would block in the read
    EXPECT_FALSE(handle.ended());
    ASSERT_EQ(::send(other.get(), "data", 4, 0), 4);
    EXPECT_EQ(finish(handle), "data");
}

TEST_F(stream_test, a_read_ends_when_receiving_is_shut_down) {
    auto handle = start(reads(*stream, 10));
    settle();
    EXPECT_FALSE(handle.ended());
    EXPECT_TRUE(stream->shutdown_receive());
    EXPECT_EQ(finish(handle), "");
    auto later = start(reads(*stream, 10));
    EXPECT_EQ(finish(later), "");
}

// 1. A read finds nothing, and its step ends. 2. The stream is closed. 3. The role would put the
// task to sleep.
TEST_F(stream_test, a_read_ends_when_the_stream_is_closed_before_it_sleeps) {
    static constexpr auto attempt = [](tcp_stream& from) -> task<std::error_code> {
        std::array<std::byte, 10> buffer;
        const auto size = co_await from.read_some(buffer);
        co_return size ? std::error_code{} : size.error();
    };
    auto handle = start(attempt(*stream));
    home->run_until(immediately, 1);
    stream->close();
    EXPECT_EQ(finish(handle), std::errc::bad_file_descriptor);
}

// 1. A read has ended, and its operation is gone. 2. The task joins another task. 3. The task is
//    asked
// to stop.
TEST_F(stream_test, a_stop_while_joining_does_not_reach_an_older_read) {
    static constexpr auto reads_then_joins =
        [](tcp_stream& from, join_handle<wake_reason> other) -> task<wake_reason> {
        EXPECT_EQ(co_await reads(from, 10), "data");
        co_return co_await shielded(other);
    };
    static constexpr auto waits = []() -> task<wake_reason> {
        co_return co_await receive_signal();
    };
    auto other = start(waits());
    basic_task& other_task = other.get_task();
    auto handle = start(reads_then_joins(*stream, std::move(other)));
    settle();
    peer.send("data");
    home->run_until(clock::now() + 10s, 1);
    settle();
    handle.request_stop();
    settle();
    other_task.signal();
    EXPECT_EQ(finish(handle), wake_reason::signalled);
}

}  // namespace
}  // namespace fairlead::io::stream_tests
