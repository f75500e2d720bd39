// Children: they have what they were given and nothing else, each end is told once, none is left.
#include "io/process_fixture.hpp"
#include "support/folder.hpp"
#include "support/must.hpp"
#include "support/sockets.hpp"
#include "support/watchdog.hpp"

#include <fairlead/coro/adapted_wait.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/io/process.hpp>
#include <fairlead/io/signal_set.hpp>

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace fairlead::io::process_tests {
namespace {

using test::bytes_of;

// --- the end -------------------------------------------------------------------------------------

TEST_F(process_test, its_code_is_told_as_often_as_asked) {
    process one = started(shell("exit 3"));
    EXPECT_EQ(ended(one), exit_status::of_code(3));
    EXPECT_EQ(ended(one).code(), 3);
    EXPECT_FALSE(ended(one).succeeded());
    EXPECT_EQ(ended(one).to_string(), "code 3");
    process two = started({"true"});
    EXPECT_TRUE(ended(two).succeeded());
}

TEST_F(process_test, a_signal_that_has_ended_it_is_told) {
    process one = started(shell("kill -TERM $$"));
    EXPECT_EQ(ended(one).signal(), SIGTERM);
    EXPECT_EQ(ended(one).code(), std::nullopt);
    EXPECT_FALSE(ended(one).succeeded());
    EXPECT_EQ(ended(one).to_string(), "signal 15");
}

TEST_F(process_test, a_task_waits_for_the_end) {
    process one = ready("echo ready; read line");
    auto waits = spawn(home, one.wait());
    home.run_until_idle();
    EXPECT_FALSE(waits.ended());
    one.in().close();
    EXPECT_EQ(finish(waits)->code(), 1);  // no line was read
}

TEST_F(process_test, a_wait_ends_by_a_deadline_or_a_stop_and_the_child_runs_on) {
    process one = ready("echo ready; read line");
    EXPECT_EQ(run(one.wait(clock::now() + 1ms)).error(), std::errc::timed_out);
    auto waits = spawn(home, one.wait());
    home.run_until_idle();
    waits.request_stop();
    EXPECT_EQ(finish(waits).error(), std::errc::operation_canceled);
    EXPECT_TRUE(one.kill(0));
    one.in().close();
    EXPECT_EQ(ended(one).code(), 1);
}

TEST_F(process_test, what_is_known_is_told_though_the_task_was_stopped) {
    process one = started({"true"});
    ended(one);
    const auto waits = [&]() -> task<bool> {
        const auto status = co_await one.wait(immediately);
        co_return status.has_value() && status->succeeded();
    };
    auto handle = spawn(home, waits());
    handle.request_stop();
    EXPECT_TRUE(finish(handle));
}

// --- what it has ---------------------------------------------------------------------------------

TEST_F(process_test, has_its_arguments_as_they_are) {
    EXPECT_EQ(said({"printf", "[%s]", "a b", "$HOME", "*", "", "'\""}).out,
              "[a b][$HOME][*][]['\"]");
}

TEST_F(process_test, has_variables_beside_those_of_this_process) {
    ASSERT_EQ(::setenv("FAIRLEAD_KEPT", "kept", 1), 0);
    ASSERT_EQ(::setenv("FAIRLEAD_CHANGED", "old", 1), 0);
    process_options options;
    options.environment = {"FAIRLEAD_CHANGED=new", "FAIRLEAD_NEW=a=b"};
    const command prints = shell(
        "echo $FAIRLEAD_KEPT,$FAIRLEAD_CHANGED,$FAIRLEAD_NEW; env | grep -c FAIRLEAD_CHANGED");
    EXPECT_EQ(said(prints, options).out, "kept,new,a=b\n1\n");
    options.clear_environment = true;
    EXPECT_EQ(said({"/usr/bin/env"}, options).out, "FAIRLEAD_CHANGED=new\nFAIRLEAD_NEW=a=b\n");
    options.environment.clear();
    EXPECT_EQ(said({"/usr/bin/env"}, options).out, "");
    EXPECT_EQ(said(shell("echo $FAIRLEAD_CHANGED")).out, "old\n");
    ::unsetenv("FAIRLEAD_KEPT");
    ::unsetenv("FAIRLEAD_CHANGED");
}

TEST_F(process_test, has_the_directory_that_was_asked_for) {
    const test::folder files;
    process_options options;
    options.directory = files.path().string();
    EXPECT_EQ(said({"/bin/pwd", "-P"}, options).out,
              std::filesystem::canonical(files.path()).string() + "\n");
    files.put("script", "#!/bin/sh\necho here\n");
    std::filesystem::permissions(files.path_of("script"), std::filesystem::perms::owner_all);
    EXPECT_EQ(said({"./script"}, options).out, "here\n");
}

TEST_F(process_test, has_streams_that_are_files_and_null) {
    const test::folder files;
    files.put("in", "from a file");
    const os::unique_fd in{::open(files.path_of("in").c_str(), O_RDONLY | O_CLOEXEC)};
    const os::unique_fd out{
        ::open(files.path_of("out").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600)};
    process_options options;
    options.in = child_stream::descriptor(in.get());
    options.out = child_stream::descriptor(out.get());
    options.err = child_stream::same_as_output();
    process one = started(shell("cat; echo error >&2"), options);
    EXPECT_TRUE(ended(one).succeeded());
    EXPECT_EQ(files.text_of("out"), "from a fileerror\n");
    EXPECT_FALSE(one.out().is_open());

    process_options nothing;
    nothing.out = nothing.err = child_stream::null();
    process two = started(shell("echo lost; echo lost >&2; read line || exit 7"), nothing);
    EXPECT_EQ(ended(two).code(), 7);
}

// A stream of this process as another stream of the child: the order in which they are set must not
// matter.
TEST_F(process_test, streams_may_change_places) {
    std::array<int, 2> to_out{};
    std::array<int, 2> to_err{};
    ASSERT_EQ(::pipe2(to_out.data(), O_CLOEXEC), 0);
    ASSERT_EQ(::pipe2(to_err.data(), O_CLOEXEC), 0);
    const os::unique_fd old_out{::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3)};
    const os::unique_fd old_err{::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3)};
    ::dup2(to_out[1], STDOUT_FILENO);
    ::dup2(to_err[1], STDERR_FILENO);
    process_options options;
    options.out = child_stream::descriptor(STDERR_FILENO);
    options.err = child_stream::descriptor(STDOUT_FILENO);
    auto made = run(process::spawn(shell("echo out; echo err >&2"), options));
    ::dup2(old_out.get(), STDOUT_FILENO);
    ::dup2(old_err.get(), STDERR_FILENO);
    ASSERT_TRUE(made);
    EXPECT_TRUE(ended(*made).succeeded());
    ::close(to_out[1]);
    ::close(to_err[1]);
    std::array<char, 100> text{};
    EXPECT_EQ(::read(to_out[0], text.data(), text.size()), 4);
    EXPECT_EQ((std::string_view{text.data(), 4}), "err\n");
    EXPECT_EQ(::read(to_err[0], text.data(), text.size()), 4);
    EXPECT_EQ((std::string_view{text.data(), 4}), "out\n");
    ::close(to_out[0]);
    ::close(to_err[0]);
}

