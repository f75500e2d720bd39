// Pipes, terminals and fifos: each byte comes once, each wait ends once, and no signal is raised.
#include "support/folder.hpp"
#include "support/must.hpp"
#include "support/seeds.hpp"
#include "support/sockets.hpp"
#include "support/watchdog.hpp"

#include <fairlead/channel/channel.hpp>
#include <fairlead/coro/select.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/io/byte_stream.hpp>
#include <fairlead/io/pipe_stream.hpp>

#include <gtest/gtest.h>

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace fairlead::io::pipe_stream_tests {
namespace {

using namespace std::chrono_literals;
using test::bytes_of;
using test::must;

static_assert(byte_stream<pipe_stream>);

class pipe_stream_test : public testing::Test {
protected:
    pipe_ends made() { return must(make_pipe(epoll_driver::of(home))); }

    template <class T>
    T finish(join_handle<T>& handle) {
        while (!handle.ended()) home.run_until(never, 1);
        return handle.get();
    }
    template <class T>
    T run(task<T> body) {
        auto handle = spawn(home, std::move(body));
        return finish(handle);
    }

    const test::watchdog guard;
    scheduler home{test::with_epoll_on_caller()};
};

task<std::expected<std::string, std::error_code>> read_text(pipe_stream& from, std::size_t room,
                                                            time_point deadline = never) {
    std::string text(room, '?');
    const auto size = co_await from.read_some(std::as_writable_bytes(std::span{text}), deadline);
    if (!size) co_return std::unexpected{size.error()};
    text.resize(*size);
    co_return text;
}

task<std::expected<void, std::error_code>> write_text(pipe_stream& to, std::string text,
                                                      time_point deadline = never) {
    co_return co_await to.write_all(bytes_of(text), deadline);
}

// Writes until the pipe has no more room.
std::size_t fill(int fd) {
    const std::string page(4096, 'f');
    std::size_t sum = 0;
    for (ssize_t n = 0; (n = ::write(fd, page.data(), page.size())) > 0;) {
        sum += static_cast<std::size_t>(n);
    }
    return sum;
}

TEST_F(pipe_stream_test, what_is_written_is_read_and_then_comes_the_end) {
    pipe_ends both = made();
    EXPECT_TRUE(run(write_text(both.writer, "abc")));
    EXPECT_EQ(run(read_text(both.reader, 10)), "abc");
    auto waits = spawn(home, read_text(both.reader, 10));
    home.run_until_idle();
    EXPECT_FALSE(waits.ended());
    EXPECT_TRUE(run(write_text(both.writer, "de")));
    EXPECT_EQ(finish(waits), "de");
    EXPECT_TRUE(run(write_text(both.writer, "f")));
    both.writer.close();
    EXPECT_EQ(run(read_text(both.reader, 10)), "f");
    EXPECT_EQ(run(read_text(both.reader, 10)), "");
}

TEST_F(pipe_stream_test, the_end_reaches_a_read_that_waits) {
    pipe_ends both = made();
    auto waits = spawn(home, read_text(both.reader, 10));
    home.run_until_idle();
    both.writer.close();
    EXPECT_EQ(finish(waits), "");
}

TEST_F(pipe_stream_test, a_write_waits_for_room_and_moves_everything) {
    pipe_ends both = made();
    const std::string much(1'000'000, 'm');
    auto writes = spawn(home, write_text(both.writer, much));
    home.run_until_idle();
    EXPECT_FALSE(writes.ended());
    const auto reads_all = [&]() -> task<std::string> {
        std::string all(much.size(), '?');
        const auto read = co_await both.reader.read_exactly(std::as_writable_bytes(std::span{all}));
        EXPECT_TRUE(read);
        co_return all;
    };
    EXPECT_EQ(run(reads_all()), much);
    EXPECT_TRUE(finish(writes));
}

TEST_F(pipe_stream_test, several_buffers_move_in_one_call) {
    pipe_ends both = made();
    const auto moves = [&]() -> task<> {
        const std::array<std::span<const std::byte>, 3> out{bytes_of("head"), bytes_of(""),
                                                            bytes_of("body")};
        EXPECT_TRUE(co_await both.writer.write_all(out));
        std::string first(3, '?');
        std::string second(20, '?');
        const std::array<std::span<std::byte>, 2> in{std::as_writable_bytes(std::span{first}),
                                                     std::as_writable_bytes(std::span{second})};
        EXPECT_EQ(co_await both.reader.read_some(in), 8U);
        EXPECT_EQ(first + second.substr(0, 5), "headbody");
        EXPECT_EQ(co_await both.writer.write_some(bytes_of("x")), 1U);
        EXPECT_EQ(co_await both.writer.write_some({}), 0U);
        EXPECT_EQ(co_await both.reader.read_some(std::span<std::byte>{}), 0U);
    };
    run(moves());
}

TEST_F(pipe_stream_test, an_end_before_a_buffer_is_full_tells_how_much_came) {
    pipe_ends both = made();
    EXPECT_TRUE(run(write_text(both.writer, "abc")));
    both.writer.close();
    const auto reads = [&]() -> task<> {
        std::array<std::byte, 5> buffer;
        const auto read = co_await both.reader.read_exactly(buffer);
        EXPECT_FALSE(read);
        EXPECT_EQ(read.error().size, 3U);
        EXPECT_FALSE(read.error().error);
    };
    run(reads());
}

int pipe_signals = 0;
void count_pipe_signal(int) { ++pipe_signals; }

// The same handler and the same mask afterwards, and no signal.
TEST_F(pipe_stream_test, a_write_without_a_reader_is_an_error_and_no_signal) {
    struct sigaction counts {};
    struct sigaction before {};
    counts.sa_handler = count_pipe_signal;
    ASSERT_EQ(::sigaction(SIGPIPE, &counts, &before), 0);
    pipe_signals = 0;
    pipe_ends both = made();
    both.reader.close();
    EXPECT_EQ(run(write_text(both.writer, "abc")).error(), std::errc::broken_pipe);
    EXPECT_EQ(run(write_text(both.writer, "abc")).error(), std::errc::broken_pipe);
    EXPECT_EQ(pipe_signals, 0);
    ::sigaction(SIGPIPE, &before, nullptr);
}

TEST_F(pipe_stream_test, a_write_that_waits_learns_that_the_reader_has_gone) {
    pipe_ends both = made();
    fill(both.writer.native_handle());
    auto writes = spawn(home, write_text(both.writer, "abc"));
    home.run_until_idle();
    EXPECT_FALSE(writes.ended());
    both.reader.close();
    EXPECT_EQ(finish(writes).error(), std::errc::broken_pipe);
}

TEST_F(pipe_stream_test, a_wait_ends_by_a_deadline_and_nothing_is_lost) {
    pipe_ends both = made();
    EXPECT_EQ(run(read_text(both.reader, 9, clock::now() + 1ms)).error(), std::errc::timed_out);
    const std::size_t filled = fill(both.writer.native_handle());
    EXPECT_EQ(run(write_text(both.writer, "abc", clock::now() + 1ms)).error(),
              std::errc::timed_out);
    EXPECT_EQ(run(read_text(both.reader, 2 * filled))->size(), filled);
    EXPECT_TRUE(run(write_text(both.writer, "abc")));
    EXPECT_EQ(run(read_text(both.reader, 9)), "abc");
}

TEST_F(pipe_stream_test, a_wait_ends_by_a_stop_and_nothing_is_lost) {
    pipe_ends both = made();
    auto reads = spawn(home, read_text(both.reader, 9));
    home.run_until_idle();
    reads.request_stop();
    EXPECT_EQ(finish(reads).error(), std::errc::operation_canceled);
    const std::size_t filled = fill(both.writer.native_handle());
    auto writes = spawn(home, write_text(both.writer, "abc"));
    home.run_until_idle();
    writes.request_stop();
    EXPECT_EQ(finish(writes).error(), std::errc::operation_canceled);
    EXPECT_EQ(run(read_text(both.reader, 2 * filled))->size(), filled);
    EXPECT_TRUE(run(write_text(both.writer, "de")));
    EXPECT_EQ(run(read_text(both.reader, 9)), "de");
}

// Another branch ends the read that waits. What comes then is for the next read.
TEST_F(pipe_stream_test, a_read_is_a_branch_of_a_select) {
    pipe_ends both = made();
    channel<int> in{1};
    const auto selects = [&]() -> task<std::string> {
        std::array<char, 8> buffer{};
        const auto ended =
            co_await select(on(both.reader.read_some(std::as_writable_bytes(std::span{buffer})),
                               [&](auto size) {
                                   return std::string{buffer.data(), size.value()};
                               }),
                            on(in.receive(), [](waited<int>) { return std::string{"message"}; }));
        co_return ended ? *ended : std::string{"stopped"};
    };
    auto reads = spawn(home, selects());
    home.run_until_idle();
    EXPECT_TRUE(run(write_text(both.writer, "x")));
    EXPECT_EQ(finish(reads), "x");
    auto receives = spawn(home, selects());
    home.run_until_idle();
    ASSERT_TRUE(in.try_send(1));
    EXPECT_EQ(finish(receives), "message");
    EXPECT_TRUE(run(write_text(both.writer, "y")));
    EXPECT_EQ(run(read_text(both.reader, 9, clock::now() + 60s)), "y");
}

TEST_F(pipe_stream_test, what_is_not_for_its_end_is_an_error) {
    pipe_ends both = made();
    EXPECT_EQ(run(write_text(both.reader, "x")).error(), std::errc::bad_file_descriptor);
    EXPECT_EQ(run(read_text(both.writer, 3)).error(), std::errc::bad_file_descriptor);
    EXPECT_EQ(both.writer.shutdown_send().error(), std::errc::not_a_socket);
    EXPECT_EQ(both.reader.shutdown_receive().error(), std::errc::not_a_socket);
    both.reader.close();
    EXPECT_FALSE(both.reader.is_open());
    EXPECT_EQ(run(read_text(both.reader, 3)).error(), std::errc::bad_file_descriptor);
    pipe_stream none;
    EXPECT_FALSE(none.is_open());
    EXPECT_EQ(run(write_text(none, "x")).error(), std::errc::bad_file_descriptor);
}

TEST_F(pipe_stream_test, a_regular_file_is_refused) {
    const test::folder files;
    files.put("one", "text");
    os::unique_fd file{::open(files.path_of("one").c_str(), O_RDONLY | O_CLOEXEC)};
    EXPECT_EQ(pipe_stream::adopt(epoll_driver::of(home), std::move(file)).error(),
              std::errc::operation_not_permitted);
    EXPECT_EQ(pipe_stream::adopt(epoll_driver::of(home), os::unique_fd{}).error(),
              std::errc::bad_file_descriptor);
    EXPECT_EQ(pipe_stream::adopt_again(epoll_driver::of(home), -1).error(),
              std::errc::bad_file_descriptor);
}

TEST_F(pipe_stream_test, a_fifo_is_a_pipe_with_a_name) {
    const test::folder files;
    const std::string path = files.path_of("fifo");
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
    os::unique_fd to_read{::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)};
    os::unique_fd to_write{::open(path.c_str(), O_WRONLY | O_CLOEXEC)};
    pipe_stream reader = must(pipe_stream::adopt(epoll_driver::of(home), std::move(to_read)));
    pipe_stream writer = must(pipe_stream::adopt(epoll_driver::of(home), std::move(to_write)));
    EXPECT_TRUE(run(write_text(writer, "abc")));
    EXPECT_EQ(run(read_text(reader, 9)), "abc");
}

// A read of such a pipe gives one packet, and more may be there: a wait for an edge would not end.
TEST_F(pipe_stream_test, a_pipe_of_packets_gives_each_of_them) {
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC | O_DIRECT), 0);
    const os::unique_fd writes{ends[1]};
    pipe_stream reader = must(pipe_stream::adopt(epoll_driver::of(home), os::unique_fd{ends[0]}));
    auto waits = spawn(home, read_text(reader, 9));  // it takes the only edge
    home.run_until_idle();
    ASSERT_EQ(::write(writes.get(), "one", 3), 3);
    ASSERT_EQ(::write(writes.get(), "two", 3), 3);
    EXPECT_EQ(finish(waits), "one");
    EXPECT_EQ(run(read_text(reader, 9, clock::now() + 60s)), "two");
}

