// The system fails while a set of signals is made.
#include "faults/sweep.hpp"
#include "support/sockets.hpp"
#include "support/watchdog.hpp"

#include <fairlead/io/signal_set.hpp>

#include <gtest/gtest.h>

#include <signal.h>

#include <cerrno>
#include <system_error>

namespace fairlead::test::signal_set_tests {
namespace {

// One driver for all runs, so that what fails is of the set.
class signal_set_failures : public testing::Test {
protected:
    void makes_one() {
        auto one = io::signal_set::make(io::epoll_driver::of(home), {SIGUSR1});
        if (!one) throw std::system_error{one.error()};
    }
    void sweep_make(const fault& what, outcome right = outcome::reported) {
        sweep(what, right, [&] { makes_one(); });
        struct sigaction now {};
        EXPECT_EQ(::sigaction(SIGUSR1, nullptr, &now), 0);
        EXPECT_EQ(now.sa_handler, SIG_DFL);
    }

    const watchdog guard;
    scheduler home{with_epoll_on_caller()};
};

TEST_F(signal_set_failures, are_reported_and_nothing_has_changed) {
    for (const int error : {EMFILE, ENFILE, ENOMEM}) sweep_make({"eventfd", error});
    // The removal at its end has no result.
    for (const int error : {ENOMEM, ENOSPC}) {
        sweep_make({"epoll_ctl", error}, outcome::maybe_reported);
    }
    sweep_make({"operator new", ENOMEM});
}

}  // namespace
}  // namespace fairlead::test::signal_set_tests
