// The file of a Unix socket, and the process at the other end.
#include "support/folder.hpp"
#include "support/networks.hpp"

#include <fairlead/io/tcp.hpp>
#include <fairlead/io/unix.hpp>
#include <fairlead/io/unix_datagram.hpp>

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdio>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

namespace fairlead::io::unix_file_tests {
namespace {

class unix_file_test : public testing::Test {
protected:
    [[nodiscard]] std::expected<unix_listener, std::error_code> listens(
        unix_file_options file = {}) {
        listener_options options;
        options.file = file;
        return unix_listener::bind(on.home(), where, options);
    }
    [[nodiscard]] std::optional<mode_t> mode() const {
        struct stat known {};
        if (::lstat(path.c_str(), &known) != 0) return std::nullopt;
        return known.st_mode;
    }
    [[nodiscard]] std::error_code connects() {
        static constexpr auto tries = [](unix_address to) -> task<std::error_code> {
            const auto made = co_await unix_stream::connect(to);
            co_return made ? std::error_code{} : made.error();
        };
        return on.run(tries(where));
    }
    // As a program leaves it that is killed.
    void leave_stale(int type = SOCK_STREAM) const {
        const os::unique_fd gone{::socket(AF_UNIX, type | SOCK_CLOEXEC, 0)};
        const address to = where.as_address();
        ASSERT_EQ(::bind(gone.get(), to.data(), to.size()), 0);
    }