struct terminal {
    terminal() : master{::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)} {
        EXPECT_EQ(::grantpt(master.get()), 0);
        EXPECT_EQ(::unlockpt(master.get()), 0);
        std::array<char, 64> name{};
        EXPECT_EQ(::ptsname_r(master.get(), name.data(), name.size()), 0);
        line = os::unique_fd{::open(name.data(), O_RDWR | O_NOCTTY | O_CLOEXEC)};
        EXPECT_TRUE(line.valid());
    }
    os::unique_fd master;
    os::unique_fd line;
};

// A terminal gives a line at a time, and no edge comes for the second one.
TEST_F(pipe_stream_test, a_terminal_gives_each_line) {
    terminal both;
    pipe_stream line = must(pipe_stream::adopt(epoll_driver::of(home), std::move(both.line)));
    auto first = spawn(home, read_text(line, 99, clock::now() + 60s));  // it takes the only edge
    home.run_until_idle();
    ASSERT_EQ(::write(both.master.get(), "one\ntwo\n", 8), 8);
    EXPECT_EQ(finish(first), "one\n");
    EXPECT_EQ(run(read_text(line, 99, clock::now() + 60s)), "two\n");
    auto waits = spawn(home, read_text(line, 99));
    home.run_until_idle();
    EXPECT_FALSE(waits.ended());
    ASSERT_EQ(::write(both.master.get(), "three\n", 6), 6);
    EXPECT_EQ(finish(waits), "three\n");
    EXPECT_TRUE(run(write_text(line, "answer\n")));
}

