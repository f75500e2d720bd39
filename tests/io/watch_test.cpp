// A descriptor of another library: what is there is told, as long as it is there.
#include "support/sockets.hpp"

#include <fairlead/channel/channel.hpp>
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/select.hpp>
#include <fairlead/io/watch.hpp>

#include <gtest/gtest.h>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace fairlead::io::watch_tests {
namespace {

using namespace std::chrono_literals;

using events_or_error = std::expected<short, std::error_code>;

task<events_or_error> waits(watch& on, short events, time_point deadline = never) {
    co_return co_await on.until(events, deadline);
}

// The library's descriptor, and its other end.
struct pair_of_ends {
    os::unique_fd own;
    os::unique_fd far;

    void far_sends(std::string_view text) const {
        EXPECT_EQ(::send(far.get(), text.data(), text.size(), MSG_NOSIGNAL), std::ssize(text));
    }
    [[nodiscard]] std::string reads(std::size_t size) const {
        std::string text(size, '\0');
        const ssize_t count = ::recv(own.get(), text.data(), size, MSG_DONTWAIT);
        text.resize(count < 0 ? 0 : static_cast<std::size_t>(count));
        return text;
    }
    // Until the buffers are full.
    void fills() const {
        const std::array<char, 4096> data{};
        while (::send(own.get(), data.data(), data.size(), MSG_DONTWAIT | MSG_NOSIGNAL) > 0) {
        }
        EXPECT_EQ(errno, EAGAIN);
    }
    void far_takes_all() const {
        std::array<char, 4096> data;
        while (::recv(far.get(), data.data(), data.size(), MSG_DONTWAIT) > 0) {
        }
    }
};

pair_of_ends connected_ends() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    return {os::unique_fd{ends[0]}, os::unique_fd{ends[1]}};
}

class watch_test : public testing::Test {
protected:
    [[nodiscard]] epoll_driver& epoll() const { return epoll_driver::of(*home); }
    [[nodiscard]] watch watching(int fd) const { return watch::make(epoll(), fd).value(); }
    [[nodiscard]] watch on_own() const { return watching(ends.own.get()); }

    template <class T>
    join_handle<T> start(task<T> body) {
        return spawn(*home, std::move(body));
    }
    template <class T>
    T finish(join_handle<T>& handle) {
        while (!handle.ended()) home->run_until(never, 1);
        return handle.get();
    }
    void settle() { home->run_until_idle(); }
    const test::watchdog guard;
    std::optional<scheduler> home{std::in_place, test::with_epoll_on_caller()};
    pair_of_ends ends = connected_ends();
};

// --- what is there -------------------------------------------------------------------------------

TEST_F(watch_test, tells_at_once_what_is_there) {
    watch own = on_own();
    auto room = start(waits(own, POLLIN | POLLOUT));
    EXPECT_EQ(finish(room), POLLOUT);
    ends.far_sends("x");
    auto both = start(waits(own, POLLIN | POLLOUT));
    EXPECT_EQ(finish(both), POLLIN | POLLOUT);
    auto data = start(waits(own, POLLIN));
    EXPECT_EQ(finish(data), POLLIN);
}

TEST_F(watch_test, waits_for_data) {
    watch own = on_own();
    for (int i = 0; i != 3; ++i) {
        auto handle = start(waits(own, POLLIN));
        settle();
        EXPECT_FALSE(handle.ended());
        ends.far_sends("x");
        EXPECT_EQ(finish(handle), POLLIN);
        EXPECT_EQ(ends.reads(10), "x");
    }
}

TEST_F(watch_test, waits_for_room) {
    watch own = on_own();
    ends.fills();
    auto handle = start(waits(own, POLLIN | POLLOUT));
    settle();
    EXPECT_FALSE(handle.ended());
    ends.far_takes_all();
    EXPECT_EQ(finish(handle), POLLOUT);
}

// A library that reads less than there is: an edge would not come again.
TEST_F(watch_test, tells_again_of_what_was_left) {
    watch own = on_own();
    auto first = start(waits(own, POLLIN));
    settle();
    ends.far_sends("abc");
    EXPECT_EQ(finish(first), POLLIN);
    for (const std::string_view each : {"a", "b", "c"}) {
        auto again = start(waits(own, POLLIN));
        EXPECT_EQ(finish(again), POLLIN);
        EXPECT_EQ(ends.reads(1), each);
    }
    auto nothing = start(waits(own, POLLIN));
    settle();
    EXPECT_FALSE(nothing.ended());
    ends.far_sends("d");
    EXPECT_EQ(finish(nothing), POLLIN);
}