// The pipes get the numbers 0 to 2 here.
TEST_F(process_test, this_process_may_have_its_streams_closed) {
    const os::unique_fd old_in{::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)};
    const os::unique_fd old_out{::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3)};
    const os::unique_fd old_err{::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3)};
    for (const int each : {0, 1, 2}) ::close(each);
    output_options options;
    options.input = "in";
    const auto all = run(output_of(shell("cat; echo out; echo err >&2"), options));
    // The end that is to be its stream 2 would get the number 1, where /dev/null is opened before.
    process_options one_pipe;
    one_pipe.out = child_stream::null();
    one_pipe.err = child_stream::pipe();
    const auto size_of_error = [&]() -> task<std::size_t> {
        process other = must(co_await process::spawn(shell("echo err >&2"), one_pipe));
        std::array<std::byte, 10> text{};
        const std::size_t size = must(co_await other.err().read_some(text));
        // Its descriptors have the numbers that are set anew below.
        EXPECT_TRUE(must(co_await other.wait()).succeeded());
        co_return size;
    };
    const std::size_t size = run(size_of_error());
    const std::array<const os::unique_fd*, 3> old{&old_in, &old_out, &old_err};
    for (const int each : {0, 1, 2}) {
        if (old[static_cast<std::size_t>(each)]->valid()) {
            ::dup2(old[static_cast<std::size_t>(each)]->get(), each);
        }
    }
    ASSERT_TRUE(all) << all.error().message();
    EXPECT_EQ(all->out, "inout\n");
    EXPECT_EQ(all->err, "err\n");
    EXPECT_EQ(size, 4U);
}

