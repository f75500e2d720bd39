// The system fails while a task waits with a watch.
#include "faults/sweep.hpp"
#include "support/sockets.hpp"
#include "support/watchdog.hpp"

#include <fairlead/coro/spawn.hpp>
#include <fairlead/io/watch.hpp>

#include <gtest/gtest.h>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>

namespace fairlead::test::watch_tests {
namespace {

task<std::error_code> waits(io::watch& on) {
    const auto there = co_await on.until(POLLIN, clock::now() + std::chrono::seconds{60});
    if (!there) co_return there.error();
    co_return *there == POLLIN ? std::error_code{} : std::make_error_code(std::errc::io_error);
}

// A task waits for an event that comes later. Throws the error of the wait, or that there is no
// watch.
void waits_once() {
    scheduler home{with_epoll_on_caller()};
    const os::unique_fd foreign{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    if (!foreign.valid()) throw std::system_error{errno, std::system_category()};
    auto made = io::watch::make(io::epoll_driver::of(home), foreign.get());
    if (!made) throw std::system_error{made.error()};
    io::watch own{std::move(*made)};
    auto handle = spawn(home, waits(own));
    home.run_until_idle();
    EXPECT_EQ(::eventfd_write(foreign.get(), 1), 0);
    while (!handle.ended()) home.run_until(never, 1);
    if (const std::error_code seen = handle.get()) throw std::system_error{seen};
}

class watch_failures : public testing::Test {
protected:
    const watchdog guard;
};

TEST_F(watch_failures, an_interrupted_poll_goes_on) {
    sweep_range({"poll", EINTR}, outcome::invisible, waits_once, call_range::only);
}

TEST_F(watch_failures, a_poll_without_memory_is_reported) {
    for (const int error : {ENOMEM, EINVAL}) {
        sweep_range({"poll", error}, outcome::reported, waits_once, call_range::only);
        sweep_range({"poll", error}, outcome::reported, waits_once, call_range::from);
    }
}

// In the constructor of the driver, in make, and for the request of a wait. A failed removal has no
// effect.
TEST_F(watch_failures, a_request_that_fails_is_reported) {
    for (const int error : {ENOMEM, ENOSPC}) {
        sweep({"epoll_ctl", error}, outcome::maybe_reported, waits_once);
        const armed plan{{"epoll_ctl", error}, call_range::only(4)};
        EXPECT_THROW(waits_once(), std::system_error);
    }
}

TEST_F(watch_failures, without_a_descriptor_for_the_duplicate_there_is_no_watch) {
    for (const int error : {EMFILE, EBADF}) sweep({"fcntl", error}, outcome::reported, waits_once);
}

TEST_F(watch_failures, without_memory_there_is_no_watch) {
    sweep({}, outcome::maybe_reported, waits_once);
}

}  // namespace
}  // namespace fairlead::test::watch_tests
