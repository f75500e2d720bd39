// Deadlines and stops on each operation of a connection.
#include "support/sockets.hpp"

#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/scope.hpp>
#include <fairlead/io/tcp.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace fairlead::io::cut_short_tests {
namespace {

using namespace std::chrono_literals;
using test::bytes_of;
using test::raw_socket;

constexpr duration soon = 3ms;

// The error and the time with which an operation ended.
struct ending {
    std::error_code error;
    time_point when;
};

task<ending> reads(tcp_stream& from, time_point deadline = never) {
    std::array<std::byte, 100> buffer;
    const auto count = co_await from.read_some(buffer, deadline);
    co_return ending{count ? std::error_code{} : count.error(), clock::now()};
}
task<ending> writes(tcp_stream& to, std::size_t size, time_point deadline = never) {
    const std::string text(size, 'x');
    const auto done = co_await to.write_all(bytes_of(text), deadline);
    co_return ending{done ? std::error_code{} : done.error(), clock::now()};
}
task<ending> accepts(tcp_listener& from, time_point deadline = never) {
    const auto stream = co_await from.accept(deadline);
    co_return ending{stream ? std::error_code{} : stream.error(), clock::now()};
}
task<ending> connects(address to, time_point deadline = never) {
    const auto stream = co_await tcp_stream::connect(to, deadline);
    co_return ending{stream ? std::error_code{} : stream.error(), clock::now()};
}

constexpr std::size_t too_much = 32 << 20;

class cut_short : public test::connected_pair {
protected:
    void expect_timed_out(join_handle<ending> handle, time_point deadline) {
        const ending seen = finish(handle);
        EXPECT_EQ(seen.error, std::errc::timed_out);
        EXPECT_GE(seen.when, deadline);
    }
    void expect_stopped(join_handle<ending> handle) {
        settle();
        EXPECT_FALSE(handle.ended());
        handle.request_stop();
        EXPECT_EQ(finish(handle).error, std::errc::operation_canceled);
    }

