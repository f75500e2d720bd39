// Unix sockets, passed descriptors and datagrams, when each call of the system fails.
#include "support/sockets.hpp"
#include "faults/sweep.hpp"
#include "support/folder.hpp"
#include "support/must.hpp"

#include <fairlead/coro/spawn.hpp>
#include <fairlead/coro/when_all.hpp>
#include <fairlead/io/udp.hpp>
#include <fairlead/io/unix.hpp>
#include <fairlead/io/unix_datagram.hpp>

#include <gtest/gtest.h>

#include <sys/eventfd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <expected>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace fairlead::test::sockets_tests {
namespace {

using namespace std::chrono_literals;

template <class T>
T run(scheduler& home, task<T> body) {
    auto handle = spawn(home, std::move(body));
    while (!handle.ended()) home.run_until(never, 1);
    return handle.get();
}

class socket_failures : public testing::Test {
protected:
    const watchdog guard;
};

// --- streams -------------------------------------------------------------------------------------

constexpr std::string_view message = "there and back again";

task<> passes_a_descriptor(io::unix_stream& near, io::unix_stream& far) {
    const os::unique_fd sent{::eventfd(5, EFD_CLOEXEC | EFD_NONBLOCK)};
    if (!sent.valid()) throw std::system_error{errno, std::system_category()};
    must(co_await near.write_with_descriptors(bytes_of(message), std::array{sent.get()}));
    std::string text;
    std::size_t count = 0;
    while (text.size() != message.size()) {
        std::array<std::byte, 100> buffer;
        std::array<os::unique_fd, 2> into;
        const auto came = co_await far.read_with_descriptors(buffer, into);
        if (!came) throw std::system_error{came.error().error};
        text.append(reinterpret_cast<const char*>(buffer.data()), came->size);
        count += came->descriptors;
    }
    EXPECT_EQ(text, message);
    EXPECT_EQ(count, 1U);
    must(co_await far.write_all(bytes_of(message)));
    std::array<std::byte, message.size()> back;
    const auto all = co_await near.read_exactly(back);
    if (!all) throw std::system_error{all.error().error};
}

// A listener takes the place of a stale one.
void uses_a_file(const folder& files) {
    const io::unix_address where = must(io::unix_address::path(files.path_of("socket")));
    {
        // Where it is no scenario of its own: a file that the last run has left does as well.
        const os::unique_fd gone{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
        if (!gone.valid()) throw std::system_error{errno, std::system_category()};
        const io::address to = where.as_address();
        const bool bound = ::bind(gone.get(), to.data(), to.size()) == 0;
        if (!bound && errno != EADDRINUSE) throw std::system_error{errno, std::system_category()};
    }
    scheduler home{with_epoll_on_caller()};
    io::listener_options options;
    options.file = {.permissions = 0660, .replace_stale = true};
    auto listener = must(io::unix_listener::bind(home, where, options));
    const auto meets = [&]() -> task<> {
        auto near = must(co_await io::unix_stream::connect(where));
        auto far = must(co_await listener.accept());
        must(near.peer_credentials());
        co_await passes_a_descriptor(near, far);
    };
    run(home, meets());
}

void uses_a_pair() {
    scheduler home{with_epoll_on_caller()};
    auto ends = must(io::unix_stream::pair(io::epoll_driver::of(home)));
    run(home, passes_a_descriptor(ends.first, ends.second));
    must(io::unix_stream::adopt(io::epoll_driver::of(home),
                                os::unique_fd{::dup(ends.first.native_handle())}));
}

void sweep_file(const fault& what, outcome right) {
    const folder files;
    sweep(what, right, [&] { uses_a_file(files); });
}

TEST_F(socket_failures, errors_of_the_file_are_reported) {
    for (const int error : {EACCES, EMFILE, ENOSPC, EROFS}) {
        sweep_file({"openat", error}, outcome::reported);
    }
    for (const int error : {ENOLCK, EINTR}) sweep_file({"flock", error}, outcome::reported);
    for (const int error : {EPERM, EROFS}) {
        sweep_file({"fchmodat", error}, outcome::reported);
        sweep_file({"fchmod", error}, outcome::reported);
    }
    for (const int error : {EMFILE, ENOBUFS}) sweep_file({"socket", error}, outcome::reported);
    for (const int error : {EACCES, EROFS, ENOSPC}) sweep_file({"bind", error}, outcome::reported);
    sweep_file({"listen", EADDRINUSE}, outcome::reported);
    // What has not worked at the close stays behind.
    for (const int error : {EACCES, EIO}) {
        sweep_file({"fstatat", error}, outcome::maybe_reported);
        sweep_file({"unlinkat", error}, outcome::maybe_reported);
    }
}

TEST_F(socket_failures, a_file_that_is_locked_is_in_use) {
    const folder files;
    const armed locked{{"flock", EWOULDBLOCK}, call_range::only(1)};
    try {
        uses_a_file(files);
        ADD_FAILURE();
    } catch (const std::system_error& error) {
        EXPECT_EQ(error.code(), std::errc::address_in_use);
    }
}

// A file without its permissions must not stay.
TEST_F(socket_failures, a_file_that_cannot_be_listened_to_is_removed) {
    const folder files;
    const io::unix_address where = must(io::unix_address::path(files.path_of("socket")));
    for (const fault& what : {fault{"fchmodat", EPERM}, fault{"listen", EADDRINUSE},
                              fault{"epoll_ctl", ENOSPC}, fault{"operator new", ENOMEM}}) {
        for (const bool stream : {true, false}) {
            if (!stream && what.call == std::string_view{"listen"}) continue;
            scheduler home{with_epoll_on_caller()};  // it keeps memory of an earlier one
            bool has_failed = false;
            {
                const armed plan{what, call_range::from(1)};
                has_failed = stream ? !io::unix_listener::bind(home, where)
                                    : !io::unix_datagram::bind(home, where);
            }
            EXPECT_TRUE(has_failed) << what.call;
            EXPECT_EQ(files.files(), 0U) << what.call;
        }
    }
}

TEST_F(socket_failures, errors_of_passing_are_reported) {
    for (const int error : {EMFILE, ENFILE, ENOMEM}) {
        sweep({"socketpair", error}, outcome::reported, uses_a_pair);
    }
    for (const int error : {ECONNRESET, EPIPE, ENOMEM, ETOOMANYREFS}) {
        sweep({"sendmsg", error}, outcome::reported, uses_a_pair);
    }
    for (const int error : {ECONNRESET, ENOMEM}) {
        sweep({"recvmsg", error}, outcome::reported, uses_a_pair);
        sweep({"send", error}, outcome::reported, uses_a_pair);
    }
    sweep({"getsockopt", ENOBUFS}, outcome::reported, uses_a_pair);
    sweep({"epoll_ctl", ENOSPC}, outcome::maybe_reported, uses_a_pair);
    sweep({}, outcome::maybe_reported, uses_a_pair);
    for (const char* const call : {"sendmsg", "recvmsg", "send"}) {
        sweep_range({call, EINTR}, outcome::invisible, uses_a_pair, call_range::only);
    }
    // The descriptors go with the first byte, and only with that.
    sweep({"sendmsg", 0, fault::how::cut}, outcome::invisible, uses_a_pair);
}

// The system refuses a connect to a full backlog, and tells of no room.
TEST_F(socket_failures, a_connect_to_a_full_backlog_is_tried_again) {
    const auto connects = [] {
        scheduler home{with_epoll_on_caller()};
        auto listener = must(io::unix_listener::bind(home, {}));
        const io::unix_address where = must(listener.local_address());
        must(run(home, io::unix_stream::connect(where)));
    };
    sweep_range({"connect", EAGAIN}, outcome::invisible, connects, call_range::only);
    sweep({"connect", EACCES}, outcome::reported, connects);
}

// --- datagrams -----------------------------------------------------------------------------------

struct two_sockets {
    io::udp_socket server;
    io::udp_socket client;
};

two_sockets connected(scheduler& home, bool gro) {
    auto server = must(io::udp_socket::bind(home, io::address::loopback(0),
                                            {.receive_buffer = 200'000, .gro = gro}));
    auto client = must(io::udp_socket::connect(home, must(server.local_address())));
    return {std::move(server), std::move(client)};
}

// Receives `size` bytes, whatever they come in. Gives the longest datagram.
task<std::size_t> receives(io::udp_socket& from, std::size_t size) {
    std::size_t longest = 0;
    std::vector<std::byte> room(4 * 70'000);
    for (std::size_t seen = 0; seen < size;) {
        std::array<io::arrived_datagram, 4> into;
        for (std::size_t i = 0; i != into.size(); ++i) {
            into[i].buffer = std::span{room}.subspan(i * 70'000, 70'000);
        }
        const auto count = must(co_await from.receive(into, clock::now() + 10s));
        for (const auto& each : std::span{into}.first(count)) {
            seen += each.size;
            longest = std::max(longest, each.segment);
        }
    }
    co_return longest;
}

task<> sends(io::udp_socket& to, std::span<const io::datagram> all) {
    const auto done = co_await to.send(all);
    if (!done) throw std::system_error{done.error().error};
}

// Datagrams that the kernel cuts, and such that it does not.
void exchanges_datagrams() {
    scheduler home{with_epoll_on_caller()};
    two_sockets on = connected(home, true);
    const std::string text(10'000, 'x');
    const std::array<io::datagram, 3> all{io::datagram{.data = bytes_of("one")},
                                          {.data = bytes_of(text), .segment = 1000},
                                          {.data = bytes_of("two")}};
    run(home, sends(on.client, all));
    EXPECT_EQ(run(home, receives(on.server, text.size() + 6)), 1000U);
}

// What the kernel would cut, alone.
bool sends_segments() {
    scheduler home{with_epoll_on_caller()};
    two_sockets on = connected(home, false);
    const std::string text(10'000, 'x');
    const io::datagram one{.data = bytes_of(text), .segment = 1000};
    run(home, sends(on.client, {&one, 1}));
    EXPECT_EQ(run(home, receives(on.server, text.size())), 1000U);
    return !on.client.gso_refused();
}

TEST_F(socket_failures, errors_of_datagrams_are_reported) {
    for (const int error : {ECONNREFUSED, ENOBUFS, ENETUNREACH, EPERM, ENOMEM}) {
        sweep({"sendmmsg", error}, outcome::reported, exchanges_datagrams);
    }
    for (const int error : {ECONNREFUSED, ENOMEM}) {
        sweep({"recvmmsg", error}, outcome::reported, exchanges_datagrams);
    }
    for (const char* const call : {"sendmmsg", "recvmmsg"}) {
        sweep_range({call, EINTR}, outcome::invisible, exchanges_datagrams, call_range::only);
        sweep({call, 0, fault::how::cut}, outcome::invisible, exchanges_datagrams);
    }
    for (const char* const call : {"socket", "bind", "connect"}) {
        sweep({call, EACCES}, outcome::reported, exchanges_datagrams);
    }
    sweep({"setsockopt", ENOPROTOOPT}, outcome::invisible, exchanges_datagrams);
    sweep({"epoll_ctl", ENOSPC}, outcome::maybe_reported, exchanges_datagrams);
    sweep({}, outcome::maybe_reported, exchanges_datagrams);
}

// With all that can be told beside a datagram. What the kernel refuses to tell is not told.
void exchanges_details() {
    scheduler home{with_epoll_on_caller()};
    auto server = must(
        io::udp_socket::bind(home, must(io::address::parse("0.0.0.0", 0)),
                             {.gro = true, .destinations = true, .marks = true, .drops = true}));
    auto client = must(io::udp_socket::bind(home, io::address::loopback(0)));
    const io::address where = io::address::loopback(must(server.local_address()).port());
    const io::address source = io::address::loopback(0);
    const io::datagram one{
        .data = bytes_of("one"), .to = &where, .from = &source, .mark = io::ecn_mark::ect_0};
    run(home, sends(client, {&one, 1}));
    const auto receives_it = [&]() -> task<> {
        std::array<std::byte, 100> room;
        const auto came = must(co_await server.receive_from(room, clock::now() + 10s));
        EXPECT_EQ(came.size, 3U);
        EXPECT_EQ(came.segment, 3U);
        EXPECT_EQ(came.from, must(client.local_address()));
        EXPECT_TRUE(!came.to || *came.to == source);
        EXPECT_EQ(came.interface != 0, came.to.has_value());
        EXPECT_TRUE(came.mark == io::ecn_mark::ect_0 || came.mark == io::ecn_mark::not_ect);
        EXPECT_EQ(came.dropped, 0U);
    };
    run(home, receives_it());
}

TEST_F(socket_failures, errors_beside_datagrams_are_reported) {
    // EINVAL: the source is no address of this machine any more.
    for (const int error : {EINVAL, ENOBUFS, EPERM}) {
        sweep({"sendmmsg", error}, outcome::reported, exchanges_details);
    }
    for (const int error : {ECONNREFUSED, ENOMEM}) {
        sweep({"recvmmsg", error}, outcome::reported, exchanges_details);
    }
    for (const int error : {ENOPROTOOPT, EPERM}) {
        sweep({"setsockopt", error}, outcome::invisible, exchanges_details);
    }
    sweep({"recvmmsg", 0, fault::how::cut}, outcome::invisible, exchanges_details);
}

TEST_F(socket_failures, what_the_kernel_refuses_to_cut_leaves_in_pieces) {
    ASSERT_TRUE(sends_segments());
    for (const int error : {EIO, EOPNOTSUPP}) {
        const armed plan{{"sendmmsg", error}, call_range::only(1)};
        EXPECT_FALSE(sends_segments());  // for good
        EXPECT_TRUE(plan.hit());
    }
    for (const int error : {EINVAL, EMSGSIZE}) {
        const armed plan{{"sendmmsg", error}, call_range::only(1)};
        EXPECT_TRUE(sends_segments());  // for this one
        EXPECT_TRUE(plan.hit());
    }
    for (const int error : {EIO, EINVAL}) {
        const armed plan{{"sendmmsg", error}, call_range::from(1)};
        EXPECT_THROW(static_cast<void>(sends_segments()), std::system_error);
    }
}

// An older kernel would send one datagram of 10,000 bytes.
TEST_F(socket_failures, a_kernel_that_cannot_cut_is_asked_first) {
    const armed plan{{"getsockopt", ENOPROTOOPT}, call_range::from(1)};
    EXPECT_FALSE(sends_segments());
    EXPECT_TRUE(plan.hit());
}

}  // namespace
}  // namespace fairlead::test::sockets_tests