// Not even what another library has opened without close-on-exec.
TEST_F(process_test, has_no_other_descriptor) {
    const os::unique_fd leaks{::open("/dev/null", O_RDONLY)};
    EXPECT_EQ(said({"ls", "/proc/self/fd"}).out, "0\n1\n2\n3\n");  // the last one is of ls
}

TEST_F(process_test, has_no_handler_and_no_signal_blocked_or_ignored) {
    signal_set handles = must(signal_set::make(epoll_driver::of(home), {SIGUSR1}));
    struct sigaction ignores {};
    struct sigaction before {};
    ignores.sa_handler = SIG_IGN;
    ASSERT_EQ(::sigaction(SIGPIPE, &ignores, &before), 0);
    sigset_t blocked{};
    sigset_t mask{};
    ::sigemptyset(&blocked);
    ::sigaddset(&blocked, SIGTERM);
    ASSERT_EQ(::pthread_sigmask(SIG_BLOCK, &blocked, &mask), 0);
    const std::string out = said({"cat", "/proc/self/status"}).out;
    ::pthread_sigmask(SIG_SETMASK, &mask, nullptr);
    ::sigaction(SIGPIPE, &before, nullptr);
    constexpr std::uint64_t of_the_c_library = std::uint64_t{3} << 31;  // 32 and 33
    for (const std::string_view each : {"SigBlk:\t", "SigIgn:\t", "SigCgt:\t"}) {
        const std::size_t begin = out.find(each) + each.size();
        const std::uint64_t set = std::stoull(out.substr(begin, 16), nullptr, 16);
        EXPECT_EQ(set & ~of_the_c_library, 0U) << each << out.substr(begin, 16);
    }
}

// The handler of a set of signals must not take what is sent to the child before its program runs.
TEST_F(process_test, a_signal_at_once_reaches_the_child_and_not_the_parent) {
    signal_set handles = must(signal_set::make(epoll_driver::of(home), {SIGTERM}));
    for (int round = 0; round != 50; ++round) {
        process one = started({"sleep", "1000"});
        EXPECT_TRUE(one.kill(SIGTERM));
        EXPECT_EQ(ended(one).signal(), SIGTERM);
    }
    EXPECT_EQ(run(handles.next(immediately)).error(), std::errc::timed_out);
}

// --- errors --------------------------------------------------------------------------------------

TEST_F(process_test, a_program_that_cannot_run_is_an_error) {
    const test::folder files;
    files.put("text", "no program");
    EXPECT_EQ(refused({"/no/such/program"}), std::errc::no_such_file_or_directory);
    EXPECT_EQ(refused({"fairlead-no-such-program"}), std::errc::no_such_file_or_directory);
    EXPECT_EQ(refused({""}), std::errc::no_such_file_or_directory);
    EXPECT_EQ(refused({files.path_of("text")}), std::errc::permission_denied);
    EXPECT_EQ(refused({files.path().string()}), std::errc::permission_denied);
    std::filesystem::permissions(files.path_of("text"), std::filesystem::perms::owner_all);
    EXPECT_EQ(refused({files.path_of("text")}), std::errc::executable_format_error);
    process_options elsewhere;
    elsewhere.directory = files.path_of("none");
    EXPECT_EQ(refused({"true"}, elsewhere), std::errc::no_such_file_or_directory);
    elsewhere.directory = files.path_of("text");
    EXPECT_EQ(refused({"true"}, elsewhere), std::errc::not_a_directory);
    process_options closed;
    closed.out = child_stream::descriptor(1'000'000);
    EXPECT_EQ(refused({"true"}, closed), std::errc::bad_file_descriptor);
    EXPECT_EQ(refused({"echo", std::string(4'000'000, 'x')}), std::errc::argument_list_too_long);
}

