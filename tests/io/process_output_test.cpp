// What a child writes, collected.
#include "io/process_fixture.hpp"

#include <gtest/gtest.h>

#include <sched.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstddef>
#include <string>
#include <system_error>

namespace fairlead::io::process_output_tests {
namespace {

class process_output_test : public process_test {};

TEST_F(process_output_test, both_outputs_and_the_status_are_collected) {
    const process_output all = said(shell("echo out; echo err >&2; exit 4"));
    EXPECT_EQ(all.out, "out\n");
    EXPECT_EQ(all.err, "err\n");
    EXPECT_EQ(all.status.code(), 4);
    EXPECT_EQ(run(output_of(command{"pwd"}))->status.code(), 0);
    process_options together;
    together.err = child_stream::same_as_output();
    EXPECT_EQ(said(shell("echo out; echo err >&2"), together).out, "out\nerr\n");
}

// Each of the three pipes is full at some time.
TEST_F(process_output_test, megabytes_on_all_streams_do_not_block) {
    output_options options;
    options.limit = 8'000'000;
    options.input = std::string(3'000'000, 'i');
    const auto all = run(
        output_of(shell("head -c 4000000 /dev/zero >&2; cat; head -c 4000000 /dev/zero"), options));
    ASSERT_TRUE(all) << all.error().message();
    EXPECT_EQ(all->err, std::string(4'000'000, '\0'));
    EXPECT_EQ(all->out, options.input + std::string(4'000'000, '\0'));
}

TEST_F(process_output_test, more_than_the_limit_is_an_error_and_ends_the_child) {
    output_options options;
    options.limit = 10;
    EXPECT_EQ(run(output_of(shell("printf 0123456789"), options))->out, "0123456789");
    EXPECT_EQ(run(output_of(shell("printf 0123456789x"), options)).error(),
              std::errc::file_too_large);
    EXPECT_EQ(run(output_of(shell("cat /dev/zero >&2"), options)).error(),
              std::errc::file_too_large);
    options.limit = 20'000;  // more than one read takes
    EXPECT_EQ(run(output_of(shell("head -c 30000 /dev/zero"), options)).error(),
              std::errc::file_too_large);
    options.input = std::string(1'000'000, 'i');  // not read
    EXPECT_EQ(run(output_of(shell("yes"), options)).error(), std::errc::file_too_large);
}

TEST_F(process_output_test, a_child_need_not_read_its_input) {
    output_options options;
    options.input = std::string(1'000'000, 'i');
    const auto all = run(output_of(shell("exec <&-; echo done"), options));
    ASSERT_TRUE(all) << all.error().message();
    EXPECT_EQ(all->out, "done\n");
}

TEST_F(process_output_test, a_child_that_closes_its_outputs_is_waited_for) {
    const auto all = run(output_of(shell("exec >&- 2>&-; exit 6")));
    ASSERT_TRUE(all);
    EXPECT_EQ(all->status.code(), 6);
    EXPECT_EQ(run(output_of(shell("exec >&- 2>&-; sleep 1000"), clock::now() + 20ms)).error(),
              std::errc::timed_out);
}

TEST_F(process_output_test, ends_by_a_deadline_or_a_stop_and_kills_the_child) {
    const std::size_t before = open_descriptors();
    EXPECT_EQ(run(output_of(command{"sleep", "1000"}, clock::now() + 20ms)).error(),
              std::errc::timed_out);
    auto waits = spawn(home, output_of(command{"sleep", "1000"}));
    while (open_descriptors() == before) home.run_until(never, 1);
    home.run_until_idle();
    waits.request_stop();
    EXPECT_EQ(finish(waits).error(), std::errc::operation_canceled);
    while (::waitid(P_ALL, 0, nullptr, WEXITED | WNOWAIT) == 0) ::sched_yield();
    EXPECT_EQ(errno, ECHILD);
}

}  // namespace
}  // namespace fairlead::io::process_output_tests