    tcp_listener listener = *tcp_listener::bind(*home, address::loopback(0));
};

// A listener with a full backlog: the system answers no more, so a connect never ends.
class full_listener {
public:
    full_listener() {
        for (;;) {
            raw_socket next{::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
            const address to = listener_.local_address();
            static_cast<void>(::connect(next.fd(), to.data(), to.size()));
            // On loopback an accepted connect ends at once. Any other connect is left unanswered.
            sockaddr_storage peer{};
            socklen_t size = sizeof(peer);
            const bool taken =
                ::getpeername(next.fd(), reinterpret_cast<sockaddr*>(&peer), &size) == 0;
            waiting_.push_back(std::move(next));
            if (!taken) break;
        }
    }
    [[nodiscard]] address where() const { return listener_.local_address(); }

private:
    raw_socket listener_ = raw_socket::listening(0);
    std::vector<raw_socket> waiting_;
};

// --- deadlines -----------------------------------------------------------------------------------

TEST_F(cut_short, a_read_times_out) {
    const time_point deadline = clock::now() + soon;
    expect_timed_out(start(reads(*stream, deadline)), deadline);
}

TEST_F(cut_short, a_write_times_out) {
    const time_point deadline = clock::now() + soon;
    expect_timed_out(start(writes(*stream, too_much, deadline)), deadline);
}

TEST_F(cut_short, an_accept_times_out) {
    const time_point deadline = clock::now() + soon;
    expect_timed_out(start(accepts(listener, deadline)), deadline);
}

TEST_F(cut_short, a_connect_times_out) {
    const full_listener full;
    const time_point deadline = clock::now() + soon;
    expect_timed_out(start(connects(full.where(), deadline)), deadline);
}

TEST_F(cut_short, a_deadline_in_the_past_still_takes_what_is_there) {
    for (const time_point past : {immediately, time_point{}, clock::now()}) {
        auto nothing = start(reads(*stream, past));
        EXPECT_EQ(finish(nothing).error, std::errc::timed_out);
        peer.send("data");
        auto handle = start(reads(*stream, past));
        EXPECT_EQ(finish(handle).error, std::error_code{});
    }
}

TEST_F(cut_short, a_stream_is_usable_after_a_timeout) {
    for (int i = 0; i != 5; ++i) {
        auto late = start(reads(*stream, clock::now() + 1ms));
        EXPECT_EQ(finish(late).error, std::errc::timed_out);
        peer.send("data");
        auto handle = start(reads(*stream, clock::now() + 10s));
        EXPECT_EQ(finish(handle).error, std::error_code{});
    }
}

// Data has come when the deadline is noticed: the read returns it.
TEST_F(cut_short, data_that_came_before_the_deadline_was_noticed_is_not_lost) {
    const time_point deadline = clock::now() + 1ms;
    auto handle = start(reads(*stream, deadline));
    settle();
    peer.send("data");
    while (clock::now() < deadline) {
    }
    EXPECT_EQ(finish(handle).error, std::error_code{});
}

TEST_F(cut_short, a_wakeup_does_not_end_a_read) {
    auto handle = start(reads(*stream));
    for (int i = 0; i != 5; ++i) {
        settle();
        handle.get_task().wakeup();
        handle.get_task().signal();
    }
    settle();
    EXPECT_FALSE(handle.ended());
    peer.send("data");
    EXPECT_EQ(finish(handle).error, std::error_code{});
}

TEST_F(cut_short, a_signal_during_a_read_is_remembered) {
    static constexpr auto reads_first = [](tcp_stream& from) -> task<wake_reason> {
        co_await reads(from);
        co_return co_await receive_signal(clock::now() + 10s);
    };
    auto handle = start(reads_first(*stream));
    settle();
    handle.get_task().signal();
    settle();
    peer.send("data");
    EXPECT_EQ(finish(handle), wake_reason::signalled);
}

// --- stops ---------------------------------------------------------------------------------------

TEST_F(cut_short, a_read_stops) { expect_stopped(start(reads(*stream))); }

TEST_F(cut_short, a_write_stops) { expect_stopped(start(writes(*stream, too_much))); }

TEST_F(cut_short, an_accept_stops) { expect_stopped(start(accepts(listener))); }

TEST_F(cut_short, a_connect_stops) {
    const full_listener full;
    expect_stopped(start(connects(full.where())));
}

TEST_F(cut_short, a_read_that_begins_after_the_stop_stops) {
    auto handle = start(reads(*stream));
    handle.request_stop();
    settle();
    ASSERT_TRUE(handle.ended());
    EXPECT_EQ(finish(handle).error, std::errc::operation_canceled);
}

// 1. Data and a stop come during a read. 2. The read returns the data. 3. The stop
// must end the next read, or a server that asks only its reads never ends.
TEST_F(cut_short, a_stop_that_comes_with_data_ends_the_next_read) {
    static constexpr auto reads_on = [](tcp_stream& from) -> task<ending> {
        for (;;) {
            const ending seen = co_await reads(from);
            if (seen.error) co_return seen;
        }
    };
    auto handle = start(reads_on(*stream));
    settle();
    peer.send("data");
    handle.request_stop();
    settle();
    ASSERT_TRUE(handle.ended());
    EXPECT_EQ(finish(handle).error, std::errc::operation_canceled);
}

TEST_F(cut_short, a_scope_stops_what_waits_in_it) {
    static constexpr auto notes = [](task<ending> what, std::error_code& into) -> task<> {
        into = (co_await std::move(what)).error;
    };
    static constexpr auto both = [](tcp_stream& on, tcp_listener& other,
                                    std::array<std::error_code, 3>& errors) -> task<> {
        scope all{co_await current_scheduler()};
        all.spawn(notes(reads(on), errors[0]));
        all.spawn(notes(writes(on, too_much), errors[1]));
        all.spawn(notes(accepts(other), errors[2]));
        co_await yield();
        co_await sleep_for(1ms);
        all.request_stop();
        co_await all.join();
    };
    std::array<std::error_code, 3> errors;
    auto handle = start(both(*stream, listener, errors));
    finish(handle);
    for (const std::error_code& error : errors) EXPECT_EQ(error, std::errc::operation_canceled);
}

TEST_F(cut_short, a_stop_of_the_scheduler_ends_all_waits) {
    const full_listener full;
    std::vector<join_handle<ending>> all;
    all.push_back(start(reads(*stream)));
    all.push_back(start(writes(*stream, too_much)));
    all.push_back(start(accepts(listener)));
    all.push_back(start(connects(full.where())));
    settle();
    EXPECT_TRUE(home->stop(10s).clean());
    for (auto& each : all) EXPECT_EQ(each.get().error, std::errc::operation_canceled);
}

// A task ignores the stop, and each of its reads ends at once. Its worker still runs other tasks.
TEST_F(cut_short, a_loop_that_ignores_a_stop_does_not_keep_its_worker) {
    static constexpr auto reads_on = [](tcp_stream& from, std::atomic<bool>& enough) -> task<> {
        std::array<std::byte, 16> buffer;
        while (!enough) static_cast<void>(co_await from.read_some(buffer));
    };
    std::atomic<bool> enough{false};
    auto reading = start(reads_on(*stream, enough));
    settle();
    reading.request_stop();
    std::atomic<bool> ran{false};
    home->post([&] { ran = true; });
    for (int i = 0; i != 1000 && !ran; ++i) home->run_until(immediately, 100);
    EXPECT_TRUE(ran);
    enough = true;
    reading.get();
}

// The destructor gives the waiting tasks back: their frames, buffers and descriptors are freed.
TEST_F(cut_short, a_scheduler_is_destroyed_while_tasks_wait_for_io) {
    static constexpr auto reads_on = [](tcp_stream from) -> task<> {
        for (;;) static_cast<void>(co_await shielded(reads(from)));
    };
    static constexpr auto accepts_on = [](tcp_listener from) -> task<> {
        for (;;) static_cast<void>(co_await shielded(from.accept()));
    };
    auto reading = start(reads_on(std::move(*stream)));
    auto accepting = start(accepts_on(std::move(listener)));
    settle();
    EXPECT_EQ(home->stop(1ms).waiting, 2U);
    home.reset();
    EXPECT_THROW(reading.get(), stopped_error);
    EXPECT_THROW(accepting.get(), stopped_error);
    EXPECT_EQ(peer.receive(1), "");
}

// --- connecting ----------------------------------------------------------------------------------

TEST_F(cut_short, a_connect_is_refused) {
    address nobody;
    {
        const raw_socket closed = raw_socket::listening(1);
        nobody = closed.local_address();
    }
    auto handle = start(connects(nobody));
    EXPECT_EQ(finish(handle).error, std::errc::connection_refused);
}

TEST_F(cut_short, a_connect_that_waits_is_taken_in_the_end) {
    auto handle = start(connects(*listener.local_address()));
    auto accepted = start(accepts(listener));
    EXPECT_EQ(finish(handle).error, std::error_code{});
    EXPECT_EQ(finish(accepted).error, std::error_code{});
}

}  // namespace
}  // namespace fairlead::io::cut_short_tests