TEST_F(process_test, what_makes_no_sense_is_refused) {
    using namespace std::string_literals;
    EXPECT_EQ(refused({}), std::errc::invalid_argument);
    EXPECT_EQ(refused({"echo", "a\0b"s}), std::errc::invalid_argument);
    for (const std::string& each : {"NAME"s, "=value"s, ""s, "A=b\0c"s}) {
        process_options options;
        options.environment = {each};
        EXPECT_EQ(refused({"true"}, options), std::errc::invalid_argument) << each;
    }
    process_options options;
    options.directory = "/\0tmp"s;
    EXPECT_EQ(refused({"true"}, options), std::errc::invalid_argument);
    options = {};
    options.out = child_stream::same_as_output();
    EXPECT_EQ(refused({"true"}, options), std::errc::invalid_argument);
}

TEST_F(process_test, without_descriptors_there_is_an_error_and_no_child) {
    rlimit limit{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
    const std::size_t before = open_descriptors();
    process_options options;
    options.in = options.out = options.err = child_stream::pipe();
    std::error_code seen;
    rlim_t room = 0;
    do {
        rlimit low = limit;
        // The lowest free number is taken first.
        const os::unique_fd lowest{::open("/dev/null", O_RDONLY | O_CLOEXEC)};
        low.rlim_cur = static_cast<rlim_t>(lowest.get()) + room++;
        ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
        const auto made = run(process::spawn({"true"}, options));
        ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
        seen = made ? std::error_code{} : made.error();
        EXPECT_TRUE(!seen || seen == std::errc::too_many_files_open) << seen.message();
    } while (seen);
    EXPECT_GT(room, 3U);
    errno = 0;
    while (::waitid(P_ALL, 0, nullptr, WEXITED | WNOWAIT) == 0) ::sched_yield();
    EXPECT_EQ(errno, ECHILD);
    // A thread that waits has its descriptor for a moment still: the last one here, or one of an
    // earlier test when `before` was counted.
    while (open_descriptors() > before) ::sched_yield();
}

TEST_F(process_test, a_task_that_was_stopped_starts_nothing) {
    const test::folder files;
    auto handle = spawn(home, process::spawn({"touch", files.path_of("made")}));
    handle.request_stop();
    EXPECT_EQ(finish(handle).error(), std::errc::operation_canceled);
    EXPECT_EQ(files.files(), 0U + test::folder{}.files());
}

// --- signals -------------------------------------------------------------------------------------

TEST_F(process_test, after_its_end_was_told_no_signal_is_sent) {
    process one = started({"sleep", "1000"});
    EXPECT_TRUE(one.kill(SIGKILL));
    EXPECT_EQ(ended(one).signal(), SIGKILL);
    EXPECT_EQ(one.kill(SIGKILL).error(), std::errc::no_such_process);
    process two = started({"sleep", "1000"});
    EXPECT_EQ(two.kill(1000).error(), std::errc::invalid_argument);
}

TEST_F(process_test, is_asked_to_end_and_then_made_to) {
    process polite = ready("trap 'exit 5' TERM; echo ready; while :; do read line || :; done");
    EXPECT_EQ(run(polite.terminate(100s))->code(), 5);
    process stubborn = ready("trap '' TERM; echo ready; while :; do read line || :; done");
    EXPECT_EQ(run(stubborn.terminate(1ms))->signal(), SIGKILL);
    EXPECT_EQ(run(stubborn.terminate(1ms))->signal(), SIGKILL);  // it has ended
}

TEST_F(process_test, a_termination_ends_by_a_deadline_or_a_stop) {
    process stubborn = ready("trap '' TERM; echo ready; while :; do read line || :; done");
    EXPECT_EQ(run(stubborn.terminate(100s, clock::now() + 1ms)).error(), std::errc::timed_out);
    auto waits = spawn(home, stubborn.terminate(100s));
    home.run_until_idle();
    waits.request_stop();
    EXPECT_EQ(finish(waits).error(), std::errc::operation_canceled);
    const auto shielded_one = [&]() -> task<bool> {
        auto status = co_await shielded(stubborn.terminate(1ms));
        co_return status && status->signal() == SIGKILL;
    };
    auto shields = spawn(home, shielded_one());
    home.run_until_idle();
    shields.request_stop();
    EXPECT_TRUE(finish(shields));
}

// The child has started another one, which has the output of both.
TEST_F(process_test, signals_go_to_the_group_that_it_leads) {
    process leader = ready("sleep 1000 & echo ready; wait", child_group::own);
    EXPECT_EQ(::getpgid(leader.id()), leader.id());
    EXPECT_TRUE(leader.kill(SIGKILL));
    EXPECT_EQ(text_of(leader), "");  // both have ended
    EXPECT_EQ(ended(leader).signal(), SIGKILL);
    EXPECT_EQ(leader.kill(SIGKILL).error(), std::errc::no_such_process);
}

// --- the end of the object -----------------------------------------------------------------------

TEST_F(process_test, a_child_that_was_not_awaited_is_killed_and_taken) {
    pid_t running = 0;
    pid_t over = 0;
    {
        process one = started({"sleep", "1000"});
        running = one.id();
        process two = ready("echo ready");
        over = two.id();
        EXPECT_EQ(text_of(two), "");
    }
    expect_no_zombie(running);
    expect_no_zombie(over);
}

TEST_F(process_test, an_assignment_ends_what_was_there) {
    process one = started({"sleep", "1000"});
    const pid_t first = one.id();
    one = started({"true"});
    expect_no_zombie(first);
    EXPECT_TRUE(ended(one).succeeded());
    process moved = std::move(one);
    EXPECT_FALSE(one.has_child());
    EXPECT_TRUE(moved.has_child());
    EXPECT_TRUE(ended(moved).succeeded());
}

TEST_F(process_test, a_child_may_be_left_and_is_taken_at_its_end) {
    process_options options;
    options.in = options.out = child_stream::pipe();
    process one = started({"cat"}, options);
    const pid_t id = one.id();
    EXPECT_TRUE(one.leave());
    EXPECT_FALSE(one.has_child());
    EXPECT_EQ(::kill(id, 0), 0);
    EXPECT_TRUE(run([](pipe_stream& to) -> task<std::expected<void, std::error_code>> {
        co_return co_await to.write_all(bytes_of("still here"));
    }(one.in())));
    EXPECT_EQ(text_of(one), "still here");
    one.in().close();
    expect_no_zombie(id);
}

// --- other children ------------------------------------------------------------------------------

std::atomic<int> children_told{0};
void count_child(int) { ++children_told; }

TEST_F(process_test, a_handler_and_children_of_the_program_are_left_alone) {
    struct sigaction counts {};
    struct sigaction before {};
    counts.sa_handler = count_child;
    counts.sa_flags = SA_RESTART;
    ASSERT_EQ(::sigaction(SIGCHLD, &counts, &before), 0);
    children_told = 0;
    const pid_t own = ::fork();
    ASSERT_GE(own, 0);
    if (own == 0) ::_exit(9);
    siginfo_t told{};
    ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(own), &told, WEXITED | WNOWAIT), 0);
    process one = started(shell("exit 3"));
    EXPECT_EQ(ended(one).code(), 3);
    { const process two = started({"sleep", "1000"}); }
    int status = 0;
    EXPECT_EQ(::waitpid(own, &status, 0), own);
    EXPECT_EQ(WEXITSTATUS(status), 9);
    EXPECT_GE(children_told, 1);
    struct sigaction now {};
    ASSERT_EQ(::sigaction(SIGCHLD, &before, &now), 0);
    EXPECT_EQ(now.sa_handler, count_child);
}

