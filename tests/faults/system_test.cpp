// Each call of a function of the system fails with each error that it may have. The library reports
// an error that concerns the program, and handles all other errors, such as an interrupted call.
//
// Two failures are not tested: a read that returns less than there is, and "would block" with room
// left. The system does neither, and the library relies on that: it expects an edge for more data.
#include "faults/sweep.hpp"
#include "support/must.hpp"
#include "support/sockets.hpp"
#include "support/threads.hpp"
#include "support/watchdog.hpp"

#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/blocking.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/detail/os/barrier.hpp>
#include <fairlead/detail/os/cpu.hpp>
#include <fairlead/detail/sync/mutex_sleepers.hpp>
#include <fairlead/diagnostics/enable_stacks.hpp>
#include <fairlead/io/address.hpp>
#include <fairlead/io/tcp.hpp>
#include <fairlead/sched/block_in_place.hpp>
#include <fairlead/sched/callback_task.hpp>
#include <fairlead/sched/scheduler.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <expected>
#include <latch>
#include <random>
#include <span>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace fairlead::test::system_tests {
namespace {

using namespace std::chrono_literals;

// --- a scenario with everything in it ------------------------------------------------------------

// Sends one message of one client back, in the pieces in which it arrives.
task<std::error_code> serves_one(io::tcp_listener given, std::size_t message_size) {
    io::tcp_listener listener{std::move(given)};  // closed at the end, not with the handle
    auto peer = co_await listener.accept();
    if (!peer) co_return peer.error();
    const auto from = peer->peer_address();
    if (!from) co_return from.error();
    std::array<std::byte, 1000> buffer;
    for (std::size_t seen = 0; seen != message_size;) {
        const auto size = co_await peer->read_some(buffer);
        if (!size) co_return size.error();
        if (*size == 0) break;
        const auto written = co_await peer->write_all(std::span{buffer}.first(*size));
        if (!written) co_return written.error();
        seen += *size;
    }
    co_return std::error_code{};
}

// Sends a message and reads as many bytes, or until the end. Returns the bytes or the error.
task<std::expected<std::string, std::error_code>> asks(io::address where,
                                                       std::string_view message) {
    auto stream = co_await io::tcp_stream::connect(where);
    if (!stream) co_return std::unexpected{stream.error()};
    // Client and server use different calls of the system.
    const std::array<std::span<const std::byte>, 2> parts{bytes_of(message.substr(0, 5)),
                                                          bytes_of(message.substr(5))};
    const auto written = co_await stream->write_all(parts);
    if (!written) co_return std::unexpected{written.error()};
    std::string answer;
    while (answer.size() != message.size()) {
        std::array<char, 1000> buffer;
        const std::span room = std::as_writable_bytes(std::span{buffer});
        const std::array<std::span<std::byte>, 2> into{room.first(3), room.subspan(3)};
        const auto size = co_await stream->read_some(into);
        if (!size) co_return std::unexpected{size.error()};
        if (*size == 0) break;
        answer.append(buffer.data(), *size);
    }
    const auto ended = stream->shutdown_send();
    if (!ended) co_return std::unexpected{ended.error()};
    // Closes with a reset: thousands of lingering connections would take all ports.
    const linger at_once{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(stream->native_handle(), SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    co_return answer;
}

// Throws the first error of either side that is one of `injected`; the other side sees the end of
// the connection, in one way or another.
void exchange(unsigned workers, const std::vector<int>& injected) {
    static constexpr std::string_view message = "there and back again";
    scheduler_options options = with_epoll(workers);
    options.on_unhandled = [](const std::exception_ptr&, const failure_origin&) {
    };  // no thread joins it
    scheduler home{std::move(options)};
    auto listener = must(io::tcp_listener::bind(home, io::address::loopback(0)));
    const io::address where = must(listener.local_address());
    auto server = spawn(home, serves_one(std::move(listener), message.size()));
    const auto answer = block_on(home, asks(where, message));
    server.request_stop();  // the client may never have connected
    const std::error_code served = server.get();
    for (const std::error_code seen : {served, answer ? std::error_code{} : answer.error()}) {
        if (seen && std::ranges::find(injected, seen.value()) != injected.end()) {
            throw std::system_error{seen};
        }
    }
    // The client failed, or was refused.
    if (served == std::errc::operation_canceled && !injected.empty()) {
        throw std::system_error{injected.front(), std::system_category()};
    }
    if (served) throw std::system_error{served};
    if (!answer) throw std::system_error{answer.error()};
    EXPECT_EQ(*answer, message);
}

struct row {
    const char* call;
    outcome right;
    std::vector<int> errors;
    fault::how manner = fault::how::instead;
};

std::string name_of(const testing::TestParamInfo<row>& info) {
    static constexpr std::array manners{"", "_after", "_cut"};
    return std::string{info.param.call} + manners[static_cast<std::size_t>(info.param.manner)] +
           (info.param.right == outcome::invisible ? "_unseen" : "");
}

class system_calls : public testing::TestWithParam<row> {
protected:
    const watchdog guard;
};

TEST_P(system_calls, fail) {
    const row& each = GetParam();
    for (const int error : each.errors) {
        const fault what{each.call, error, each.manner};
        const auto scenario = [error] { exchange(2, {error}); };
        sweep_range(what, each.right, scenario, call_range::only);
        // The library repeats a call whose error it hides. That is right for errors that end.
        if (each.right == outcome::reported) {
            sweep_range(what, each.right, scenario, call_range::from);
        }
    }
}

const std::vector<row> that_make_a_driver{
    {"epoll_create1", outcome::reported, {EMFILE, ENFILE, ENOMEM}},
    {"eventfd", outcome::reported, {EMFILE, ENFILE, ENODEV, ENOMEM}},
    {"timerfd_create", outcome::reported, {EMFILE, ENFILE, ENODEV, ENOMEM}},
    {"pthread_create", outcome::reported, {EAGAIN, EPERM}},
    {"pthread_setname_np", outcome::invisible, {ERANGE, ENOENT}},
    {"prctl", outcome::invisible, {EPERM, EINVAL}},
};

const std::vector<row> that_make_a_connection{
    {"socket",
     outcome::reported,
     {EMFILE, ENFILE, ENOBUFS, ENOMEM, EACCES, EAFNOSUPPORT, EPROTONOSUPPORT}},
    {"bind", outcome::reported, {EADDRINUSE, EACCES, EADDRNOTAVAIL, ENOMEM}},
    {"listen", outcome::reported, {EADDRINUSE}},
    {"getsockname", outcome::reported, {ENOBUFS}},
    {"setsockopt", outcome::invisible, {ENOPROTOOPT, EINVAL, ENOMEM}},
    {"connect",
     outcome::reported,
     {ECONNREFUSED, EHOSTUNREACH, ENETUNREACH, EADDRNOTAVAIL, EAGAIN, ETIMEDOUT, EACCES, EPERM,
      ENOBUFS}},
    {"connect", outcome::invisible, {EINTR}, fault::how::after},
    {"getsockopt", outcome::reported, {EACCES, ENOBUFS}},
    {"getpeername", outcome::reported, {ENOBUFS}},
    // Errors of a connection that was reset in the backlog, and of its network.
    {"accept4",
     outcome::invisible,
     {EINTR, ECONNABORTED, ECONNRESET, EPROTO, ENOPROTOOPT, EOPNOTSUPP, ENETDOWN, ENETUNREACH,
      EHOSTDOWN, EHOSTUNREACH, ENONET, ETIMEDOUT}},
    {"accept4", outcome::reported, {EINVAL, EPERM}},
};

const std::vector<row> that_use_it{
    {"recv", outcome::invisible, {EINTR}},
    {"recv", outcome::reported, {ECONNRESET, ETIMEDOUT, ENOMEM, EHOSTUNREACH}},
    {"send", outcome::invisible, {EINTR}},
    {"send", outcome::invisible, {0}, fault::how::cut},
    {"send", outcome::reported, {ECONNRESET, EPIPE, ENOBUFS, ENOMEM}},
    {"recvmsg", outcome::invisible, {EINTR}},
    {"recvmsg", outcome::reported, {ECONNRESET, ETIMEDOUT, ENOMEM, EHOSTUNREACH}},
    {"sendmsg", outcome::invisible, {EINTR}},
    {"sendmsg", outcome::invisible, {0}, fault::how::cut},
    {"sendmsg", outcome::reported, {ECONNRESET, EPIPE, ENOBUFS, ENOMEM}},
    {"shutdown", outcome::reported, {ENOTCONN}},
    {"close", outcome::invisible, {EINTR, EIO, ENOSPC}, fault::how::after},
};

// The library calls these functions for several purposes: whether it reports an error depends on
// the call.
const std::vector<row> whose_outcome_depends{
    {"epoll_ctl", outcome::maybe_reported, {ENOMEM, ENOSPC}},
    {"operator new", outcome::maybe_reported, {ENOMEM}},
    {"epoll_wait", outcome::invisible, {EINTR}},
    {"read", outcome::invisible, {EINTR}},
    {"write", outcome::invisible, {EINTR}},
    {"futex", outcome::invisible, {EINTR}},
};

INSTANTIATE_TEST_SUITE_P(that_make_a_driver, system_calls, testing::ValuesIn(that_make_a_driver),
                         name_of);
INSTANTIATE_TEST_SUITE_P(that_make_a_connection, system_calls,
                         testing::ValuesIn(that_make_a_connection), name_of);
INSTANTIATE_TEST_SUITE_P(that_use_it, system_calls, testing::ValuesIn(that_use_it), name_of);

// --- those whose outcome depends on the call -----------------------------------------------------

class system_failures : public testing::Test {
protected:
    const watchdog guard;
};

// A worker goes to sleep and is woken, again and again.
void naps(scheduler_options options) {
    scheduler home{std::move(options)};
    std::atomic<int> runs{0};
    for (std::uint64_t i = 0; i != 20; ++i) {
        await([&] { return home.stats().front().wakeups > i; });  // it is on its way to sleep
        home.post([&runs] { ++runs; });
        home.drain();
    }
    EXPECT_EQ(runs, 20);
}

// A futex may also report a changed word or a time-out when neither is the case.
TEST_F(system_failures, an_interrupted_sleep_goes_on) {
    for (const int error : {EINTR, EAGAIN, ETIMEDOUT}) {
        sweep_range(
            {"futex", error}, outcome::invisible, [] { naps({.workers = 1}); }, call_range::only);
    }
    for (const char* const call : {"epoll_wait", "read", "write"}) {
        sweep_range(
            {call, EINTR}, outcome::invisible, [] { naps(with_epoll(1)); }, call_range::only);
    }
}

// Without the barrier an unlock may not see a thread that sleeps: so the thread looks again.
TEST_F(system_failures, a_thread_that_sleeps_on_a_mutex_looks_again) {
    if (!os::has_heavy_barrier()) GTEST_SKIP() << "no barrier to fail";
    const std::uint32_t mutex = 0;
    EXPECT_EQ(sync::mutex_sleepers{&mutex}.next_look(), never);
    const armed no_barrier{fault{"membarrier", EPERM}, call_range::from(1)};
    const sync::mutex_sleepers asleep{&mutex};
    EXPECT_EQ(no_barrier.hits(), 1U);
    const time_point next = asleep.next_look();
    EXPECT_LE(next, clock::system_now() + 1ms);
}

// A step that blocks loses its slot, unless the system does not tell that it blocks, or there is no
// thread to take the slot. The stack of the step is recorded, unless it cannot be read.
TEST_F(system_failures, nobody_takes_the_slot_of_a_step_that_blocks) {
    if (!os::has_heavy_barrier()) GTEST_SKIP() << "nobody takes slots here";
    diagnostics::enable_stacks();
    const auto scenario = [] {
        std::atomic<int> runs{0};
        std::atomic<bool> told{false};
        scheduler home{{.workers = 1,
                        .blocked_after = 1ms,
                        .on_blocked = [&](const blocked_step&) noexcept { told = true; }}};
        home.post([&] {
            // The step lasts until the monitor has looked, however late.
            while (!told && test::faults_met() == 0) std::this_thread::sleep_for(10ms);
            ++runs;
        });
        home.post([&] { block_in_place([&] { ++runs; }); });
        home.drain();
        EXPECT_EQ(runs, 2);
    };
    for (const fault& what : {fault{"open", ENOENT}, fault{"open", EMFILE}, fault{"read", EIO},
                              fault{"membarrier", ENOSYS}, fault{"membarrier", EPERM},
                              fault{"process_vm_readv", EPERM}}) {
        sweep(what, outcome::invisible, scenario);
    }
    for (const fault& what : {fault{"pthread_create", EAGAIN}, fault{"operator new", ENOMEM}}) {
        sweep(what, outcome::maybe_reported, scenario);
    }
}

// Each step waits for the step behind it. So a failed hand-over must be repeated: while the step
// blocks time goes on, and its slot is passed on a little later.
TEST_F(system_failures, a_slot_is_passed_on_later_if_it_fails_at_first) {
    if (!os::has_heavy_barrier()) GTEST_SKIP() << "nobody takes slots here";
    for (const bool says_so : {false, true}) {
        const auto scenario = [says_so] {
            std::array<std::latch, 3> begun{std::latch{1}, std::latch{1}, std::latch{1}};
            std::array<callback_task, 3> steps;  // posted without an allocation that could fail
            scheduler home{{.workers = 1,
                            .blocked_after = 1ms,
                            .on_blocked = [](const blocked_step&) noexcept {}}};
            for (std::size_t i = 0; i != begun.size(); ++i) {
                steps[i].set_callback([&begun, says_so, i](callback_task&) {
                    begun[i].count_down();
                    if (i + 1 == begun.size()) return;
                    if (says_so) static_cast<void>(sched::access::about_to_block());
                    begun[i + 1].wait();
                });
                home.post(steps[i]);
            }
            home.drain();
        };
        for (const fault& what : {fault{"pthread_create", EAGAIN}, fault{"operator new", ENOMEM}}) {
            sweep_range(what, outcome::maybe_reported, scenario, call_range::only);
        }
    }
}

// The last caller that learns that no thread can start makes the calls of all callers.
TEST_F(system_failures, no_thread_can_be_started_for_calls) {
    for (const unsigned threads : {1U, 512U}) {
        sweep({"pthread_create", EAGAIN}, outcome::maybe_reported, [threads] {
            std::atomic<int> runs{0};
            scheduler home{{.workers = 2, .blocking_threads = threads}};
            const auto calls = [&]() -> task<> {
                co_await blocking([&] { ++runs; });
                co_await blocking([&] { ++runs; });
            };
            for (int i = 0; i != 8; ++i) spawn(home, calls()).detach();
            home.drain();
            EXPECT_EQ(runs, 16);
        });
    }
}

// The number of processors: a source that cannot be read sets no limit.
TEST_F(system_failures, somebody_does_not_know_the_processors) {
    for (const fault& what :
         {fault{"sched_getaffinity", EINVAL}, fault{"sched_getaffinity", EPERM},
          fault{"fopen64", ENOENT}, fault{"fopen64", EMFILE}, fault{"fopen64", EACCES},
          fault{"read", EIO}, fault{"read", ENODEV}}) {
        sweep(what, outcome::invisible, [] { EXPECT_GE(os::available_cpus(), 1U); });
    }
}

// A name that the system cannot look up is no interface. It may still be a number.
TEST_F(system_failures, an_interface_is_not_known) {
    for (const int error : {ENODEV, EMFILE, ENFILE}) {
        sweep({"if_nametoindex", error}, outcome::maybe_reported, [] {
            EXPECT_TRUE(io::address::parse("fe80::1%1", 80));
            const auto named = io::address::parse("fe80::1%lo", 80);
            EXPECT_TRUE(named || named.error() == std::errc::invalid_argument);
        });
        const armed plan{{"if_nametoindex", error}, call_range::from(1)};
        EXPECT_FALSE(io::address::parse("fe80::1%lo", 80));
        EXPECT_TRUE(plan.hit());
    }
}

// A wall clock that is set back moves no deadline.
TEST_F(system_failures, nobody_asks_for_the_wall_clock) {
    const armed plan{{"clock_gettime", EINVAL}, call_range::from(1)};
    exchange(2, {});
    naps(with_epoll(1));
    naps({.workers = 1});
    EXPECT_FALSE(plan.hit());
    static_cast<void>(std::chrono::system_clock::now());
    EXPECT_TRUE(plan.hit());  // a check that the plan covers the wall clock
}

TEST_F(system_failures, memory_of_connections) {
    sweep({}, outcome::maybe_reported, [] { exchange(2, {ENOMEM}); });
}

// Two failures in one run, of which the second comes some calls of its function after the first.
TEST_F(system_failures, in_pairs) {
    constexpr int pairs = 3000 / (counts_exactly ? 5 : 1);
    std::vector<row> rows = whose_outcome_depends;
    for (const auto& more : {that_make_a_driver, that_make_a_connection, that_use_it}) {
        rows.insert(rows.end(), more.begin(), more.end());
    }
    std::mt19937 random{20261122};
    const auto below = [&random](std::size_t bound) { return random() % bound; };
    std::array<int, 3> runs_with{};
    for (int i = 0; i != pairs; ++i) {
        std::array<fault, 2> faults;
        std::array<outcome, 2> right{};
        std::array<std::int64_t, 2> when{};
        std::vector<int> reportable;
        for (std::size_t j = 0; j != 2; ++j) {
            const row& drawn = rows[below(rows.size())];
            faults[j] = {drawn.call, drawn.errors[below(drawn.errors.size())], drawn.manner};
            right[j] = drawn.right;
            when[j] = 1 + static_cast<std::int64_t>(below(3));
            if (drawn.right != outcome::invisible) reportable.push_back(faults[j].error);
        }
        SCOPED_TRACE(testing::Message{} << "pair " << i << ": " << faults[0].call << ", error "
                                        << faults[0].error << ", call " << when[0] << "; then "
                                        << faults[1].call << ", error " << faults[1].error
                                        << ", call " << when[1]);
        const auto scenario = [&reportable] { exchange(2, reportable); };
        const auto [seen, hits] =
            run_with(scenario, planned_fault{faults[0], call_range::only(when[0])},
                     planned_fault{faults[1], call_range::only(when[1])});
        ++runs_with[hits];
        if (hits < 2) {
            expect_outcome(seen, faults[0], right[0], hits == 1);
        } else {
            const bool must = std::ranges::find(right, outcome::reported) != right.end();
            const bool may = std::ranges::find(reportable, seen.value()) != reportable.end();
            EXPECT_TRUE(seen ? may : !must) << "reported: " << seen.message();
        }
        ASSERT_FALSE(HasFailure());
    }
    EXPECT_GE(runs_with[2], pairs / 20);
    std::printf("no failure in %d runs, one in %d, two in %d\n", runs_with[0], runs_with[1],
                runs_with[2]);
}

// The constructor of the driver, bind and connect report a failed registration. For accept it is a
// shortage like any other. A failed removal of a descriptor has no effect.
TEST_F(system_failures, epoll_ctl) {
    for (const int error : {ENOMEM, ENOSPC}) {
        sweep({"epoll_ctl", error}, outcome::maybe_reported, [error] { exchange(2, {error}); });
        const armed plan{{"epoll_ctl", error}, call_range::only(2)};
        EXPECT_THROW(io::epoll_driver{}, std::system_error);
    }
}

// Each shortage costs a wait and is counted.
TEST_F(system_failures, an_accept_outlasts_a_shortage) {
    for (const int error : {EMFILE, ENFILE, ENOBUFS, ENOMEM}) {
        scheduler home{with_epoll(2)};
        auto listener = must(io::tcp_listener::bind(home, io::address::loopback(0)));
        const raw_socket client = raw_socket::connected(*listener.local_address());
        const armed plan{{"accept4", error}, call_range{1, 3}};
        EXPECT_TRUE(block_on(home, listener.accept()));
        EXPECT_EQ(listener.starved(), 3U);
    }
}

// Without memory for its registration a new connection is closed. The accept goes on with the next.
TEST_F(system_failures, an_accept_outlasts_a_newcomer_that_cannot_be_registered) {
    for (const fault what : {fault{"epoll_ctl", ENOSPC}, fault{"epoll_ctl", ENOMEM}, fault{}}) {
        scheduler home{with_epoll(1)};
        auto listener = must(io::tcp_listener::bind(home, io::address::loopback(0)));
        static constexpr auto accepts = [](io::tcp_listener& from,
                                           const fault& failing) -> task<bool> {
            auto accepting = from.accept();
            const armed plan{failing, call_range::only(1)};
            const auto accepted = co_await std::move(accepting);
            co_return accepted&& plan.hit();
        };
        const raw_socket unlucky = raw_socket::connected(*listener.local_address());
        const raw_socket next = raw_socket::connected(*listener.local_address());
        EXPECT_TRUE(block_on(home, accepts(listener, what)));
        EXPECT_EQ(listener.starved(), 1U);
        EXPECT_EQ(unlucky.receive(1), "");
    }
}

// The system can start only some of the workers.
TEST_F(system_failures, a_scheduler_that_cannot_start_again_can_be_started_later) {
    scheduler home{with_epoll(3)};
    for (int n = 1; n <= 3; ++n) {
        EXPECT_TRUE(home.stop(10s).clean());
        {
            const armed plan{{"pthread_create", EAGAIN}, call_range::only(n)};
            EXPECT_THROW(home.start(), std::system_error);
        }
        EXPECT_TRUE(home.stop(10s).clean());
        std::atomic<int> runs{0};
        home.post([&runs] { ++runs; });
        home.start();
        home.drain();
        EXPECT_EQ(runs, 1);
    }
}

}  // namespace
}  // namespace fairlead::test::system_tests
