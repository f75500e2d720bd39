// A server under hard conditions: a crowd of idle clients, signals, no descriptors left, and busy
// workers.
#include "support/ending_of.hpp"
#include "support/sockets.hpp"
#include "support/switches.hpp"
#include "support/threads.hpp"
#include "support/watchdog.hpp"

#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/scope.hpp>
#include <fairlead/coro/when_all.hpp>
#include <fairlead/coro/with_scope.hpp>
#include <fairlead/io/tcp.hpp>

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace fairlead::io::hardship_tests {
namespace {

using namespace std::chrono_literals;
using test::raw_socket;
using test::watchdog;

task<> echoes(tcp_stream peer, std::atomic<int>& open) {
    ++open;
    std::array<std::byte, 4096> buffer;
    for (;;) {
        const auto count = co_await peer.read_some(buffer);
        if (!count || *count == 0) break;
        const auto written = co_await peer.write_all(std::span{buffer}.first(*count));
        if (!written) break;
    }
    peer.close();
    --open;
}

task<> serves(tcp_listener& listener, std::atomic<int>& open) {
    co_await with_scope([&](scope& sessions) -> task<> {
        for (;;) {
            auto peer = co_await listener.accept();
            if (!peer) break;
            sessions.spawn(echoes(std::move(*peer), open), {.name = "session"});
        }
    });
}

// An echo server on threads; `open` connections.
class hardship : public testing::Test {
protected:
    ~hardship() override {
        server.request_stop();
        server.get();
    }

    [[nodiscard]] address where() const { return listener.local_address().value(); }

    const watchdog guard;
    std::atomic<int> open{0};
    scheduler home{[] {
        scheduler_options options = test::with_epoll(3);
        options.name = "still";
        return options;
    }()};
    tcp_listener listener{std::move(*tcp_listener::bind(home, address::loopback(0)))};
    join_handle<void> server{spawn(home, serves(listener, open), {.name = "server"})};
};

std::string echo_of(const raw_socket& client, std::string_view text) {
    client.send(text);
    std::string answer;
    while (answer.size() < text.size()) {
        const std::string more = client.receive(text.size() - answer.size());
        if (more.empty()) break;
        answer += more;
    }
    return answer;
}

// Changes the limit of descriptors for a test.
class descriptor_limit {
public:
    descriptor_limit() { EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &before_), 0); }
    descriptor_limit(const descriptor_limit&) = delete;
    descriptor_limit& operator=(const descriptor_limit&) = delete;
    ~descriptor_limit() { EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &before_), 0); }

    [[nodiscard]] rlim_t highest() const { return before_.rlim_max; }
    void set(rlim_t limit) const {
        const rlimit changed{.rlim_cur = limit, .rlim_max = before_.rlim_max};
        EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &changed), 0);
    }

private:
    rlimit before_{};
};

// --- a crowd -------------------------------------------------------------------------------------

constexpr int crowd_size = 10'000;