// What a wait asked for is not what the next one asks for.
TEST_F(watch_test, each_wait_has_its_own_events) {
    watch own = on_own();
    ends.fills();
    auto room = start(waits(own, POLLOUT, clock::now() + 1ms));
    EXPECT_EQ(finish(room).error(), std::errc::timed_out);
    auto data = start(waits(own, POLLIN));
    settle();
    ends.far_takes_all();
    settle();
    EXPECT_FALSE(data.ended());
    ends.far_sends("x");
    EXPECT_EQ(finish(data), POLLIN);
}

TEST_F(watch_test, tells_of_an_end_that_was_not_asked_for) {
    watch own = on_own();
    auto handle = start(waits(own, POLLPRI));
    settle();
    EXPECT_FALSE(handle.ended());
    ends.far.reset();
    EXPECT_NE(finish(handle).value() & POLLHUP, 0);
}

TEST_F(watch_test, tells_of_the_ends_of_a_pipe) {
    std::array<int, 2> pipe{};
    ASSERT_EQ(::pipe2(pipe.data(), O_CLOEXEC), 0);
    os::unique_fd reads{pipe[0]};
    os::unique_fd writes{pipe[1]};
    {
        watch own = watching(reads.get());
        auto handle = start(waits(own, POLLIN));
        settle();
        EXPECT_FALSE(handle.ended());
        writes.reset();
        EXPECT_EQ(finish(handle), POLLHUP);
    }
    ASSERT_EQ(::pipe2(pipe.data(), O_CLOEXEC), 0);
    reads = os::unique_fd{pipe[0]};
    writes = os::unique_fd{pipe[1]};
    watch own = watching(writes.get());
    auto handle = start(waits(own, 0));
    settle();
    EXPECT_FALSE(handle.ended());
    reads.reset();
    EXPECT_EQ(finish(handle), POLLERR);
}

// --- ended early ---------------------------------------------------------------------------------

TEST_F(watch_test, ends_at_its_deadline) {
    watch own = on_own();
    for (int i = 0; i != 3; ++i) {
        const time_point deadline = clock::now() + 1ms;
        auto handle = start(waits(own, POLLIN, deadline));
        EXPECT_EQ(finish(handle).error(), std::errc::timed_out);
        EXPECT_GE(clock::now(), deadline);
    }
    ends.far_sends("x");
    auto past = start(waits(own, POLLIN, immediately));
    EXPECT_EQ(finish(past), POLLIN);
}

TEST_F(watch_test, ends_at_a_stop) {
    watch own = on_own();
    auto handle = start(waits(own, POLLIN));
    settle();
    handle.request_stop();
    EXPECT_EQ(finish(handle).error(), std::errc::operation_canceled);
    auto stopped_first = start(waits(own, POLLIN));
    stopped_first.request_stop();
    EXPECT_EQ(finish(stopped_first).error(), std::errc::operation_canceled);
    auto next = start(waits(own, POLLIN));
    settle();
    ends.far_sends("x");
    EXPECT_EQ(finish(next), POLLIN);
}

TEST_F(watch_test, a_wake_up_does_not_end_it) {
    watch own = on_own();
    auto handle = start(waits(own, POLLIN));
    for (int i = 0; i != 3; ++i) {
        settle();
        handle.get_task().wakeup();
    }
    settle();
    EXPECT_FALSE(handle.ended());
    ends.far_sends("x");
    EXPECT_EQ(finish(handle), POLLIN);
}

// Data that no task asks for: the kernel tells once of what an earlier wait has asked for, and the
// driver sleeps on.
TEST(watch_driver_test, nothing_runs_for_data_while_no_task_waits) {
    class ignores_events final : public event_sink {
    public:
        void fire(basic_task&) noexcept override { ADD_FAILURE() << "no task waits"; }
    };
    const pair_of_ends ends = connected_ends();
    epoll_driver driver;
    ignores_events sink;
    const auto has_events = [&driver] {  // whether a wait would end at once
        pollfd asked{.fd = driver.descriptor(), .events = POLLIN, .revents = 0};
        return ::poll(&asked, 1, 0) == 1;
    };
    watch own = watch::make(driver, ends.own.get()).value();
    ends.far_sends("unasked");
    EXPECT_FALSE(has_events());
    EXPECT_EQ(ends.reads(10), "unasked");
    for (int i = 0; i != 3; ++i) {
        EXPECT_FALSE(own.until(POLLIN).attempt());
        EXPECT_FALSE(has_events());
        ends.far_sends("late");
        EXPECT_TRUE(has_events());
        driver.poll(sink);
        EXPECT_FALSE(has_events());
        EXPECT_TRUE(own.until(POLLIN).attempt());
        EXPECT_FALSE(has_events());
        EXPECT_EQ(ends.reads(10), "late");
    }
}

