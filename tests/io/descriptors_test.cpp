// Descriptors that are passed beside the data of a Unix socket.
#include "support/networks.hpp"
#include "support/seeds.hpp"
#include "support/sockets.hpp"

#include <fairlead/channel/channel.hpp>
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/select.hpp>
#include <fairlead/io/tcp.hpp>
#include <fairlead/io/unix.hpp>
#include <fairlead/io/unix_datagram.hpp>

#include <gtest/gtest.h>

#include <dirent.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <expected>
#include <random>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace fairlead::io::descriptors_tests {
namespace {

using namespace std::chrono_literals;
using test::bytes_of;

int open_descriptors() {
    DIR* const folder = ::opendir("/proc/self/fd");
    int count = 0;
    while (::readdir(folder) != nullptr) ++count;
    ::closedir(folder);
    return count;
}

// A descriptor that is known again by its number.
os::unique_fd numbered(unsigned number) {
    return os::unique_fd{::eventfd(number, EFD_CLOEXEC | EFD_NONBLOCK)};
}
std::uint64_t number_of(const os::unique_fd& one) {
    eventfd_t number = 0;
    EXPECT_EQ(::eventfd_read(one.get(), &number), 0);
    return number;
}

std::vector<int> numbers(const std::vector<os::unique_fd>& all) {
    std::vector<int> made;
    for (const os::unique_fd& each : all) made.push_back(each.get());
    return made;
}

struct arrived {
    std::string text;
    std::size_t descriptors = 0;
    std::error_code error;
};

task<arrived> reads(unix_stream& from, std::size_t size, std::span<os::unique_fd> into,
                    time_point deadline = never) {
    std::string text(size, '\0');
    const auto came = co_await from.read_with_descriptors(std::as_writable_bytes(std::span{text}),
                                                          into, deadline);
    text.resize(came ? came->size : came.error().size);
    co_return arrived{text, came ? came->descriptors : 0,
                      came ? std::error_code{} : came.error().error};
}

task<std::error_code> writes(unix_stream& to, std::string text, std::vector<int> descriptors,
                             time_point deadline = never) {
    const auto done = co_await to.write_with_descriptors(bytes_of(text), descriptors, deadline);
    co_return done ? std::error_code{} : done.error();
}

class descriptors_test : public testing::Test {
protected:
    arrived read(std::size_t size, std::span<os::unique_fd> into, time_point deadline = never) {
        return on.run(reads(far, size, into, deadline));
    }
    std::error_code write(std::string text, std::vector<int> descriptors,
                          time_point deadline = never) {
        return on.run(writes(near, std::move(text), std::move(descriptors), deadline));
    }
    std::vector<os::unique_fd> make(unsigned count) {
        std::vector<os::unique_fd> all;
        for (unsigned i = 1; i <= count; ++i) all.push_back(numbered(i));
        return all;
    }