TEST_F(process_test, a_status_that_the_program_takes_itself_is_an_error) {
    process one = ready("echo ready; read line");
    one.in().close();
    int status = 0;
    EXPECT_EQ(::waitpid(one.id(), &status, 0), one.id());
    EXPECT_EQ(one.kill(SIGKILL).error(), std::errc::no_such_process);
    EXPECT_EQ(run(one.wait()).error(), std::errc::no_child_process);
    EXPECT_EQ(run(one.wait()).error(), std::errc::no_child_process);
}

TEST_F(process_test, signals_of_children_that_are_ignored_take_the_status) {
    struct sigaction ignores {};
    struct sigaction before {};
    ignores.sa_handler = SIG_IGN;
    ASSERT_EQ(::sigaction(SIGCHLD, &ignores, &before), 0);
    for (int round = 0; round != 20; ++round) {
        process one = started({"true"});
        EXPECT_EQ(run(one.wait()).error(), std::errc::no_child_process);
    }
    ::sigaction(SIGCHLD, &before, nullptr);
}

TEST_F(process_test, thousands_of_children_leave_nothing) {
    const std::size_t before = open_descriptors();
    const auto many = [&]() -> task<> {
        const command one{"/bin/true"};
        process_options options;
        options.in = options.out = options.err = child_stream::pipe();
        for (int i = 0; i != 2000; ++i) {
            auto child = must(co_await process::spawn(one, options));
            if (i % 4 == 0) continue;  // its end is not awaited
            EXPECT_TRUE(must(co_await child.wait()).succeeded());
        }
    };
    run(many());
    while (::waitid(P_ALL, 0, nullptr, WEXITED | WNOWAIT) == 0) ::sched_yield();
    // A thread that waits has its descriptor for a moment still: the last one here, or one of an
    // earlier test when `before` was counted.
    while (open_descriptors() > before) ::sched_yield();
}