TEST_F(watch_test, is_a_branch_of_a_select) {
    static constexpr auto either = [](watch& own, channel<int>& in) -> task<std::string> {
        const auto ended = co_await select(
            on(own.until(POLLIN),
               [](events_or_error there) { return "events " + std::to_string(there.value()); }),
            on(in.receive(), [](waited<int> got) { return "got " + std::to_string(*got); }));
        co_return ended ? *ended : std::string{"stopped"};
    };
    watch own = on_own();
    channel<int> in{1};
    auto element = start(either(own, in));
    settle();
    EXPECT_FALSE(element.ended());
    ASSERT_TRUE(in.try_send(7));
    EXPECT_EQ(finish(element), "got 7");
    ends.far_sends("x");
    settle();
    auto there = start(either(own, in));
    EXPECT_EQ(finish(there), "events 1");
    EXPECT_EQ(ends.reads(10), "x");
    auto waiting = start(either(own, in));
    settle();
    waiting.get_task().wakeup();
    settle();
    EXPECT_FALSE(waiting.ended());
    ends.far_sends("y");
    EXPECT_EQ(finish(waiting), "events 1");
    EXPECT_EQ(ends.reads(10), "y");
    auto stopped = start(either(own, in));
    settle();
    stopped.request_stop();
    EXPECT_EQ(finish(stopped), "stopped");
}

// --- the descriptor is the library's -------------------------------------------------------------

TEST_F(watch_test, does_not_close_what_it_watches) {
    {
        const watch own = on_own();
        EXPECT_EQ(own.fd(), ends.own.get());
        EXPECT_TRUE(epoll().has_sources());
    }
    EXPECT_FALSE(epoll().has_sources());
    ends.far_sends("open");
    EXPECT_EQ(ends.reads(10), "open");
}

TEST_F(watch_test, can_be_moved_and_ended_twice) {
    watch first = on_own();
    watch second{std::move(first)};
    EXPECT_FALSE(first.valid());
    EXPECT_EQ(first.fd(), -1);
    auto handle = start(waits(second, POLLIN));
    settle();
    ends.far_sends("x");
    EXPECT_EQ(finish(handle), POLLIN);
    first = std::move(second);
    second.end();
    EXPECT_TRUE(first.valid());
    first.end();
    first.end();
    EXPECT_FALSE(epoll().has_sources());
}

// The library closes its descriptor, and the next one gets the number.
TEST_F(watch_test, the_number_may_be_used_again) {
    const int number = ends.own.get();
    for (int i = 0; i != 20; ++i) {
        watch old = on_own();
        auto cut = start(waits(old, POLLIN, clock::now()));
        EXPECT_EQ(finish(cut).error(), std::errc::timed_out);
        if (i % 2 == 0) ends.far_sends("for the old one");
        if (i % 3 == 0) settle();
        old.end();
        ends.own.reset();
        pair_of_ends next = connected_ends();
        if (next.own.get() != number) {
            ASSERT_EQ(::dup3(next.own.get(), number, O_CLOEXEC), number);
            next.own = os::unique_fd{number};
        }
        ends = std::move(next);
        watch own = watching(number);
        auto handle = start(waits(own, POLLIN));
        settle();
        EXPECT_FALSE(handle.ended());
        ends.far_sends("x");
        EXPECT_EQ(finish(handle), POLLIN);
        EXPECT_EQ(ends.reads(10), "x");
    }
}

// The library closes its descriptor while a task waits, and another part of the program gets the
// number. The watch goes on with what was opened, and its end leaves the number alone.
TEST_F(watch_test, the_library_may_close_the_descriptor_first) {
    watch own = on_own();
    const int number = ends.own.get();
    auto handle = start(waits(own, POLLIN));
    settle();
    ends.own.reset();
    pair_of_ends next = connected_ends();
    if (next.own.get() != number) {
        ASSERT_EQ(::dup3(next.own.get(), number, O_CLOEXEC), number);
        next.own = os::unique_fd{number};
    }
    watch other = watching(number);
    auto of_other = start(waits(other, POLLIN));
    settle();
    ends.far_sends("for the old one");
    EXPECT_EQ(finish(handle), POLLIN);
    settle();
    EXPECT_FALSE(of_other.ended());
    own.end();
    next.far_sends("x");
    EXPECT_EQ(finish(of_other), POLLIN);
    EXPECT_EQ(next.reads(10), "x");
}

// The peer sees the end when the watch has ended, too.
TEST_F(watch_test, keeps_a_socket_open_until_it_ends) {
    watch own = on_own();
    ends.own.reset();
    char byte = 0;
    EXPECT_EQ(::recv(ends.far.get(), &byte, 1, MSG_DONTWAIT), -1);
    EXPECT_EQ(errno, EAGAIN);
    own.end();
    EXPECT_EQ(::recv(ends.far.get(), &byte, 1, MSG_DONTWAIT), 0);
}

