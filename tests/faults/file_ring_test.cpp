// An io_uring that is refused, or whose operations fail: a thread does what it does not.
#include "faults/sweep.hpp"
#include "support/folder.hpp"
#include "support/must.hpp"
#include "support/tasks.hpp"

#include <fairlead/coro/spawn.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/io/epoll_driver.hpp>
#include <fairlead/io/file.hpp>
#include <fairlead/sched/scheduler.hpp>

#include <gtest/gtest.h>

#include <sys/utsname.h>

#include <cerrno>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace fairlead::test::file_ring_tests {
namespace {

const std::string text(10'000, 'x');
constexpr io::open_options to_write{.use = io::file_use::read_write, .create = true};

// What no step does at once: a read is said to wait.
constexpr planned_fault reads_wait{{"preadv2", EAGAIN}, {1, INT64_MAX}};
constexpr planned_fault writes_wait{{"pwritev2", EAGAIN}, {1, INT64_MAX}};

task<> reads_a_file(const folder& files) {
    io::file one = must(co_await io::file::open(files.path_of("one")));
    std::string read(text.size() + 1, '?');
    const auto count = must(co_await one.read_at(std::as_writable_bytes(std::span{read}), 0));
    read.resize(count);
    EXPECT_EQ(read, text);
}

task<> writes_a_file(const folder& files) {
    io::file one = must(co_await io::file::open(files.path_of("two"), to_write));
    must(co_await one.truncate(0));
    must(co_await one.write_at(std::as_bytes(std::span{text}), 0));
    EXPECT_EQ(files.text_of("two"), text);
}

// On one worker, and what the ring was then.
template <class... Args>
io::file_ring_stats run_with_ring(task<> (*body)(Args...), Args... arguments) {
    scheduler home{{.workers = 1, .driver = std::make_unique<io::epoll_driver>()}};
    spawn(home, body(arguments...)).get();
    return io::epoll_driver::of(home).file_ring();
}

bool has_ring() {
    static const bool has = [] {
        const folder files;
        files.put("one", text);
        const armed faults{reads_wait.what, reads_wait.when};
        return run_with_ring<const folder&>(reads_a_file, files).is_open;
    }();
    return has;
}

// Both ways, while each n-th `what` fails: nothing of it is seen.
void sweep_ring(const fault& what, const planned_fault& waits, task<> (*body)(const folder&)) {
    const folder files;
    files.put("one", text);
    const int descriptors = open_descriptors();
    for (std::int64_t n = 1; n <= calls_max; ++n) {
        SCOPED_TRACE(testing::Message{} << what.call << ", error " << what.error << ", call " << n);
        std::size_t hits = 0;
        for (const call_range when : {call_range::only(n), call_range::from(n)}) {
            const armed faults{waits, {what, when}};
            run_with_ring<const folder&>(body, files);
            hits = faults.hits();
            EXPECT_GE(hits, 1U);
        }
        EXPECT_EQ(open_descriptors(), descriptors);
        if (testing::Test::HasFailure()) return;
        if (hits == 1) {
            EXPECT_GT(n, 1) << "there is no such call";
            return testing::Test::RecordProperty(std::string{"swept "} + what.call,
                                                 std::to_string(n - 1));
        }
    }
    FAIL() << what.call << ": there is no end of its calls";
}

void sweep_ring(const fault& what) {
    sweep_ring(what, reads_wait, reads_a_file);
    sweep_ring(what, writes_wait, writes_a_file);
}

TEST(file_ring, what_would_wait_is_read_and_written_by_it) {
    if (!has_ring()) GTEST_SKIP() << "this kernel gives no ring";
    const folder files;
    files.put("one", text);
    {
        // The calls of a thread; the first fault is met, the second is not.
        const armed faults{reads_wait, {{"pread", EIO}, call_range::from(1)}};
        const auto stats = run_with_ring<const folder&>(reads_a_file, files);
        EXPECT_EQ(faults.hits(), 1U);
        EXPECT_EQ(stats.operations, 2U);  // all, and the end
        EXPECT_FALSE(stats.refused);
    }
    const armed faults{writes_wait, {{"pwrite", EIO}, call_range::from(1)}};
    EXPECT_EQ(run_with_ring<const folder&>(writes_a_file, files).operations, 1U);
    EXPECT_EQ(faults.hits(), 1U);
}

// No ring, or not the whole of it: then there are threads, and the statistics say why.
TEST(file_ring, a_ring_that_is_refused_is_replaced_by_threads) {
    if (!has_ring()) GTEST_SKIP() << "this kernel gives no ring";
    const folder files;
    files.put("one", text);
    for (const char* const call : {"io_uring_setup", "io_uring_register", "io_uring_enter"}) {
        for (const int error : {ENOSYS, EPERM, ENOMEM, EMFILE, EINVAL}) {
            const armed faults{reads_wait, {{call, error}, call_range::from(1)}};
            const auto stats = run_with_ring<const folder&>(reads_a_file, files);
            EXPECT_EQ(faults.hits(), 2U);
            EXPECT_FALSE(stats.is_open);
            EXPECT_EQ(stats.refused, (std::error_code{error, std::system_category()}));
            EXPECT_EQ(stats.operations, 0U);
        }
    }
    for (const char* const call :
         {"io_uring_setup", "io_uring_register", "io_uring_enter", "mmap64", "epoll_ctl"}) {
        sweep_ring({call, ENOMEM});
    }
}

// It lets the ring be made, and refuses an operation.
TEST(file_ring, an_operation_that_the_kernel_does_not_take_goes_to_a_thread) {
    if (!has_ring()) GTEST_SKIP() << "this kernel gives no ring";
    const folder files;
    files.put("one", text);
    for (const int error : {EAGAIN, EBUSY, ENOMEM, EPERM}) {
        const armed faults{reads_wait, {{"io_uring_enter", error}, call_range::from(2)}};
        const auto stats = run_with_ring<const folder&>(reads_a_file, files);
        EXPECT_EQ(faults.hits(), 2U);
        EXPECT_TRUE(stats.is_open);
        EXPECT_EQ(stats.operations, 0U);
        EXPECT_EQ(stats.refused_operations, 1U);
    }
    const armed once{reads_wait, {{"io_uring_enter", EINTR}, call_range::only(2)}};
    const auto stats = run_with_ring<const folder&>(reads_a_file, files);
    EXPECT_EQ(once.hits(), 2U);
    EXPECT_EQ(stats.refused_operations, 0U);
}

// Also what it was not asked for: to cancel, and that the memory is none.
TEST(file_ring, an_operation_that_fails_is_done_by_a_thread) {
    if (!has_ring()) GTEST_SKIP() << "this kernel gives no ring";
    for (const int error : {EIO, EAGAIN, EINTR, ECANCELED, EFAULT, EINVAL, EOPNOTSUPP, ENOSPC}) {
        sweep_ring({"ring read", error}, reads_wait, reads_a_file);
        sweep_ring({"ring write", error}, writes_wait, writes_a_file);
    }
    sweep_ring({"ring write", 0}, writes_wait, writes_a_file);  // nothing was written
}

TEST(file_ring, an_operation_that_moves_less_than_asked_for_goes_on) {
    if (!has_ring()) GTEST_SKIP() << "this kernel gives no ring";
    const folder files;
    files.put("one", text);
    {
        const armed faults{reads_wait, {{"ring read", 0, fault::how::cut}, call_range::only(1)}};
        EXPECT_EQ(run_with_ring<const folder&>(reads_a_file, files).operations, 3U);
        EXPECT_EQ(faults.hits(), 2U);
    }
    const armed faults{writes_wait, {{"ring write", 0, fault::how::cut}, call_range::only(1)}};
    EXPECT_EQ(run_with_ring<const folder&>(writes_a_file, files).operations, 2U);
    EXPECT_EQ(faults.hits(), 2U);
}

// The error is that of the thread.
TEST(file_ring, a_failure_of_both_ways_is_reported) {
    if (!has_ring()) GTEST_SKIP() << "this kernel gives no ring";
    const folder files;
    files.put("one", text);
    const armed faults{{{"ring read", EAGAIN}, call_range::from(1)},
                       {{"pread", EIO}, call_range::from(1)}};
    const armed* const both = &faults;
    const auto fails = [](const folder& in, const armed* met) -> task<> {
        const io::open_options past_the_cache{.direct = true};
        io::file one = must(co_await io::file::open(in.path_of("one"), past_the_cache));
        alignas(4096) static std::byte room[4096];
        EXPECT_EQ((co_await one.read_at(room, 0)).error(), std::errc::io_error);
        EXPECT_EQ(met->hits(), 2U);
    };
    run_with_ring<const folder&, const armed*>(+fails, files, both);
}

// Linux 5.9 and 5.10 may say that a file ends where a read that must not wait would have to. A
// kernel that does not say which one it is may be one of them.
TEST(files, an_end_that_may_be_none_is_asked_for_again) {
    const folder files;
    files.put("one", text);
    for (const bool is_told : {false, true}) {
        const armed faults{{{"uname", EFAULT}, call_range::from(1)},
                           {{"preadv2", 0, fault::how::nothing}, call_range::from(1)}};
        if (is_told) {
            run_with_ring<const folder&>(reads_a_file, files);
        } else {
            simulation{}.run(reads_a_file(files));
        }
        EXPECT_EQ(faults.hits(), 2U);
    }
    testing::Test::RecordProperty("swept uname", "1");
}

// Any other kernel is believed: no second call for each end.
TEST(files, an_end_is_believed) {
    utsname system{};
    ASSERT_EQ(::uname(&system), 0);
    const std::string_view release{system.release};
    if (release.starts_with("5.9.") || release.starts_with("5.10.")) GTEST_SKIP() << release;
    const folder files;
    files.put("one", text);
    const armed faults{{"pread", EIO}, call_range::from(1)};
    simulation{}.run(reads_a_file(files));
    EXPECT_FALSE(faults.hit());
}

}  // namespace
}  // namespace fairlead::test::file_ring_tests