    test::kernel_home on;
    std::pair<unix_stream, unix_stream> ends =
        unix_stream::pair(epoll_driver::of(on.home())).value();
    unix_stream near{std::move(ends.first)};
    unix_stream far{std::move(ends.second)};
};

TEST_F(descriptors_test, arrive_with_the_data_as_copies) {
    for (const unsigned count : {1U, 2U, 7U}) {
        const auto sent = make(count);
        EXPECT_EQ(write("text", numbers(sent)), std::error_code{});
        std::array<os::unique_fd, 10> into;
        const arrived came = read(100, into);
        EXPECT_EQ(came.error, std::error_code{});
        EXPECT_EQ(came.text, "text");
        ASSERT_EQ(came.descriptors, count);
        for (unsigned i = 0; i != count; ++i) {
            EXPECT_NE(into[i].get(), sent[i].get());
            EXPECT_EQ(::fcntl(into[i].get(), F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
            EXPECT_EQ(number_of(into[i]), i + 1);
        }
        EXPECT_FALSE(into[count].valid());
    }
}

TEST_F(descriptors_test, data_come_without_any) {
    EXPECT_EQ(write("text", {}), std::error_code{});
    EXPECT_EQ(write("", {}), std::error_code{});
    std::array<os::unique_fd, 1> into;
    EXPECT_EQ(read(100, into).text, "text");
    EXPECT_FALSE(into[0].valid());
    EXPECT_EQ(read(0, into).error, std::error_code{});
    EXPECT_TRUE(near.shutdown_send());
    const arrived end = read(100, into);
    EXPECT_EQ(end.text, "");
    EXPECT_EQ(end.error, std::error_code{});
}

TEST_F(descriptors_test, there_is_a_most) {
    auto sent = make(unix_stream::descriptors_max);
    EXPECT_EQ(write("x", numbers(sent)), std::error_code{});
    std::vector<os::unique_fd> into(unix_stream::descriptors_max);
    EXPECT_EQ(read(10, into).descriptors, unix_stream::descriptors_max);
    EXPECT_EQ(number_of(into.back()), unix_stream::descriptors_max);
    sent.push_back(numbered(1));
    EXPECT_EQ(write("x", numbers(sent)), std::errc::invalid_argument);
    EXPECT_EQ(write("", {sent[0].get()}), std::errc::invalid_argument);
    EXPECT_EQ(write("x", {-1}), std::errc::bad_file_descriptor);
    EXPECT_EQ(read(10, into, clock::now() + 1ms).error, std::errc::timed_out);
}

// With room for one there is padding for a second.
TEST_F(descriptors_test, more_than_there_is_room_for_are_closed) {
    const auto sent = make(4);
    for (const std::size_t room : {0U, 1U, 2U, 3U}) {
        const int before = open_descriptors();
        EXPECT_EQ(write("text", numbers(sent)), std::error_code{});
        std::vector<os::unique_fd> into(room);
        const arrived came = read(100, into);
        EXPECT_EQ(came.error, std::errc::message_size);
        EXPECT_EQ(came.text, "text");
        for (const os::unique_fd& each : into) EXPECT_FALSE(each.valid());
        EXPECT_EQ(open_descriptors(), before);
    }
    EXPECT_EQ(write("next", {}), std::error_code{});
    EXPECT_EQ(read(100, {}).text, "next");
}

TEST_F(descriptors_test, a_process_that_may_open_no_more_is_told) {
    const auto sent = make(3);
    EXPECT_EQ(write("text", numbers(sent)), std::error_code{});
    std::array<os::unique_fd, 3> into;
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
    rlimit none = before;
    const os::unique_fd next = numbered(1);  // the lowest number that is free, at the most
    none.rlim_cur = static_cast<rlim_t>(next.get()) + 1;
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
    const arrived came = read(100, into);
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
    EXPECT_EQ(came.error, std::errc::message_size);
    EXPECT_EQ(came.text, "text");
    for (const os::unique_fd& each : into) EXPECT_FALSE(each.valid());
}

TEST_F(descriptors_test, two_sets_do_not_come_at_once) {
    EXPECT_EQ(write("a", {numbered(1).get()}), std::error_code{});
    EXPECT_EQ(write("b", {}), std::error_code{});
    EXPECT_EQ(write("c", {numbered(2).get()}), std::error_code{});
    EXPECT_EQ(write("d", {}), std::error_code{});
    std::string text;
    std::vector<std::uint64_t> seen;
    while (text.size() != 4) {
        std::array<os::unique_fd, 4> into;
        const arrived came = read(100, into);
        ASSERT_EQ(came.error, std::error_code{});
        ASSERT_LE(came.descriptors, 1U);
        text += came.text;
        if (came.descriptors == 1) seen.push_back(number_of(into[0]));
    }
    EXPECT_EQ(text, "abcd");
    EXPECT_EQ(seen, (std::vector<std::uint64_t>{1, 2}));
}

// 1. A task waits to read. 2. Data with a descriptor come, and more data. 3. The read ends behind
// the first, with less than it asked for, and no edge will tell of the rest.
template <class Stream>
task<std::string> reads_two(Stream& from, bool scattered) {
    std::string all;
    while (all.size() != 2) {
        std::array<std::byte, 16> buffer;
        const std::array<std::span<std::byte>, 2> parts{std::span{buffer}.first(8),
                                                        std::span{buffer}.subspan(8)};
        const auto count =
            scattered ? co_await from.read_some(parts) : co_await from.read_some(buffer);
        if (!count || *count == 0) break;
        all.append(reinterpret_cast<const char*>(buffer.data()), *count);
    }
    co_return all;
}

TEST_F(descriptors_test, a_read_without_room_closes_them_and_loses_no_data) {
    const os::unique_fd one = numbered(1);
    auto as_tcp =
        tcp_stream::adopt(epoll_driver::of(on.home()), os::unique_fd{::dup(far.native_handle())});
    ASSERT_TRUE(as_tcp);
    for (const bool scattered : {false, true}) {
        for (const bool by_tcp : {false, true}) {
            const int before = open_descriptors();
            auto handle = by_tcp ? spawn(on.home(), reads_two(*as_tcp, scattered))
                                 : spawn(on.home(), reads_two(far, scattered));
            on.home().run_until_idle();
            EXPECT_EQ(write("a", {one.get()}), std::error_code{});
            EXPECT_EQ(write("b", {}), std::error_code{});
            on.home().run_until_idle();
            ASSERT_TRUE(handle.ended());
            EXPECT_EQ(handle.get(), "ab");
            EXPECT_EQ(open_descriptors(), before);
        }
    }
}

TEST_F(descriptors_test, large_data_carry_them_once) {
    const std::string text(3 << 20, 'x');
    const auto sent = make(2);
    auto writing = spawn(on.home(), writes(near, text, numbers(sent)));
    std::size_t size = 0;
    std::size_t count = 0;
    while (size != text.size()) {
        std::array<os::unique_fd, 4> into;
        const arrived came = read(1 << 20, into);
        ASSERT_EQ(came.error, std::error_code{});
        if (size == 0) {
            EXPECT_EQ(came.descriptors, 2U);
        }
        size += came.text.size();
        count += came.descriptors;
    }
    EXPECT_EQ(count, 2U);
    while (!writing.ended()) on.home().run_until(never, 1);
    EXPECT_EQ(writing.get(), std::error_code{});
}

TEST_F(descriptors_test, deadlines_and_stops_end_waits_and_lose_none) {
    const os::unique_fd one = numbered(9);
    std::array<os::unique_fd, 1> into;
    for (int i = 0; i != 3; ++i) {
        EXPECT_EQ(read(10, into, clock::now() + 1ms).error, std::errc::timed_out);
        EXPECT_EQ(write("x", {one.get()}), std::error_code{});
        EXPECT_EQ(read(10, into).descriptors, 1U);
    }
    auto reading = spawn(on.home(), reads(far, 10, into));
    on.home().run_until_idle();
    EXPECT_FALSE(reading.ended());
    reading.request_stop();
    on.home().run_until_idle();
    EXPECT_EQ(reading.get().error, std::errc::operation_canceled);
    // A write without room.
    while (write(std::string(100'000, 'x'), {}, immediately) == std::error_code{}) {
    }
    EXPECT_EQ(write("y", {one.get()}, clock::now() + 1ms), std::errc::timed_out);
    auto writing = spawn(on.home(), writes(near, "y", {one.get()}));
    on.home().run_until_idle();
    EXPECT_FALSE(writing.ended());
    writing.request_stop();
    on.home().run_until_idle();
    EXPECT_EQ(writing.get(), std::errc::operation_canceled);
    into[0].reset();
    for (arrived came;
         (came = read(100'000, into, clock::now() + 1ms)).error != std::errc::timed_out;) {
        EXPECT_EQ(came.descriptors, 0U);
    }
}

TEST_F(descriptors_test, a_branch_that_loses_leaves_them) {
    static constexpr auto selects = [](unix_stream& from, channel<int>& in,
                                       std::span<os::unique_fd> into) -> task<int> {
        std::array<std::byte, 10> buffer{};
        const auto ended = co_await select(
            fairlead::on(in.receive(), [](waited<int>) { return 1; }),
            fairlead::on(from.read_with_descriptors(buffer, into),
                         [](std::expected<data_and_descriptors, unfinished_read> came) {
                             return came && came->descriptors == 1 ? 2 : 3;
                         }));
        co_return ended ? *ended : 4;
    };
    channel<int> in{1};
    std::array<os::unique_fd, 1> into;
    for (int i = 0; i != 3; ++i) {
        EXPECT_TRUE(in.try_send(7));
        EXPECT_EQ(on.run(selects(far, in, into)), 1);
        EXPECT_EQ(write("x", {numbered(3).get()}), std::error_code{});
        EXPECT_EQ(on.run(selects(far, in, into)), 2);
        EXPECT_EQ(number_of(into[0]), 3U);
    }
}

TEST_F(descriptors_test, of_datagrams_are_not_taken) {
    auto two = unix_datagram::pair(epoll_driver::of(on.home())).value();
    const int before = open_descriptors();
    std::array<char, CMSG_SPACE(sizeof(int))> beside{};
    char text = 'x';
    iovec data{&text, 1};
    msghdr message{};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = beside.data();
    message.msg_controllen = beside.size();
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    *header = {
        .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    const int standard_input = 0;
    std::copy_n(reinterpret_cast<const unsigned char*>(&standard_input), sizeof(int),
                CMSG_DATA(header));
    ASSERT_EQ(::sendmsg(two.first.native_handle(), &message, 0), 1);
    static constexpr auto receives = [](unix_datagram& from) -> task<std::size_t> {
        std::array<std::byte, 10> buffer;
        co_return (co_await from.receive_from(buffer)).value().size;
    };
    EXPECT_EQ(on.run(receives(two.second)), 1U);
    EXPECT_EQ(open_descriptors(), before);
}

// Random messages with random descriptors: all bytes come in order, and each descriptor once, with
// the first byte of its message.
TEST(descriptors_at_random, come_in_order_with_their_bytes) {
    const test::watchdog guard;
    test::kernel_home on;
    test::for_each_seed(100, [&](std::mt19937_64& random) {
        auto [near, far] = unix_stream::pair(epoll_driver::of(on.home())).value();
        const int before = open_descriptors();
        std::deque<std::pair<std::size_t, unsigned>> expected;  // where a descriptor comes
        std::size_t written = 0;
        std::size_t read = 0;
        unsigned last = 0;
        const auto receive = [&] {
            std::vector<os::unique_fd> into(4);
            const std::size_t room = 1 + random() % 50'000;
            const arrived came = on.run(reads(far, room, into, immediately));
            if (came.error) {
                EXPECT_EQ(came.error, std::errc::timed_out);
                EXPECT_EQ(read, written);
                return;
            }
            for (std::size_t i = 0; i != came.descriptors; ++i) {
                ASSERT_FALSE(expected.empty());
                const auto [where, number] = expected.front();
                expected.pop_front();
                EXPECT_GE(where, read);
                EXPECT_LT(where, read + came.text.size());
                EXPECT_EQ(number_of(into[i]), number);
            }
            for (std::size_t i = 0; i != came.text.size(); ++i) {
                ASSERT_EQ(came.text[i], static_cast<char>((read + i) % 251));
            }
            read += came.text.size();
        };
        for (int i = 0; i != 30 && !testing::Test::HasFailure(); ++i) {
            if (random() % 2 == 0 && written - read < 50'000) {
                std::string text(1 + random() % 20'000, '\0');
                for (std::size_t at = 0; at != text.size(); ++at) {
                    text[at] = static_cast<char>((written + at) % 251);
                }
                std::vector<os::unique_fd> passed;
                for (std::size_t count = random() % 5; count != 0; --count) {
                    passed.push_back(numbered(++last));
                    expected.emplace_back(written, last);
                }
                written += text.size();
                EXPECT_EQ(on.run(writes(near, text, numbers(passed))), std::error_code{});
            } else {
                receive();
            }
        }
        while (read != written && !testing::Test::HasFailure()) receive();
        EXPECT_TRUE(expected.empty());
        EXPECT_EQ(open_descriptors(), before);
    });
}

}  // namespace
}  // namespace fairlead::io::descriptors_tests