TEST_F(watch_test, may_own_the_descriptor) {
    const int number = ends.own.get();
    watch own = watch::make(epoll(), std::move(ends.own)).value();
    EXPECT_EQ(own.fd(), number);
    auto handle = start(waits(own, POLLIN));
    settle();
    ends.far_sends("x");
    EXPECT_EQ(finish(handle), POLLIN);
    own = {};
    EXPECT_EQ(::fcntl(number, F_GETFD), -1);
}

TEST_F(watch_test, refuses_what_cannot_be_watched) {
    const os::unique_fd file{::open("/proc/self/exe", O_RDONLY | O_CLOEXEC)};
    EXPECT_EQ(watch::make(epoll(), file.get()).error(), std::errc::operation_not_permitted);
    EXPECT_EQ(watch::make(epoll(), -1).error(), std::errc::bad_file_descriptor);
    EXPECT_EQ(watch::make(epoll(), os::unique_fd{}).error(), std::errc::bad_file_descriptor);
    EXPECT_NE(::fcntl(file.get(), F_GETFD), -1);
}

// A registration that was a watch's serves a stream, and the other way round.
TEST_F(watch_test, registrations_serve_streams_afterwards) {
    for (int i = 0; i != 3; ++i) {
        {
            watch own = on_own();
            ends.far_sends("x");
            auto handle = start(waits(own, POLLIN));
            EXPECT_EQ(finish(handle), POLLIN);
            EXPECT_EQ(ends.reads(10), "x");
        }
        pair_of_ends others = connected_ends();
        auto stream = tcp_stream::adopt(epoll(), std::move(others.own)).value();
        static constexpr auto reads = [](tcp_stream& from) -> task<std::size_t> {
            std::array<std::byte, 10> buffer;
            co_return (co_await from.read_some(buffer)).value();
        };
        auto handle = start(reads(stream));
        settle();
        EXPECT_FALSE(handle.ended());
        others.far_sends("abc");
        EXPECT_EQ(finish(handle), 3U);
    }
}

// Two parts of a program watch one descriptor, each with its own events.
TEST_F(watch_test, two_watch_the_same_descriptor) {
    watch reads = on_own();
    watch writes = on_own();
    ends.fills();
    auto data = start(waits(reads, POLLIN));
    auto room = start(waits(writes, POLLOUT));
    settle();
    ends.far_takes_all();
    EXPECT_EQ(finish(room), POLLOUT);
    EXPECT_FALSE(data.ended());
    ends.far_sends("x");
    EXPECT_EQ(finish(data), POLLIN);
}

// --- on threads ----------------------------------------------------------------------------------

// Bytes and deadlines come at any time; each byte is told.
TEST(watch_race_test, no_byte_is_missed) {
    const test::watchdog guard;
    scheduler home{test::with_epoll(2)};
    const pair_of_ends ends = connected_ends();
    watch own = watch::make(epoll_driver::of(home), ends.own.get()).value();
    static constexpr std::size_t count = 20'000;
    static constexpr auto counts = [](watch& on, const pair_of_ends& from) -> task<std::size_t> {
        std::size_t seen = 0;
        for (std::size_t i = 0; seen != count; ++i) {
            const time_point deadline = i % 3 == 0 ? clock::now() + 20us : never;
            const auto there = co_await on.until(POLLIN, deadline);
            if (there) seen += from.reads(1 + i % 3).size();
        }
        co_return seen;
    };
    auto handle = spawn(home, counts(own, ends));
    for (std::size_t i = 0; i != count; ++i) {
        while (::send(ends.far.get(), "x", 1, MSG_DONTWAIT) != 1) std::this_thread::yield();
        if (i % 7 == 0) std::this_thread::yield();
    }
    EXPECT_EQ(handle.get(), count);
}

// --- misuse --------------------------------------------------------------------------------------

class watch_death_test : public watch_test {
protected:
    watch_death_test() { testing::FLAGS_gtest_death_test_style = "threadsafe"; }
};

TEST_F(watch_death_test, two_tasks_wait) {
    EXPECT_DEATH(
        {
            watch own = on_own();
            start(waits(own, POLLIN)).detach();
            start(waits(own, POLLPRI)).detach();
            settle();
        },
        "two tasks wait for the same direction");
}

TEST_F(watch_death_test, it_ends_while_a_task_waits) {
    EXPECT_DEATH(
        {
            watch own = on_own();
            start(waits(own, POLLIN)).detach();
            settle();
            own.end();
        },
        "closed while a task waits");
}

TEST_F(watch_death_test, it_is_used_on_another_scheduler) {
    EXPECT_DEATH(
        {
            watch own = on_own();
            scheduler other{test::with_epoll_on_caller()};
            spawn(other, waits(own, POLLIN)).detach();
            other.run_until_idle();
        },
        "another scheduler than it was made for");
}

}  // namespace
}  // namespace fairlead::io::watch_tests