// What other processes have of the terminal stays a blocking one.
TEST_F(pipe_stream_test, a_shared_terminal_stays_as_it_was) {
    const terminal both;
    pipe_stream line = must(pipe_stream::adopt_again(epoll_driver::of(home), both.line.get()));
    EXPECT_EQ(::fcntl(both.line.get(), F_GETFL) & O_NONBLOCK, 0);
    EXPECT_NE(::fcntl(line.native_handle(), F_GETFL) & O_NONBLOCK, 0);
    EXPECT_NE(::fcntl(line.native_handle(), F_GETFD) & FD_CLOEXEC, 0);
    ASSERT_EQ(::write(both.master.get(), "one\n", 4), 4);
    EXPECT_EQ(run(read_text(line, 99, clock::now() + 60s)), "one\n");
}

TEST_F(pipe_stream_test, a_socket_is_not_opened_again) {
    const test::raw_socket one = test::raw_socket::made();
    EXPECT_EQ(pipe_stream::adopt_again(epoll_driver::of(home), one.fd()).error(),
              std::errc::no_such_device_or_address);
}

TEST_F(pipe_stream_test, both_ends_are_close_on_exec) {
    const pipe_ends both = made();
    for (const pipe_stream* each : {&both.reader, &both.writer}) {
        EXPECT_NE(::fcntl(each->native_handle(), F_GETFD) & FD_CLOEXEC, 0);
    }
}

