// A child of fork has copies of the descriptors of its parent. What it destroys is its own: the
// streams and watches of the parent go on.
#include "support/sockets.hpp"

#include <fairlead/io/watch.hpp>

#include <gtest/gtest.h>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <utility>

namespace fairlead::io::fork_tests {
namespace {

// Runs `body` in a child of fork, and waits for its end.
template <class Body>
void in_a_child(Body body) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        body();
        ::_exit(0);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0);
}

using text_or_error = std::expected<std::string, std::error_code>;

// Without a deadline, at which it would look once more.
task<text_or_error> reads(tcp_stream& from) {
    std::string text(100, '\0');
    const auto size = co_await from.read_some(std::as_writable_bytes(std::span{text}));
    if (!size) co_return std::unexpected{size.error()};
    text.resize(*size);
    co_return text;
}

task<std::expected<short, std::error_code>> waits(watch& on) {
    co_return co_await on.until(POLLIN);
}

class fork_test : public test::connected_pair {};

TEST_F(fork_test, a_stream_that_a_child_closes_goes_on) {
    in_a_child([&] { stream->close(); });
    auto came = start(reads(*stream));
    settle();
    EXPECT_FALSE(came.ended());
    peer.send("still here");
    EXPECT_EQ(finish(came), "still here");
}

TEST_F(fork_test, a_watch_that_a_child_ends_goes_on) {
    auto own = watch::make(epoll_driver::of(*home), stream->native_handle()).value();
    in_a_child([&] { own.end(); });
    auto came = start(waits(own));
    settle();
    EXPECT_FALSE(came.ended());
    peer.send("x");
    EXPECT_EQ(finish(came), POLLIN);
}

TEST_F(fork_test, a_watch_of_a_waiting_task_goes_on_when_a_child_ends_another_one) {
    auto own = watch::make(epoll_driver::of(*home), stream->native_handle()).value();
    auto other = watch::make(epoll_driver::of(*home), peer.fd()).value();
    auto came = start(waits(own));
    settle();
    in_a_child([&] { other.end(); });
    peer.send("x");
    EXPECT_EQ(finish(came), POLLIN);
    auto back = start(waits(other));
    settle();
    EXPECT_FALSE(back.ended());
    EXPECT_EQ(::send(stream->native_handle(), "y", 1, MSG_NOSIGNAL), 1);
    EXPECT_EQ(finish(back), POLLIN);
}

// What a child makes itself is its own, and leaves its own set when it is closed.
TEST_F(fork_test, a_child_with_a_driver_of_its_own_removes_what_it_closes) {
    in_a_child([] {
        scheduler own{test::with_epoll_on_caller()};
        epoll_driver& driver = epoll_driver::of(own);
        std::array<int, 2> ends{};
        if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) ::_exit(1);
        const os::unique_fd reader{ends[0]};
        const os::unique_fd writer{ends[1]};
        // The duplicate leaves the set, though what it stands for stays open.
        auto on = descriptor::make(driver, os::unique_fd{::dup(reader.get())});
        if (!on) ::_exit(2);
        on->close();
        if (driver.has_sources()) ::_exit(3);
        if (::write(writer.get(), "x", 1) != 1) ::_exit(4);
        pollfd set{.fd = driver.descriptor(), .events = POLLIN, .revents = 0};
        ::_exit(::poll(&set, 1, 0) == 0 ? 0 : 5);
    });
}

}  // namespace
}  // namespace fairlead::io::fork_tests
