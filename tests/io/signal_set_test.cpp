// Signals: each set is told of each of its signals, and the process is as before when it ends.
#include "support/sockets.hpp"
#include "support/tasks.hpp"
#include "support/watchdog.hpp"

#include <fairlead/coro/spawn.hpp>
#include <fairlead/io/signal_set.hpp>

#include <gtest/gtest.h>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace fairlead::io::signal_set_tests {
namespace {

using namespace std::chrono_literals;

int before_count = 0;
void before_handler(int) { ++before_count; }

class signal_set_test : public testing::Test {
protected:
    signal_set made(std::initializer_list<int> signals) {
        auto result = signal_set::make(epoll_driver::of(home), signals);
        EXPECT_TRUE(result) << result.error().message();
        return std::move(*result);
    }
    std::error_code refused(std::initializer_list<int> signals) {
        const auto result = signal_set::make(epoll_driver::of(home), signals);
        return result ? std::error_code{} : result.error();
    }
    // What comes next, which has come already; 0: nothing has.
    int next_of(signal_set& of) {
        auto handle = spawn(home, of.next(immediately));
        while (!handle.ended()) home.run_until(never, 1);
        return handle.get().value_or(0);
    }

    const test::watchdog guard;
    scheduler home{test::with_epoll_on_caller()};
};

TEST_F(signal_set_test, tells_of_a_signal_that_came_before) {
    signal_set one = made({SIGUSR1, SIGUSR2});
    EXPECT_EQ(next_of(one), 0);
    ::raise(SIGUSR2);
    EXPECT_EQ(next_of(one), SIGUSR2);
    EXPECT_EQ(next_of(one), 0);
}

TEST_F(signal_set_test, tells_of_a_signal_that_comes_while_a_task_waits) {
    signal_set one = made({SIGUSR1});
    auto handle = spawn(home, one.next());
    home.run_until_idle();
    EXPECT_FALSE(handle.ended());
    ::raise(SIGUSR1);
    while (!handle.ended()) home.run_until(never, 1);
    EXPECT_EQ(handle.get(), SIGUSR1);
}

TEST_F(signal_set_test, one_that_came_several_times_counts_once) {
    signal_set one = made({SIGUSR1});
    for (int i = 0; i != 5; ++i) ::raise(SIGUSR1);
    EXPECT_EQ(next_of(one), SIGUSR1);
    EXPECT_EQ(next_of(one), 0);
    ::raise(SIGUSR1);
    EXPECT_EQ(next_of(one), SIGUSR1);
}

TEST_F(signal_set_test, of_several_the_lowest_comes_first) {
    signal_set one = made({SIGUSR2, SIGUSR1, SIGHUP, SIGRTMAX});
    for (const int each : {SIGRTMAX, SIGUSR2, SIGHUP, SIGUSR1}) ::raise(each);
    for (const int each : {SIGHUP, SIGUSR1, SIGUSR2, SIGRTMAX}) EXPECT_EQ(next_of(one), each);
    EXPECT_EQ(next_of(one), 0);
}

TEST_F(signal_set_test, each_set_is_told_of_its_own_signals) {
    signal_set one = made({SIGUSR1, SIGHUP});
    signal_set two = made({SIGUSR1, SIGUSR2});
    ::raise(SIGUSR1);
    ::raise(SIGUSR2);
    EXPECT_EQ(next_of(one), SIGUSR1);
    EXPECT_EQ(next_of(one), 0);
    EXPECT_EQ(next_of(two), SIGUSR1);
    EXPECT_EQ(next_of(two), SIGUSR2);
    EXPECT_EQ(next_of(two), 0);
}

TEST_F(signal_set_test, the_handler_from_before_is_there_again) {
    struct sigaction action {};
    struct sigaction at_first {};
    action.sa_handler = before_handler;
    ASSERT_EQ(::sigaction(SIGUSR1, &action, &at_first), 0);
    before_count = 0;
    {
        std::optional<signal_set> one = made({SIGUSR1});
        const signal_set two = made({SIGUSR1});
        one.reset();
        ::raise(SIGUSR1);
        EXPECT_EQ(before_count, 0);  // `two` has it still
    }
    ::raise(SIGUSR1);
    EXPECT_EQ(before_count, 1);
    ::sigaction(SIGUSR1, &at_first, nullptr);
}

// The program has changed its mind meanwhile: what it has installed stays.
TEST_F(signal_set_test, a_handler_that_came_later_is_kept) {
    struct sigaction action {};
    struct sigaction at_first {};
    ASSERT_EQ(::sigaction(SIGUSR1, nullptr, &at_first), 0);
    before_count = 0;
    {
        const signal_set one = made({SIGUSR1});
        action.sa_handler = before_handler;
        ASSERT_EQ(::sigaction(SIGUSR1, &action, nullptr), 0);
    }
    ::raise(SIGUSR1);
    EXPECT_EQ(before_count, 1);
    ::sigaction(SIGUSR1, &at_first, nullptr);
}

TEST_F(signal_set_test, a_call_of_the_system_is_made_again) {
    const signal_set one = made({SIGUSR1});
    struct sigaction now {};
    ASSERT_EQ(::sigaction(SIGUSR1, nullptr, &now), 0);
    EXPECT_NE(now.sa_flags & SA_RESTART, 0);
    EXPECT_NE(now.sa_flags & SA_ONSTACK, 0);
}

TEST_F(signal_set_test, errno_stays_as_it_was) {
    const signal_set one = made({SIGUSR1});
    errno = ERANGE;
    ::raise(SIGUSR1);
    EXPECT_EQ(errno, ERANGE);
}

TEST_F(signal_set_test, what_cannot_be_awaited_is_refused_and_nothing_has_changed) {
    struct sigaction before {};
    struct sigaction now {};
    ASSERT_EQ(::sigaction(SIGUSR1, nullptr, &before), 0);
    for (const int each : {0, -1, 65, SIGKILL, SIGSTOP, SIGSEGV, SIGABRT, SIGFPE}) {
        EXPECT_EQ(refused({SIGUSR1, each}), std::errc::invalid_argument) << each;
    }
    EXPECT_EQ(refused({SIGUSR1, 32}), std::errc::invalid_argument);  // the C library's own
    ASSERT_EQ(::sigaction(SIGUSR1, nullptr, &now), 0);
    EXPECT_EQ(now.sa_handler, before.sa_handler);
}

TEST_F(signal_set_test, there_are_so_many_and_no_more) {
    std::vector<signal_set> all;
    for (std::size_t i = 0; i != signal_set::sets_max; ++i) all.push_back(made({SIGUSR1}));
    EXPECT_EQ(refused({SIGUSR1}), std::errc::resource_unavailable_try_again);
    ::raise(SIGUSR1);
    for (signal_set& each : all) EXPECT_EQ(next_of(each), SIGUSR1);
    all.pop_back();
    signal_set one = made({SIGUSR1});
    EXPECT_EQ(next_of(one), 0);
}

TEST_F(signal_set_test, a_wait_ends_by_a_deadline_or_a_stop) {
    signal_set one = made({SIGUSR1});
    auto late = spawn(home, one.next(clock::now() + 1ms));
    while (!late.ended()) home.run_until(never, 1);
    EXPECT_EQ(late.get().error(), std::errc::timed_out);
    auto stopped = spawn(home, one.next());
    home.run_until_idle();
    stopped.request_stop();
    while (!stopped.ended()) home.run_until(never, 1);
    EXPECT_EQ(stopped.get().error(), std::errc::operation_canceled);
    ::raise(SIGUSR1);
    EXPECT_EQ(next_of(one), SIGUSR1);  // nothing was lost
}

// A handler that the program installs takes the signal away from the sets, and a new set takes it
// back, for all of them. It is what the last set leaves behind.
TEST_F(signal_set_test, a_new_set_is_told_though_the_program_has_replaced_the_handler) {
    struct sigaction action {};
    struct sigaction at_first {};
    ASSERT_EQ(::sigaction(SIGUSR1, nullptr, &at_first), 0);
    before_count = 0;
    {
        signal_set one = made({SIGUSR1});
        action.sa_handler = before_handler;
        ASSERT_EQ(::sigaction(SIGUSR1, &action, nullptr), 0);
        ::raise(SIGUSR1);
        EXPECT_EQ(before_count, 1);
        EXPECT_EQ(next_of(one), 0);
        signal_set two = made({SIGUSR1});
        ::raise(SIGUSR1);
        EXPECT_EQ(before_count, 1);
        EXPECT_EQ(next_of(one), SIGUSR1);
        EXPECT_EQ(next_of(two), SIGUSR1);
    }
    ::raise(SIGUSR1);
    EXPECT_EQ(before_count, 2);
    ::sigaction(SIGUSR1, &at_first, nullptr);
}

// How a child ends that does what `body` says.
template <class Body>
int status_of_child(Body body) {
    const pid_t child = ::fork();
    EXPECT_GE(child, 0);
    if (child == 0) {
        body();
        ::_exit(0);
    }
    int status = -1;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return status;
}

// A child has the handlers from before its parent's sets.
TEST_F(signal_set_test, a_signal_of_a_child_is_its_own) {
    struct sigaction action {};
    struct sigaction at_first {};
    action.sa_handler = before_handler;
    ASSERT_EQ(::sigaction(SIGUSR2, &action, &at_first), 0);
    before_count = 0;
    {
        signal_set one = made({SIGUSR1, SIGUSR2});
        const int by_default = status_of_child([] { ::raise(SIGUSR1); });
        EXPECT_TRUE(WIFSIGNALED(by_default) && WTERMSIG(by_default) == SIGUSR1);
// In a child of a process with threads, GCC's thread sanitizer calls no handler.
#ifndef __SANITIZE_THREAD__
        EXPECT_EQ(status_of_child([] {
                      ::raise(SIGUSR2);
                      if (before_count != 1) ::_exit(1);
                  }),
                  0);
#endif
        EXPECT_EQ(next_of(one), 0);
        ::raise(SIGUSR1);
        EXPECT_EQ(next_of(one), SIGUSR1);
    }
    ::sigaction(SIGUSR2, &at_first, nullptr);
}

// The objects of the parent are in the child, too: their ends change nothing there.
TEST_F(signal_set_test, a_set_of_the_parent_may_end_in_a_child) {
    std::optional<signal_set> of_parent = made({SIGUSR1});
    EXPECT_EQ(status_of_child([&] {
                  scheduler own{test::with_epoll_on_caller()};
                  auto one = signal_set::make(epoll_driver::of(own), {SIGUSR1});
                  sigset_t blocked;
                  if (!one || ::pthread_sigmask(SIG_BLOCK, nullptr, &blocked) != 0) ::_exit(1);
                  if (::sigismember(&blocked, SIGUSR1) != 0) ::_exit(2);
                  of_parent.reset();
                  ::raise(SIGUSR1);
                  auto next = spawn(own, one->next());
                  while (!next.ended()) own.run_until(never, 1);
                  if (next.get() != SIGUSR1) ::_exit(3);
              }),
              0);
    EXPECT_EQ(next_of(*of_parent), 0);
    sigset_t blocked;
    ASSERT_EQ(::pthread_sigmask(SIG_BLOCK, nullptr, &blocked), 0);
    EXPECT_EQ(::sigismember(&blocked, SIGUSR1), 0);
}

// Other threads run the handler, or make a set, when the process forks. The child, which has none
// of them, makes a set of its own; it would never end if it waited for them.
TEST_F(signal_set_test, a_child_has_sets_whatever_other_threads_did_at_the_fork) {
    signal_set stays = made({SIGUSR1});
    std::vector<std::jthread> busy;
    for (int i = 0; i != 2; ++i) {
        busy.emplace_back([](const std::stop_token& ends) {
            while (!ends.stop_requested()) ::raise(SIGUSR1);
        });
    }
    busy.emplace_back([this](const std::stop_token& ends) {
        while (!ends.stop_requested()) static_cast<void>(made({SIGUSR2}));
    });
    for (int round = 0; round != 50; ++round) {
        const pid_t child = ::fork();
        ASSERT_GE(child, 0);
        if (child == 0) {
            ::alarm(60);
            {
                scheduler own{test::with_epoll_on_caller()};
                auto one = signal_set::make(epoll_driver::of(own), {SIGUSR2});
                ::raise(SIGUSR2);
                auto next = spawn(own, one->next());
                while (!next.ended()) own.run_until(never, 1);
                if (next.get() != SIGUSR2) ::_exit(1);
            }
            ::_exit(0);
        }
        int status = -1;
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        ASSERT_EQ(status, 0);
    }
}

// Threads send while sets come and go. A signal that was sent while a set was there is told to it.
TEST_F(signal_set_test, is_told_though_sets_come_and_go) {
    signal_set stays = made({SIGUSR1});
    std::jthread sends{[](const std::stop_token& ends) {
        while (!ends.stop_requested()) ::raise(SIGUSR1);
    }};
    for (int round = 0; round != 300; ++round) {
        signal_set comes = made({SIGUSR1, SIGUSR2});
        ::raise(SIGUSR2);
        int seen = 0;
        while (seen != SIGUSR2) {
            seen = next_of(comes);
            ASSERT_NE(seen, 0);
        }
    }
    sends.request_stop();
    sends.join();
    static_cast<void>(next_of(stays));
    ::raise(SIGUSR1);
    EXPECT_EQ(next_of(stays), SIGUSR1);
}

}  // namespace
}  // namespace fairlead::io::signal_set_tests