// The clients, in their own process because of the limit of descriptors. The process connects them
// and reports that. For each byte that it receives, every hundredth client gets an echo. It ends at
// the end of its input.
[[noreturn]] void be_the_crowd(std::vector<int>& clients, const address& to, int told, int says) {
    const linger at_once{.l_onoff = 1, .l_linger = 0};  // a reset, so the kernel keeps no state
    char good = 1;
    for (int& client : clients) {
        client = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        good &= static_cast<char>(client >= 0 && ::connect(client, to.data(), to.size()) == 0);
        ::setsockopt(client, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    }
    while (::write(says, &good, 1) == 1) {
        char byte = 0;
        if (::read(told, &byte, 1) != 1) break;
        for (std::size_t i = 0; i < clients.size(); i += 100) {
            char back = 0;
            good &= static_cast<char>(::send(clients[i], &byte, 1, MSG_NOSIGNAL) == 1);
            good &= static_cast<char>(::recv(clients[i], &back, 1, 0) == 1 && back == byte);
        }
    }
    ::_exit(0);
}

TEST_F(hardship, ten_thousand_idle_connections_cost_nothing_and_still_work) {
    const descriptor_limit limit;
    if (limit.highest() < crowd_size + 100) GTEST_SKIP() << "not enough descriptors are allowed";
    limit.set(limit.highest());
    std::vector<int> clients(crowd_size);  // before the fork, after which one must not allocate

    std::array<int, 2> tell{};
    std::array<int, 2> hear{};
    ASSERT_EQ(::pipe2(tell.data(), O_CLOEXEC), 0);
    ASSERT_EQ(::pipe2(hear.data(), O_CLOEXEC), 0);
    const address to = where();
    const pid_t crowd = ::fork();
    ASSERT_GE(crowd, 0);
    if (crowd == 0) {
        ::close(tell[1]);
        ::close(hear[0]);
        be_the_crowd(clients, to, tell[0], hear[1]);
    }
    ::close(tell[0]);
    ::close(hear[1]);

    char good = 0;
    ASSERT_EQ(::read(hear[0], &good, 1), 1);
    ASSERT_EQ(good, 1);
    test::await([&] { return open == crowd_size; });
    test::expect_rest("still", 4);
    for (const char byte : {'a', 'b', 'c'}) {
        ASSERT_EQ(::write(tell[1], &byte, 1), 1);
        ASSERT_EQ(::read(hear[0], &good, 1), 1);
        EXPECT_EQ(good, 1);
    }
    EXPECT_EQ(open, crowd_size);

    ::close(tell[1]);
    int status = 0;
    EXPECT_EQ(::waitpid(crowd, &status, 0), crowd);
    EXPECT_EQ(status, 0);
    ::close(hear[0]);
    test::await([&] { return open == 0; });  // all of them were reset
}

// --- no descriptors left -------------------------------------------------------------------------

TEST_F(hardship, without_descriptors_it_goes_on_as_soon_as_there_are_some) {
    std::vector<raw_socket> clients;
    const descriptor_limit limit;
    for (int i = 0; i != 20; ++i) clients.push_back(raw_socket::made());
    // The threads have begun: none of them has a file open for a moment.
    test::expect_rest("still", 4);
    // Room for about ten more descriptors in this process: the connections that the server accepts.
    const int next = ::dup(clients.back().fd());
    ::close(next);
    limit.set(static_cast<rlim_t>(next) + 10);
    const address to = where();
    for (auto& each : clients) ASSERT_EQ(::connect(each.fd(), to.data(), to.size()), 0);
    test::await([&] { return listener.starved() != 0; });
    const int accepted = open;
    EXPECT_LE(accepted, 10);
    EXPECT_EQ(echo_of(clients.front(), "served all the same"), "served all the same");

    for (int i = 0; i != 10; ++i) clients[static_cast<std::size_t>(i)].close();
    EXPECT_EQ(echo_of(clients.back(), "its turn has come"), "its turn has come");
}

// --- signals -------------------------------------------------------------------------------------

void do_nothing(int) {}

// A timer of the process interrupts system calls of every thread, a thousand times a second,
// without SA_RESTART.
class interruptions {
public:
    interruptions() {
        struct sigaction action {};
        action.sa_handler = do_nothing;
        EXPECT_EQ(::sigaction(SIGALRM, &action, &before_), 0);
        const itimerval every{.it_interval = {.tv_sec = 0, .tv_usec = 1'000},
                              .it_value = {.tv_sec = 0, .tv_usec = 1'000}};
        EXPECT_EQ(::setitimer(ITIMER_REAL, &every, nullptr), 0);
    }
    interruptions(const interruptions&) = delete;
    interruptions& operator=(const interruptions&) = delete;
    ~interruptions() {
        const itimerval never_again{};
        EXPECT_EQ(::setitimer(ITIMER_REAL, &never_again, nullptr), 0);
        std::signal(SIGALRM, SIG_IGN);  // also discards a signal that is pending
        EXPECT_EQ(::sigaction(SIGALRM, &before_, nullptr), 0);
    }

private:
    struct sigaction before_ {};
};

task<bool> sends_and_gets_back(address to, std::size_t size) {
    auto stream = co_await tcp_stream::connect(to);
    if (!stream) co_return false;
    std::vector<std::byte> sent(size);
    for (std::size_t i = 0; i != size; ++i) sent[i] = static_cast<std::byte>(i * 7 + i / 251);
    std::vector<std::byte> received(size);
    static constexpr auto reads = [](tcp_stream& from, std::span<std::byte> into) -> task<bool> {
        while (!into.empty()) {
            const auto count = co_await from.read_some(into, clock::now() + 60s);
            if (!count || *count == 0) co_return false;
            into = into.subspan(*count);
        }
        co_return true;
    };
    static constexpr auto writes = [](tcp_stream& into,
                                      std::span<const std::byte> all) -> task<bool> {
        const auto written = co_await into.write_all(all, clock::now() + 60s);
        co_return written.has_value();
    };
    const auto [written, read] = co_await when_all(writes(*stream, sent), reads(*stream, received));
    co_return written&& read&& sent == received;
}

TEST_F(hardship, signals_interrupt_nothing) {
    const interruptions every_millisecond;
    std::vector<task<bool>> all;
    for (int i = 0; i != 8; ++i) all.push_back(sends_and_gets_back(where(), 3'000'000));
    for (const bool good : block_on(home, when_all(std::move(all)))) EXPECT_TRUE(good);

    static constexpr auto sleeps = []() -> task<bool> {
        const time_point deadline = clock::now() + 30ms;
        const wake_reason why = co_await test::ending_of(sleep_until(deadline));
        co_return why == wake_reason::expired&& clock::now() >= deadline;
    };
    std::vector<task<bool>> sleepers;
    for (int i = 0; i != 20; ++i) sleepers.push_back(sleeps());
    for (const bool good : block_on(home, when_all(std::move(sleepers)))) EXPECT_TRUE(good);
}

// --- busy workers --------------------------------------------------------------------------------

TEST_F(hardship, connections_are_served_while_all_workers_are_saturated) {
    std::atomic<bool> over{false};
    static constexpr auto busy = [](std::atomic<bool>& until) -> task<> {
        while (!until) co_await yield();
    };
    std::vector<join_handle<void>> load;
    for (int i = 0; i != 30; ++i) load.push_back(spawn(home, busy(over)));
    std::vector<task<bool>> all;
    for (int i = 0; i != 5; ++i) all.push_back(sends_and_gets_back(where(), 100'000));
    for (const bool good : block_on(home, when_all(std::move(all)))) EXPECT_TRUE(good);
    over = true;
    for (auto& each : load) each.get();
}

// --- IPv6 ----------------------------------------------------------------------------------------

TEST(ipv6, serves_both_families_on_one_listener) {
    const watchdog guard;
    std::atomic<int> open{0};
    scheduler home{test::with_epoll(2)};
    if (!tcp_listener::bind(home, address::parse("::1", 0).value())) {
        GTEST_SKIP() << "this machine has no IPv6";
    }
    auto bound = tcp_listener::bind(home, address::parse("::", 0).value());
    ASSERT_TRUE(bound) << bound.error().message();
    tcp_listener listener{std::move(*bound)};
    const std::uint16_t port = listener.local_address()->port();
    auto server = spawn(home, serves(listener, open));
    for (const std::string host : {"::1", "127.0.0.1"}) {
        const address to = address::parse(host, port).value();
        EXPECT_TRUE(block_on(home, sends_and_gets_back(to, 100'000))) << host;
    }
    server.request_stop();
    server.get();
}

TEST(ipv6, one_listener_can_be_for_it_alone) {
    const watchdog guard;
    scheduler home{test::with_epoll(1)};
    listener_options alone;
    alone.v6_only = true;
    auto bound = tcp_listener::bind(home, address::parse("::1", 0).value(), alone);
    if (!bound) GTEST_SKIP() << bound.error().message();
    EXPECT_TRUE(bound->local_address()->is_v6());
    const address four = address::loopback(bound->local_address()->port());
    const auto stream = block_on(home, tcp_stream::connect(four));
    ASSERT_FALSE(stream);
    EXPECT_EQ(stream.error(), std::errc::connection_refused);
}

}  // namespace
}  // namespace fairlead::io::hardship_tests