TEST_F(pipe_stream_test, an_operation_that_was_made_before_the_close_fails) {
    pipe_ends both = made();
    const auto reads = [&]() -> task<std::error_code> {
        std::array<std::byte, 8> buffer;
        auto later = both.reader.read_some(buffer);
        both.reader.close();
        const auto size = co_await later;
        co_return size ? std::error_code{} : size.error();
    };
    EXPECT_EQ(run(reads()), std::errc::bad_file_descriptor);
}

// Pieces of any size, with deadlines and both forms of each call: the text arrives as it is.
TEST_F(pipe_stream_test, pieces_of_any_size_arrive_in_order) {
    test::for_each_seed(20, [&](std::mt19937_64& random) {
        pipe_ends both = made();
        std::string text(300'000, '?');
        for (char& each : text) each = static_cast<char>('a' + random() % 26);
        const std::uint64_t for_writer = random();
        const std::uint64_t for_reader = random();
        const auto writes = [&]() -> task<> {
            std::mt19937_64 own{for_writer};
            auto rest = bytes_of(text);
            while (!rest.empty()) {
                const auto some = rest.first(std::min<std::size_t>(rest.size(), 1 + own() % 9000));
                if (own() % 2 == 0) {
                    EXPECT_TRUE(co_await both.writer.write_all(some));
                    rest = rest.subspan(some.size());
                } else {
                    const time_point deadline =
                        own() % 3 == 0 ? immediately : never;  // then it tries once
                    const auto size = co_await both.writer.write_some(some, deadline);
                    rest = rest.subspan(size.value_or(0));
                }
            }
            both.writer.close();
        };
        const auto reads = [&]() -> task<std::string> {
            std::mt19937_64 own{for_reader};
            std::string all;
            std::vector<std::byte> buffer(9000);
            for (;;) {
                const auto room = std::span{buffer}.first(1 + own() % buffer.size());
                const std::array<std::span<std::byte>, 2> parts{room.first(room.size() / 2),
                                                                room.subspan(room.size() / 2)};
                const time_point deadline = own() % 3 == 0 ? immediately : never;
                const auto size = own() % 2 == 0 ? co_await both.reader.read_some(room, deadline)
                                                 : co_await both.reader.read_some(parts, deadline);
                if (!size) continue;
                if (*size == 0) co_return all;
                all.append(reinterpret_cast<const char*>(room.data()), *size);
            }
        };
        auto writer = spawn(home, writes());
        auto reader = spawn(home, reads());
        EXPECT_EQ(finish(reader), text);
        finish(writer);
    });
}

}  // namespace
}  // namespace fairlead::io::pipe_stream_tests
