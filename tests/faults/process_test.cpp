// The system fails while a child is started, fed, read, signalled and awaited, and for its pipes.
#include "faults/sweep.hpp"
#include "support/must.hpp"
#include "support/sockets.hpp"
#include "support/watchdog.hpp"

#include <fairlead/coro/spawn.hpp>
#include <fairlead/io/pipe_stream.hpp>
#include <fairlead/io/process.hpp>
#include <fairlead/io/process_output.hpp>

#include <gtest/gtest.h>

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace fairlead::test::process_tests {
namespace {

using io::child_stream;

std::size_t threads() {
    std::size_t count = 0;
    DIR* const all = ::opendir("/proc/self/task");
    while (::readdir(all) != nullptr) ++count;
    ::closedir(all);
    return count;
}

// Asks the kernel directly, because an armed fault would count a call of waitid().
bool has_children() {
    siginfo_t told{};
    return ::syscall(SYS_waitid, P_ALL, 0, &told, WEXITED | WNOWAIT | WNOHANG, nullptr) == 0;
}

// The threads that wait for children have ended with them.
struct leaves_no_thread {
    leaves_no_thread() = default;
    leaves_no_thread(const leaves_no_thread&) = delete;
    leaves_no_thread& operator=(const leaves_no_thread&) = delete;
    ~leaves_no_thread() {
        while (threads() > before) ::sched_yield();
    }
    const std::size_t before = threads();
};

template <class T>
T run(scheduler& home, task<T> body) {
    auto handle = spawn(home, std::move(body));
    while (!handle.ended()) home.run_until(never, 1);
    return handle.get();
}

// It ends when its input does, whatever fails.
const std::vector<std::string> copies{"cat"};

task<> uses_a_child() {
    io::process_options options;
    options.in = options.out = child_stream::pipe();
    options.err = child_stream::null();
    options.directory = "/";
    io::process one = must(co_await io::process::spawn(copies, options));
    must(co_await one.in().write_all(bytes_of("text")));
    one.in().close();
    std::array<std::byte, 10> buffer;
    const auto read = co_await one.out().read_exactly(buffer);
    EXPECT_FALSE(read);
    if (read.error().error) throw std::system_error{read.error().error};
    EXPECT_EQ(read.error().size, 4U);
    const io::exit_status status = must(co_await one.wait());
    EXPECT_TRUE(status.succeeded());
}

void sweep_child(const fault& what, outcome right) {
    sweep(what, right, [] {
        const leaves_no_thread guard;
        scheduler home{with_epoll_on_caller()};
        run(home, uses_a_child());
    });
}

// The end of a group's leader, by its group, and of a child alone.
void signals_children(io::child_group group) {
    const leaves_no_thread guard;
    scheduler home{with_epoll_on_caller()};
    const auto body = [&]() -> task<> {
        io::process_options options;
        options.in = child_stream::pipe();
        options.group = group;
        io::process one = must(co_await io::process::spawn(copies, options));
        must(one.kill(SIGTERM));
        const io::exit_status status = must(co_await one.wait());
        EXPECT_EQ(status.signal(), SIGTERM);
    };
    run(home, body());
}

class process_failures : public testing::Test {
protected:
    const watchdog guard{std::chrono::seconds{240}};
};

TEST_F(process_failures, what_a_start_needs_is_reported) {
    for (const int error : {EMFILE, ENFILE}) sweep_child({"pipe2", error}, outcome::reported);
    for (const int error : {EAGAIN, ENOMEM, ENOENT}) {
        sweep_child({"posix_spawnp", error}, outcome::reported);
    }
    for (const char* const call :
         {"posix_spawn_file_actions_addopen", "posix_spawn_file_actions_adddup2",
          "posix_spawn_file_actions_addchdir_np", "posix_spawn_file_actions_addclosefrom_np"}) {
        sweep_child({call, ENOMEM}, outcome::reported);
    }
    sweep_child({"fcntl", EBADF}, outcome::reported);
    // In the constructor of the driver, and for each descriptor; a removal has no result.
    for (const int error : {ENOMEM, ENOSPC}) {
        sweep_child({"epoll_ctl", error}, outcome::maybe_reported);
    }
}

TEST_F(process_failures, a_child_that_cannot_be_watched_is_ended) {
    for (const int error : {EMFILE, ENFILE, ENOMEM}) {
        sweep_child({"pidfd_open", error}, outcome::reported);
        EXPECT_FALSE(has_children());
    }
}

TEST_F(process_failures, without_memory_there_is_an_error) {
    sweep_child({}, outcome::maybe_reported);
    EXPECT_FALSE(has_children());
}

TEST_F(process_failures, an_interrupted_call_is_made_again) {
    for (const char* const call : {"waitid", "read", "pwritev2"}) {
        sweep_range(
            {call, EINTR}, outcome::invisible,
            [] {
                scheduler home{with_epoll_on_caller()};
                run(home, uses_a_child());
            },
            call_range::only);
    }
}

// A thread waits for the child instead.
TEST_F(process_failures, without_pidfds_all_is_the_same) {
    for (const int error : {ENOSYS, EPERM}) {
        sweep_child({"pidfd_open", error}, outcome::invisible);
        for (const io::child_group group : {io::child_group::same, io::child_group::own}) {
            sweep({"pidfd_open", error}, outcome::invisible, [&] { signals_children(group); });
        }
    }
    // A kernel that has pidfds and cannot wait for them.
    const armed once{{"waitid", EINVAL}, call_range::only(1)};
    const leaves_no_thread guard_of_threads;
    scheduler home{with_epoll_on_caller()};
    run(home, uses_a_child());
    EXPECT_TRUE(once.hit());
}

// ... and ends with it, also when the object goes first.
TEST_F(process_failures, without_pidfds_a_child_is_taken_all_the_same) {
    for (const bool is_left : {false, true}) {
        const leaves_no_thread guard_of_threads;
        scheduler home{with_epoll_on_caller()};
        const armed faults{{"pidfd_open", ENOSYS}, call_range::from(1)};
        const auto body = [&]() -> task<> {
            io::process_options options;
            options.in = child_stream::pipe();
            io::process one = must(co_await io::process::spawn(copies, options));
            if (is_left) {
                EXPECT_TRUE(one.leave());
                one.in().close();
            }
        };
        run(home, body());
        EXPECT_TRUE(faults.hit());
    }
    while (has_children()) ::sched_yield();
}

TEST_F(process_failures, without_pidfds_or_a_thread_there_is_an_error) {
    for (const auto& second : std::initializer_list<fault>{
             {"pthread_create", EAGAIN}, {"eventfd", EMFILE}, {"operator new", ENOMEM}}) {
        const leaves_no_thread guard_of_threads;
        scheduler home{with_epoll_on_caller()};
        run(home, uses_a_child());
        const armed faults{{{"pidfd_open", ENOSYS}, call_range::from(1)},
                           {second, call_range::only(1)}};
        auto handle = spawn(home, io::process::spawn(copies));
        while (!handle.ended()) home.run_until(never, 1);
        EXPECT_EQ(handle.get().error().value(), second.error) << second.call;
        EXPECT_EQ(faults.hits(), 2U);
    }
    while (has_children()) ::sched_yield();
}

// The destructor waits itself, and nothing is left for later.
TEST_F(process_failures, without_a_thread_the_destructor_waits) {
    for (const fault& missing :
         std::initializer_list<fault>{{"pthread_create", EAGAIN}, {"operator new", ENOMEM}}) {
        scheduler home{with_epoll_on_caller()};
        const auto body = [&]() -> task<> {
            io::process_options options;
            options.in = child_stream::pipe();
            io::process one = must(co_await io::process::spawn(copies, options));
            const armed faults{missing, call_range::from(1)};
            { const io::process gone = std::move(one); }
            EXPECT_TRUE(faults.hit());
        };
        run(home, body());
        EXPECT_FALSE(has_children());
    }
}

TEST_F(process_failures, a_child_that_cannot_be_left_stays) {
    scheduler home{with_epoll_on_caller()};
    const auto body = [&]() -> task<> {
        io::process_options options;
        options.in = child_stream::pipe();
        io::process one = must(co_await io::process::spawn(copies, options));
        {
            const armed once{{"pthread_create", EAGAIN}, call_range::only(1)};
            EXPECT_EQ(one.leave().error(), std::errc::resource_unavailable_try_again);
        }
        EXPECT_TRUE(one.has_child());
        one.in().close();
        const auto status = must(co_await one.wait());
        EXPECT_TRUE(status.succeeded());
    };
    run(home, body());
}

// The child ends with its input then, and its keeper waits for that.
TEST_F(process_failures, a_signal_that_is_not_allowed_is_reported) {
    sweep({"pidfd_send_signal", EPERM}, outcome::reported,
          [] { signals_children(io::child_group::same); });
    sweep({"kill", EPERM}, outcome::reported, [] { signals_children(io::child_group::own); });
}

// The number may be another process's by then.
TEST_F(process_failures, no_signal_goes_to_a_number_that_is_free) {
    for (const int pidfd_error : {0, ENOSYS}) {
        const leaves_no_thread guard_of_threads;
        scheduler home{with_epoll_on_caller()};
        const auto body = [&]() -> task<> {
            io::process_options options;
            options.group = io::child_group::own;
            std::optional<armed> no_pidfd;
            if (pidfd_error != 0) {
                no_pidfd.emplace(fault{"pidfd_open", pidfd_error}, call_range::from(1));
            }
            io::process one = must(co_await io::process::spawn(copies, options));
            no_pidfd.reset();
            const armed sends{{"kill", EPERM}, call_range::from(1)};
            const auto status = must(co_await one.wait());
            EXPECT_TRUE(status.succeeded());
            EXPECT_EQ(one.kill(SIGTERM).error(), std::errc::no_such_process);
            EXPECT_FALSE(sends.hit());
        };
        run(home, body());
    }
}

// --- pipes ---------------------------------------------------------------------------------------

task<> uses_a_pipe(io::epoll_driver& driver) {
    io::pipe_ends both = must(io::make_pipe(driver));
    io::pipe_stream again = must(io::pipe_stream::adopt_again(driver, both.writer.native_handle()));
    const std::array<std::span<const std::byte>, 2> out{bytes_of("head"), bytes_of("body")};
    must(co_await both.writer.write_all(out));
    must(co_await again.write_all(bytes_of("more")));
    again.close();
    std::string text;
    while (text.size() != 12) {
        std::array<char, 6> some{};
        const auto bytes = std::as_writable_bytes(std::span{some});
        const std::array<std::span<std::byte>, 2> in{bytes.first(2), bytes.subspan(2)};
        text += std::string_view{some.data(), must(co_await both.reader.read_some(in))};
    }
    EXPECT_EQ(text, "headbodymore");
    both.reader.close();
    const auto refused = co_await both.writer.write_all(bytes_of("x"));
    EXPECT_FALSE(refused);
    if (refused.error() != std::errc::broken_pipe) throw std::system_error{refused.error()};
}

void runs_a_pipe() {
    scheduler home{with_epoll_on_caller()};
    run(home, uses_a_pipe(io::epoll_driver::of(home)));
}

class pipe_failures : public testing::Test {
protected:
    const watchdog guard;
};

TEST_F(pipe_failures, are_reported) {
    for (const int error : {EMFILE, ENFILE}) {
        sweep({"pipe2", error}, outcome::reported, runs_a_pipe);
        sweep({"openat", error}, outcome::reported, runs_a_pipe);
    }
    sweep({"fcntl", EBADF}, outcome::reported, runs_a_pipe);
    sweep({"readv", EIO}, outcome::reported, runs_a_pipe);
    sweep({"pwritev2", EIO}, outcome::reported, runs_a_pipe);
    for (const int error : {ENOMEM, ENOSPC}) {
        sweep({"epoll_ctl", error}, outcome::maybe_reported, runs_a_pipe);
    }
    sweep({}, outcome::maybe_reported, runs_a_pipe);
}

TEST_F(pipe_failures, what_is_interrupted_or_short_goes_on) {
    for (const char* const call : {"readv", "pwritev2", "openat"}) {
        sweep_range({call, EINTR}, outcome::invisible, runs_a_pipe, call_range::only);
    }
    // Not a read: the kernel gives all that there is, so a short one says that there is no more.
    sweep({"pwritev2", 0, fault::how::cut}, outcome::invisible, runs_a_pipe);
}

int signals_seen = 0;
void see_signal(int) { ++signals_seen; }

// A kernel that cannot write without the signal: the thread blocks it, and takes it back.
TEST_F(pipe_failures, a_kernel_that_raises_the_signal_is_not_noticed) {
    struct sigaction sees {};
    struct sigaction before {};
    sees.sa_handler = see_signal;
    ASSERT_EQ(::sigaction(SIGPIPE, &sees, &before), 0);
    signals_seen = 0;
    for (const int error : {EOPNOTSUPP, ENOSYS}) {
        sweep({"pwritev2", error}, outcome::invisible, runs_a_pipe);
    }
    const planned_fault old_kernel{{"pwritev2", EOPNOTSUPP}, call_range::from(1)};
    const auto with_old_kernel = [&](const fault& what, call_range when) {
        const armed faults{old_kernel, {what, when}};
        const std::error_code seen = outcome_of(runs_a_pipe);
        EXPECT_EQ(faults.hits(), 2U) << what.call;
        return seen;
    };
    EXPECT_FALSE(with_old_kernel({"writev", EINTR}, call_range::only(1)));
    EXPECT_FALSE(with_old_kernel({"writev", 0, fault::how::cut}, call_range::from(1)));
    EXPECT_EQ(with_old_kernel({"writev", EIO}, call_range::only(1)), std::errc::io_error);
    EXPECT_FALSE(with_old_kernel({"sigtimedwait", EINTR}, call_range::only(1)));
    RecordProperty("swept writev", "1");
    RecordProperty("swept sigtimedwait", "1");
    EXPECT_EQ(signals_seen, 0);

    // A signal of the program, which it has blocked, stays its own, one time.
    sigset_t pipe{};
    sigset_t mask{};
    sigset_t pending{};
    ::sigemptyset(&pipe);
    ::sigaddset(&pipe, SIGPIPE);
    ASSERT_EQ(::pthread_sigmask(SIG_BLOCK, &pipe, &mask), 0);
    for (const bool is_sent : {false, true}) {
        if (is_sent) ::raise(SIGPIPE);
        EXPECT_FALSE(with_old_kernel({"writev", EINTR}, call_range::only(1)));
        ASSERT_EQ(::sigpending(&pending), 0);
        EXPECT_EQ(::sigismember(&pending, SIGPIPE), is_sent ? 1 : 0);
    }
    ::pthread_sigmask(SIG_SETMASK, &mask, nullptr);
    EXPECT_EQ(signals_seen, 1);
    ::sigaction(SIGPIPE, &before, nullptr);
}

}  // namespace
}  // namespace fairlead::test::process_tests
