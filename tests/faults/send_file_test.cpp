// A file is sent while the system fails.
#include "faults/sweep.hpp"
#include "support/folder.hpp"
#include "support/must.hpp"
#include "support/sockets.hpp"

#include <fairlead/coro/spawn.hpp>
#include <fairlead/io/file.hpp>
#include <fairlead/io/unix.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <span>
#include <string>
#include <system_error>
#include <utility>

namespace fairlead::test::send_file_tests {
namespace {

const std::string text(10, 'x');  // each of them may be sent alone

task<> sends(io::unix_stream given, const folder& files) {
    io::unix_stream to{std::move(given)};
    io::file from = must(co_await io::file::open(files.path_of("one")));
    EXPECT_EQ(must(co_await to.send_file(from)), text.size());
}

task<std::string> reads(io::unix_stream from) {
    std::string seen;
    for (;;) {
        std::array<std::byte, 100> buffer;
        const auto count = must(co_await from.read_some(buffer));
        if (count == 0) co_return seen;
        seen.append(reinterpret_cast<const char*>(buffer.data()), count);
    }
}

void sends_a_file(const folder& files) {
    scheduler home{with_epoll_on_caller()};
    auto ends = must(io::unix_stream::pair(io::epoll_driver::of(home)));
    auto sending = spawn(home, sends(std::move(ends.first), files));
    while (!sending.ended()) home.run_until(never, 1);
    sending.get();
    auto reading = spawn(home, reads(std::move(ends.second)));
    while (!reading.ended()) home.run_until(never, 1);
    EXPECT_EQ(reading.get(), text);
}

class send_file_failures : public testing::Test {
protected:
    void sweeps(const fault& what, outcome right) {
        sweep(what, right, [&] { sends_a_file(files); });
    }
    send_file_failures() { files.put("one", text); }

    const watchdog guard;
    const folder files;
};

TEST_F(send_file_failures, errors_are_reported) {
    for (const int error : {ECONNRESET, EPIPE, EIO, ENOMEM}) {
        sweeps({"sendfile", error}, outcome::reported);
    }
    sweep_range(
        {"sendfile", EINTR}, outcome::invisible, [&] { sends_a_file(files); }, call_range::only);
    sweeps({}, outcome::maybe_reported);
}

// The signal would end the program.
TEST_F(send_file_failures, a_broken_pipe_is_no_signal) {
    struct sigaction usual {};
    struct sigaction before {};
    usual.sa_handler = SIG_DFL;
    ASSERT_EQ(::sigaction(SIGPIPE, &usual, &before), 0);
    scheduler home{with_epoll_on_caller()};
    auto ends = must(io::unix_stream::pair(io::epoll_driver::of(home)));
    ends.second.close();
    auto sending = spawn(home, sends(std::move(ends.first), files));
    while (!sending.ended()) home.run_until(never, 1);
    try {
        sending.get();
        ADD_FAILURE();
    } catch (const std::system_error& error) {
        EXPECT_EQ(error.code(), std::errc::broken_pipe);
    }
    ASSERT_EQ(::sigaction(SIGPIPE, &before, nullptr), 0);
}

TEST_F(send_file_failures, a_short_send_goes_on) {
    sweeps({"sendfile", 0, fault::how::cut}, outcome::invisible);
}

TEST_F(send_file_failures, what_the_system_does_not_move_is_read_and_written) {
    for (const int error : {EINVAL, ENOSYS, EOPNOTSUPP}) {
        sweeps({"sendfile", error}, outcome::invisible);
    }
    const armed unknown{{{"sendfile", EINVAL}, call_range::from(1)},
                        {{"preadv2", EIO}, call_range::from(1)}};
    EXPECT_THROW(sends_a_file(files), std::system_error);
}

TEST_F(send_file_failures, what_is_not_in_memory_is_loaded_first) {
    for (const int error : {EAGAIN, EOPNOTSUPP}) {
        sweeps({"preadv2", error}, outcome::invisible);
        const armed lost{{{"preadv2", error}, call_range::from(1)},
                         {{"pread", EIO}, call_range::from(1)}};
        EXPECT_THROW(sends_a_file(files), std::system_error);
        EXPECT_EQ(lost.hits(), 2U);
    }
}

}  // namespace
}  // namespace fairlead::test::send_file_tests
