// The behaviour of a scheduler when the process ends or forks.
#include "support/watchdog.hpp"

#include <fairlead/sched/scheduler.hpp>

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>

namespace fairlead::process_tests {
namespace {

using namespace std::chrono_literals;

// Runs `body` in a child process. Returns the exit status, or -1 if a signal ended the child.
template <class Body>
int status_of_child(Body body) {
    const pid_t child = ::fork();
    if (child == 0) {
        body();
        ::_exit(0);
    }
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// Dies with the child, which has said why.
template <class Body>
void die_with_child(Body body) {
    const test::watchdog guard;
    std::optional<scheduler> home{std::in_place, scheduler_options{.workers = 2}};
    home->drain();
    if (status_of_child([&] { body(home); }) != 0) std::abort();
}

TEST(ProcessDeathTest, AChildOfForkIsToldThatItHasNoThreads) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(die_with_child([](auto& home) { home->post([] {}); }), "child of fork");
    EXPECT_DEATH(die_with_child([](auto& home) { home.reset(); }), "child of fork");
    EXPECT_DEATH(die_with_child([](auto& home) { home->drain(); }), "child of fork");
    EXPECT_DEATH(die_with_child([](auto& home) { static_cast<void>(home->stop(0s)); }),
                 "child of fork");
}

TEST(Process, AChildOfForkMayCallExec) {
    const test::watchdog guard;
    scheduler home{{.workers = 2}};
    home.drain();
    EXPECT_EQ(status_of_child([] { ::execl("/bin/sh", "sh", "-c", "exit 7", nullptr); }), 7);
    int ran = 0;
    home.post([&] { ++ran; });
    home.drain();
    EXPECT_EQ(ran, 1);
}

TEST(Process, OnTheCallerAChildOfForkGoesOn) {
    scheduler home{{.run_on_caller = true}};
    int ran = 0;
    home.post([&] { ++ran; });
    EXPECT_EQ(status_of_child([&] {
                  home.drain();
                  ::_exit(ran);
              }),
              1);
    EXPECT_EQ(ran, 0);
    home.drain();
    EXPECT_EQ(ran, 1);
}

TEST(ProcessDeathTest, ExitInATaskOfAStaticSchedulerSaysWhatIsWrong) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(
        {
            const test::watchdog guard;
            static scheduler home{{.workers = 1}};
            home.post([] { std::exit(0); });
            home.drain();
        },
        "destroyed on one of its workers.*exit");
}

}  // namespace
}  // namespace fairlead::process_tests
