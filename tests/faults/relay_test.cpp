// A relay moves bytes while the system fails.
#include "faults/sweep.hpp"
#include "support/must.hpp"
#include "support/sockets.hpp"
#include "support/watchdog.hpp"

#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/coro/when_all.hpp>
#include <fairlead/io/relay.hpp>
#include <fairlead/io/unix.hpp>

#include <gtest/gtest.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace fairlead::test::relay_tests {
namespace {

const std::string question(50'000, 'q');  // so much that it goes by splice
constexpr std::string_view answer = "no";

task<> sends(io::unix_stream& to, std::string_view text) {
    const auto sent = co_await to.write_all(bytes_of(text));
    if (sent) must(to.shutdown_send());  // after a failure of the relay it has no reader
}

task<std::string> reads(io::unix_stream& from) {
    std::string seen;
    std::string buffer(60'000, '\0');
    for (;;) {
        const auto count = co_await from.read_some(std::as_writable_bytes(std::span{buffer}));
        if (!count || *count == 0) co_return seen;
        seen.append(buffer, 0, *count);
    }
}

using relay_result = std::expected<io::relayed, io::unfinished_relay>;

// Closes its streams at the end: then those that wait for the other ends go on.
task<relay_result> relays(io::unix_stream near, io::unix_stream far) {
    io::unix_stream first{std::move(near)};
    io::unix_stream second{std::move(far)};
    const auto ended = co_await io::relay(first, second);
    co_return ended;
}

// Whatever fails, no byte comes twice, and none in the wrong place.
task<std::error_code> exchanges() {
    io::epoll_driver& driver = io::epoll_driver::of(co_await current_scheduler());
    auto client = must(io::unix_stream::pair(driver));
    auto server = must(io::unix_stream::pair(driver));
    auto all = co_await when_all(relays(std::move(client.second), std::move(server.second)),
                                 reads(server.first), reads(client.first),
                                 sends(client.first, question), sends(server.first, answer));
    const auto& [ended, seen, heard, asked, answered] = all;
    const io::relayed moved = ended ? *ended : ended.error().moved;
    EXPECT_EQ(seen.size(), moved.from_first);
    EXPECT_EQ(heard.size(), moved.from_second);
    EXPECT_TRUE(question.starts_with(seen));
    EXPECT_TRUE(answer.starts_with(heard));
    if (!ended) co_return ended.error().error;
    EXPECT_EQ(seen, question);
    EXPECT_EQ(heard, answer);
    co_return std::error_code{};
}

// Throws the error of the relay.
void relays_both_ways() {
    scheduler home{with_epoll_on_caller()};
    auto exchanging = spawn(home, exchanges());
    while (!exchanging.ended()) home.run_until(never, 1);
    if (const std::error_code failed = exchanging.get()) throw std::system_error{failed};
}

class relay_failures : public testing::Test {
protected:
    static void sweeps(const fault& what, outcome right) { sweep(what, right, relays_both_ways); }

    const watchdog guard;
};

TEST_F(relay_failures, errors_are_reported) {
    for (const int error : {ECONNRESET, EPIPE, EIO, ENOMEM}) {
        sweeps({"splice", error}, outcome::reported);
    }
    sweep_range({"splice", EINTR}, outcome::invisible, relays_both_ways, call_range::only);
}

TEST_F(relay_failures, a_short_splice_goes_on) {
    sweeps({"splice", 0, fault::how::cut}, outcome::invisible);
}

TEST_F(relay_failures, what_the_system_does_not_splice_is_copied) {
    for (const int error : {EINVAL, ENOSYS, EOPNOTSUPP}) {
        sweeps({"splice", error}, outcome::invisible);
    }
    // What is in the pipe then is read from there.
    const armed lost{{{"splice", EINVAL}, call_range::from(2)},
                     {{"read", EIO}, call_range::from(1)}};
    EXPECT_THROW(relays_both_ways(), std::system_error);
    EXPECT_EQ(lost.hits(), 2U);
}

TEST_F(relay_failures, without_a_pipe_it_copies) {
    for (const int error : {EMFILE, ENFILE}) sweeps({"pipe2", error}, outcome::invisible);
}

TEST_F(relay_failures, without_memory_it_is_reported) { sweeps({}, outcome::maybe_reported); }

// The signal would end the program.
TEST_F(relay_failures, a_broken_pipe_is_no_signal) {
    struct sigaction usual {};
    struct sigaction before {};
    usual.sa_handler = SIG_DFL;
    ASSERT_EQ(::sigaction(SIGPIPE, &usual, &before), 0);
    scheduler home{with_epoll_on_caller()};
    io::epoll_driver& driver = io::epoll_driver::of(home);
    auto client = must(io::unix_stream::pair(driver));
    auto server = must(io::unix_stream::pair(driver));
    const std::string much(1'000'000, 'q');
    auto sending = spawn(home, sends(client.first, much));
    auto relaying = spawn(home, relays(std::move(client.second), std::move(server.second)));
    home.run_until_idle();  // much is under way, and the server reads nothing
    server.first.close();
    while (!relaying.ended()) home.run_until(never, 1);
    const auto ended = relaying.get();
    ASSERT_FALSE(ended);
    EXPECT_GT(ended.error().moved.from_first, 0U);
    EXPECT_TRUE(ended.error().error == std::errc::broken_pipe ||
                ended.error().error == std::errc::connection_reset);
    while (!sending.ended()) home.run_until(never, 1);
    ASSERT_EQ(::sigaction(SIGPIPE, &before, nullptr), 0);
}

}  // namespace
}  // namespace fairlead::test::relay_tests