    test::folder files;
    test::kernel_home on;
    const std::string path = files.path_of("socket");
    const unix_address where = *unix_address::path(path);
};

constexpr unix_file_options replaces{.replace_stale = true};

// A program that takes either kind of address by its configuration.
TEST_F(unix_file_test, goes_with_a_tcp_listener_too) {
    {
        auto one = tcp_listener::bind(on.home(), where.as_address()).value();
        EXPECT_EQ(files.files(), 1U);
        EXPECT_EQ(connects(), std::error_code{});
        tcp_listener moved{std::move(one)};
        EXPECT_EQ(files.files(), 1U);
        moved.close();
        EXPECT_EQ(files.files(), 0U);
        auto second = tcp_listener::bind(on.home(), where.as_address()).value();
        ASSERT_EQ(std::remove(path.c_str()), 0);
        leave_stale();  // the file of another program
    }
    EXPECT_EQ(files.files(), 1U);
}

TEST_F(unix_file_test, is_there_while_it_is_listened_to) {
    auto one = listens().value();
    EXPECT_EQ(one.local_address().value(), where);
    EXPECT_EQ(connects(), std::error_code{});
    unix_listener moved{std::move(one)};
    EXPECT_EQ(files.files(), 1U);
    EXPECT_EQ(connects(), std::error_code{});
    moved.close();
    EXPECT_EQ(files.files(), 0U);
    {
        auto second = listens().value();
        EXPECT_EQ(files.files(), 1U);
    }
    EXPECT_EQ(files.files(), 0U);
    EXPECT_EQ(connects(), std::errc::no_such_file_or_directory);
}

TEST_F(unix_file_test, has_the_permissions_that_were_asked_for) {
    for (const mode_t mask : {0U, 0022U, 0777U}) {
        for (const unsigned asked : {0600U, 0660U, 0666U}) {
            const mode_t before = ::umask(mask);
            const auto one = listens({.permissions = asked});
            ::umask(before);
            ASSERT_TRUE(one);
            EXPECT_EQ(*mode(), S_IFSOCK | asked);
        }
    }
    const auto by_default = listens();
    EXPECT_EQ(*mode() & 0777U, 0600U);
}

TEST_F(unix_file_test, stays_if_another_one_has_taken_its_place) {
    auto one = listens().value();
    ASSERT_EQ(::unlink(path.c_str()), 0);
    auto other = listens().value();
    one.close();
    EXPECT_EQ(connects(), std::error_code{});
    other.close();
    EXPECT_EQ(files.files(), 0U);
}

TEST_F(unix_file_test, a_stale_one_is_in_use_unless_it_may_be_replaced) {
    leave_stale();
    EXPECT_EQ(connects(), std::errc::connection_refused);
    EXPECT_EQ(listens().error(), std::errc::address_in_use);
    auto one = listens(replaces).value();
    EXPECT_EQ(connects(), std::error_code{});
    one.close();
    EXPECT_FALSE(mode());
}

TEST_F(unix_file_test, one_that_is_listened_to_is_not_replaced) {
    auto one = listens().value();
    EXPECT_EQ(listens(replaces).error(), std::errc::address_in_use);
    EXPECT_EQ(connects(), std::error_code{});
}

TEST_F(unix_file_test, a_file_that_is_no_socket_is_not_replaced) {
    files.put("socket", "text");
    EXPECT_EQ(listens(replaces).error(), std::errc::address_in_use);
    EXPECT_EQ(files.text_of("socket"), "text");
    ASSERT_EQ(::unlink(path.c_str()), 0);
    // Nor is a link, though it leads to a stale one.
    leave_stale();
    ASSERT_EQ(::rename(path.c_str(), files.path_of("real").c_str()), 0);
    ASSERT_EQ(::symlink(files.path_of("real").c_str(), path.c_str()), 0);
    EXPECT_EQ(listens(replaces).error(), std::errc::address_in_use);
    EXPECT_TRUE(S_ISLNK(*mode()));
}

// Two programs find the same stale file: the second would remove that of the first.
TEST_F(unix_file_test, one_program_at_a_time_replaces_it) {
    leave_stale();
    os::unique_fd lock{::open((path + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)};
    ASSERT_EQ(::flock(lock.get(), LOCK_EX), 0);
    EXPECT_EQ(listens(replaces).error(), std::errc::address_in_use);
    lock.reset();
    EXPECT_TRUE(listens(replaces));
}

TEST_F(unix_file_test, errors_of_the_folder_are_told) {
    const unix_address nowhere = *unix_address::path(files.path_of("no/socket"));
    EXPECT_EQ(unix_listener::bind(on.home(), nowhere).error(),
              std::errc::no_such_file_or_directory);
    listener_options options;
    options.file = replaces;
    EXPECT_EQ(unix_listener::bind(on.home(), nowhere, options).error(),
              std::errc::no_such_file_or_directory);
    EXPECT_EQ(files.files(), 0U);
}

TEST_F(unix_file_test, datagrams_have_one_too) {
    leave_stale(SOCK_DGRAM);
    EXPECT_EQ(unix_datagram::bind(on.home(), where).error(), std::errc::address_in_use);
    auto one = unix_datagram::bind(on.home(), where, {.permissions = 0640, .replace_stale = true});
    ASSERT_TRUE(one);
    EXPECT_EQ(*mode(), S_IFSOCK | 0640U);
    EXPECT_EQ(unix_datagram::bind(on.home(), where, replaces).error(), std::errc::address_in_use);
    one->close();
    EXPECT_FALSE(mode());
}

TEST_F(unix_file_test, the_peer_is_known) {
    auto ends = unix_stream::pair(epoll_driver::of(on.home())).value();
    const auto peer = ends.first.peer_credentials();
    ASSERT_TRUE(peer);
    EXPECT_EQ(peer->process, ::getpid());
    EXPECT_EQ(peer->user, ::geteuid());
    EXPECT_EQ(peer->group, ::getegid());
}

TEST_F(unix_file_test, other_sockets_are_not_adopted) {
    epoll_driver& epoll = epoll_driver::of(on.home());
    EXPECT_EQ(unix_stream::adopt(epoll, os::unique_fd{::socket(AF_INET, SOCK_STREAM, 0)}).error(),
              std::errc::address_family_not_supported);
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe(ends.data()), 0);
    const os::unique_fd writes{ends[1]};
    EXPECT_EQ(unix_stream::adopt(epoll, os::unique_fd{ends[0]}).error(), std::errc::not_a_socket);
}

}  // namespace
}  // namespace fairlead::io::unix_file_tests
