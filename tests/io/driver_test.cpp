// The epoll driver: misuse, failed registrations, and the state after a wait.
#include "support/sockets.hpp"

#include <fairlead/io/epoll_driver.hpp>
#include <fairlead/io/tcp.hpp>

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

namespace fairlead::io::driver_tests {
namespace {

using namespace std::chrono_literals;

class fails_on_events final : public event_sink {
public:
    void fire(basic_task&) noexcept override { ADD_FAILURE() << "nobody waits"; }
};

TEST(epoll_driver_test, a_wake_ends_the_wait_that_follows) {
    const test::watchdog guard;
    epoll_driver driver;
    fails_on_events sink;
    for (int i = 0; i != 10; ++i) {
        driver.wake();
        driver.wait();
        driver.poll(sink);
    }
}

// The holder of the role may poll between the wake and the wait.
TEST(epoll_driver_test, a_wake_outlives_a_poll) {
    const test::watchdog guard;
    epoll_driver driver;
    fails_on_events sink;
    driver.wake();
    driver.poll(sink);
    driver.wait();
}

TEST(epoll_driver_test, a_wait_uses_up_the_wakes_before_it) {
    const test::watchdog guard;
    epoll_driver driver;
    fails_on_events sink;
    for (int i = 0; i != 3; ++i) driver.wake();
    driver.wait();
    driver.poll(sink);
    const time_point deadline = clock::now() + 5ms;
    EXPECT_TRUE(driver.set_deadline(deadline));
    driver.wait();
    EXPECT_GE(clock::now(), deadline);
}

TEST(epoll_driver_test, a_wake_from_another_thread_ends_a_wait) {
    const test::watchdog guard;
    epoll_driver driver;
    fails_on_events sink;
    std::atomic<int> waited{0};
    std::jthread waker{[&] {
        for (int i = 0; i != 1000; ++i) {
            driver.wake();
            waited.wait(i);
        }
    }};
    for (int i = 0; i != 1000; ++i) {
        driver.wait();
        driver.poll(sink);
        ++waited;
        waited.notify_one();
    }
}

TEST(epoll_driver_test, a_wait_is_not_longer_than_its_deadline_says) {
    const test::watchdog guard;
    epoll_driver driver;
    fails_on_events sink;
    for (const time_point passed : {immediately, time_point{}, clock::now() - 1s}) {
        EXPECT_TRUE(driver.set_deadline(passed));
        for (int i = 0; i != 2; ++i) {  // not only once
            driver.wait();
            driver.poll(sink);
        }
    }
    const time_point deadline = clock::now() + 2ms;
    EXPECT_TRUE(driver.set_deadline(deadline));
    int waits = 0;
    for (; clock::now() < deadline; ++waits) {
        driver.wait();
        driver.poll(sink);
    }
    EXPECT_LE(waits, 2);
}

TEST(epoll_driver_test, a_deadline_that_is_taken_back_does_not_end_a_wait) {
    const test::watchdog guard;
    epoll_driver driver;
    fails_on_events sink;
    EXPECT_TRUE(driver.set_deadline(clock::now() - 1s));
    driver.wait();  // it has fired
    driver.poll(sink);
    EXPECT_TRUE(driver.set_deadline(never));
    std::atomic<bool> woken{false};
    std::jthread waker{[&] {
        std::this_thread::yield();
        woken = true;
        driver.wake();
    }};
    driver.wait();
    EXPECT_TRUE(woken);
}

TEST(epoll_driver_test, a_deadline_can_be_made_earlier_and_later_during_a_wait) {
    const test::watchdog guard;
    epoll_driver driver;
    fails_on_events sink;
    for (int i = 0; i != 200; ++i) {
        EXPECT_TRUE(driver.set_deadline(i % 2 == 0 ? never : clock::now() + 100us));
        std::atomic<time_point> now_set{immediately};
        std::jthread changer{[&] {
            EXPECT_TRUE(driver.set_deadline(clock::now() + 1h));
            now_set = clock::now() + 200us;
            EXPECT_TRUE(driver.set_deadline(now_set));
        }};
        while (now_set.load() == immediately || clock::now() < now_set.load()) {
            driver.wait();
            driver.poll(sink);
        }
    }
}

TEST(epoll_driver_test, what_cannot_be_polled_is_refused_and_closed) {
    epoll_driver driver;
    os::unique_fd file{::open("/proc/self/exe", O_RDONLY | O_CLOEXEC)};
    const int number = file.get();
    const auto made = descriptor::make(driver, std::move(file));
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error(), std::errc::operation_not_permitted);
    EXPECT_EQ(::fcntl(number, F_GETFD), -1);
    EXPECT_FALSE(driver.has_sources());
}

TEST(epoll_driver_test, a_descriptor_that_is_none_is_refused) {
    epoll_driver driver;
    EXPECT_EQ(descriptor::make(driver, os::unique_fd{}).error(), std::errc::bad_file_descriptor);
    EXPECT_FALSE(driver.has_sources());
}

TEST(epoll_driver_test, has_sources_while_something_is_registered) {
    epoll_driver driver;
    EXPECT_FALSE(driver.has_sources());
    {
        auto first = descriptor::make(driver, os::unique_fd{::eventfd(0, EFD_NONBLOCK)});
        descriptor second{std::move(*first)};
        EXPECT_FALSE(first->valid());
        EXPECT_TRUE(driver.has_sources());
        second.close();
        second.close();
        EXPECT_FALSE(driver.has_sources());
    }
}

TEST(epoll_driver_test, descriptors_may_be_closed_after_an_event_has_come) {
    epoll_driver driver;
    fails_on_events sink;
    for (int i = 0; i != 100; ++i) {
        auto made = descriptor::make(driver, os::unique_fd{::eventfd(1, EFD_NONBLOCK)});
        if (i % 2 == 0) driver.poll(sink);
        made->close();
        if (i % 3 == 0) driver.poll(sink);
    }
}

// --- misuse --------------------------------------------------------------------------------------

task<> reads(tcp_stream& from) {
    std::array<std::byte, 10> buffer;
    static_cast<void>(co_await from.read_some(buffer));
}

class epoll_driver_death_test : public test::connected_pair {
protected:
    epoll_driver_death_test() { testing::FLAGS_gtest_death_test_style = "threadsafe"; }
};

TEST_F(epoll_driver_death_test, two_readers_of_one_stream) {
    EXPECT_DEATH(
        {
            start(reads(*stream)).detach();
            start(reads(*stream)).detach();
            settle();
        },
        "two tasks wait for the same direction");
}

TEST_F(epoll_driver_death_test, a_stream_that_is_closed_while_a_task_reads) {
    EXPECT_DEATH(
        {
            start(reads(*stream)).detach();
            settle();
            stream->close();
        },
        "closed while a task waits");
}

TEST_F(epoll_driver_death_test, a_stream_on_another_scheduler) {
    EXPECT_DEATH(
        {
            scheduler other{test::with_epoll_on_caller()};
            spawn(other, reads(*stream)).detach();
            other.run_until_idle();
        },
        "another scheduler than it was made for");
}

TEST_F(epoll_driver_death_test, a_stream_that_outlives_its_scheduler) {
    EXPECT_DEATH(home.reset(), "outlived the scheduler");
}

TEST(epoll_driver_misuse_death_test, a_scheduler_without_an_epoll_driver) {
    testing::FLAGS_gtest_death_test_style = "threadsafe";
    EXPECT_DEATH(
        {
            scheduler without{{.run_on_caller = true}};
            static_cast<void>(tcp_listener::bind(without, address::loopback(0)));
        },
        "has no epoll_driver");
}

}  // namespace
}  // namespace fairlead::io::driver_tests