// Threads start children and pipes of their own: a pipe that a foreign child had would not end.
TEST(process_threads_test, children_at_the_same_time_have_their_own_pipes) {
    const test::watchdog guard;
    scheduler home{test::with_epoll(2)};
    std::vector<join_handle<bool>> all;
    const auto talks = [](int number) -> task<bool> {
        for (int i = 0; i != 20; ++i) {
            const std::string text = std::to_string(number) + "," + std::to_string(i);
            output_options options;
            options.input = text;
            const command copies{"cat"};
            const auto said = co_await output_of(copies, options);
            if (!said || said->out != text || !said->status.succeeded()) co_return false;
        }
        co_return true;
    };
    for (int i = 0; i != 8; ++i) all.push_back(spawn(home, talks(i)));
    for (auto& each : all) EXPECT_TRUE(each.get());
}

// The scheduler ends when the child runs, before the task hears of it.
TEST(process_start, that_no_task_hears_of_leaves_no_child) {
    const test::watchdog guard;
    siginfo_t told{};
    const auto has_children = [&told] {
        return ::waitid(P_ALL, 0, &told, WEXITED | WNOWAIT | WNOHANG) == 0;
    };
    ASSERT_FALSE(has_children());
    std::optional<join_handle<std::expected<process, std::error_code>>> starting;
    {
        scheduler home{test::with_epoll_on_caller()};
        starting.emplace(spawn(home, process::spawn({"sleep", "1000"})));
        home.run_until(never, 1);
        while (!has_children()) ::sched_yield();
    }
    starting.reset();
    while (has_children()) ::sched_yield();
}

}  // namespace
}  // namespace fairlead::io::process_tests
