// A file is sent over a connection, by the system or, in memory, by reads and writes.
#include "support/folder.hpp"
#include "support/networks.hpp"
#include "support/sockets.hpp"

#include <fairlead/coro/awaits.hpp>
#include <fairlead/io/file.hpp>
#include <fairlead/io/tcp.hpp>
#include <fairlead/io/unix.hpp>

#include <gtest/gtest.h>

#include <fcntl.h>
#include <signal.h>

#include <cstddef>
#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace fairlead::io::send_file_tests {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t all = ~std::uint64_t{0};

std::string pattern(std::size_t size) {
    std::string text(size, '\0');
    for (std::size_t i = 0; i != size; ++i) text[i] = static_cast<char>('a' + (i * 7 + i / 9) % 26);
    return text;
}

struct both_ends {
    tcp_stream near;
    tcp_stream far;
};

task<both_ends> connected() {
    auto listener = tcp_listener::bind(co_await current_scheduler(), address::loopback(0)).value();
    auto near = (co_await tcp_stream::connect(listener.local_address().value())).value();
    auto far = (co_await listener.accept()).value();
    co_return both_ends{std::move(near), std::move(far)};
}

task<std::string> reads_to_the_end(socket_stream& from) {
    std::string seen;
    std::string buffer(50'000, '\0');
    for (;;) {
        const auto count = co_await from.read_some(std::as_writable_bytes(std::span{buffer}));
        if (!count || *count == 0) co_return seen;
        seen.append(buffer, 0, *count);
    }
}

using sent_or_error = std::expected<std::uint64_t, std::error_code>;

task<sent_or_error> sends(socket_stream& to, std::string path, std::uint64_t offset,
                          std::uint64_t size, time_point deadline = never) {
    file from = (co_await file::open(std::move(path))).value();
    const auto sent = co_await to.send_file(from, offset, size, deadline);
    co_return sent;
}

template <class Home>
class send_file_test : public testing::Test {
protected:
    Home on;
    test::folder files;
};

TYPED_TEST_SUITE(send_file_test, test::networks);

task<> sends_parts(std::string path, std::string text) {
    for (const auto& [offset, size] :
         std::vector<std::pair<std::uint64_t, std::uint64_t>>{{0, all},
                                                              {0, text.size()},
                                                              {5, 300'000},
                                                              {text.size() - 10, 100},
                                                              {text.size(), 1},
                                                              {text.size() + 10, all},
                                                              {3, 0},
                                                              {1, 1}}) {
        both_ends ends = co_await connected();
        auto reading = spawn(co_await current_executor(), reads_to_the_end(ends.far));
        const auto sent = co_await sends(ends.near, path, offset, size);
        EXPECT_TRUE(ends.near.shutdown_send());
        const std::string right =
            offset > text.size() ? std::string{} : text.substr(offset, std::min(size, all / 4));
        EXPECT_EQ(sent, right.size());
        EXPECT_TRUE(co_await reading == right);
    }
}

TYPED_TEST(send_file_test, the_part_that_was_asked_for_arrives) {
    const std::string text = pattern(1'000'003);
    this->files.put("one", text);
    this->on.run(sends_parts(this->files.path_of("one"), text));
}

task<> sends_too_much(std::string path) {
    both_ends ends = co_await connected();
    const auto late = co_await sends(ends.near, path, 0, all, clock::now() + 5ms);
    EXPECT_EQ(late.error(), std::errc::timed_out);
    auto sending = spawn(co_await current_executor(), sends(ends.near, path, 0, all));
    co_await sleep_for(5ms);
    EXPECT_FALSE(sending.ended());
    sending.request_stop();
    EXPECT_EQ((co_await sending).error(), std::errc::operation_canceled);
}

TYPED_TEST(send_file_test, deadlines_and_stops_end_it) {
    this->files.put("one", pattern(32 << 20));
    this->on.run(sends_too_much(this->files.path_of("one")));
}

task<> sends_to_nobody(std::string path) {
    both_ends ends = co_await connected();
    EXPECT_TRUE(ends.near.shutdown_send());
    EXPECT_EQ((co_await sends(ends.near, path, 0, all)).error(), std::errc::broken_pipe);
    ends.near.close();
    EXPECT_EQ((co_await sends(ends.near, path, 0, all)).error(), std::errc::bad_file_descriptor);
}

// The signal would end the program.
TYPED_TEST(send_file_test, an_end_that_sends_no_more_is_an_error_and_no_signal) {
    struct sigaction usual {};
    struct sigaction before {};
    usual.sa_handler = SIG_DFL;
    ASSERT_EQ(::sigaction(SIGPIPE, &usual, &before), 0);
    this->files.put("one", pattern(100));
    this->on.run(sends_to_nobody(this->files.path_of("one")));
    sigset_t pending;
    ASSERT_EQ(::sigpending(&pending), 0);
    EXPECT_EQ(::sigismember(&pending, SIGPIPE), 0);
    ASSERT_EQ(::sigaction(SIGPIPE, &before, nullptr), 0);
}

TEST(send_file_by_unix, what_is_not_in_memory_is_loaded) {
    test::kernel_home on;
    const test::folder files;
    const std::string text = pattern(3'000'000);
    files.put("one", text);
    const os::unique_fd fd{::open(files.path_of("one").c_str(), O_RDONLY | O_CLOEXEC)};
    ASSERT_EQ(::fsync(fd.get()), 0);
    ASSERT_EQ(::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_DONTNEED), 0);
    auto [near, far] = unix_stream::pair(epoll_driver::of(on.home())).value();
    auto reading = spawn(on.home(), reads_to_the_end(far));
    EXPECT_EQ(on.run(sends(near, files.path_of("one"), 0, all)), text.size());
    near.close();
    while (!reading.ended()) on.home().run_until(never, 1);
    EXPECT_TRUE(reading.get() == text);
}

}  // namespace
}  // namespace fairlead::io::send_file_tests
