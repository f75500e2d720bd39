// Reads and writes by io_uring. A read of an empty pipe stays with the kernel until the test writes
// into the pipe, so a test says when an operation ends.
#include "io/file_ring.hpp"
#include "support/folder.hpp"
#include "support/must.hpp"
#include "support/seeds.hpp"
#include "support/watchdog.hpp"

#include <fairlead/context/with_deadline.hpp>
#include <fairlead/coro/adapted_wait.hpp>
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/io/epoll_driver.hpp>
#include <fairlead/io/file.hpp>
#include <fairlead/sched/scheduler.hpp>

#include <gtest/gtest.h>

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace fairlead::io::file_ring_tests {
namespace {

using namespace std::chrono_literals;
using detail::ring_transfer;
using test::below;
using test::must;

constexpr open_options to_write{.use = file_use::read_write, .create = true};

std::span<const std::byte> bytes(std::string_view text) { return std::as_bytes(std::span{text}); }

scheduler_options with_ring(unsigned workers, epoll_driver_options options = {}) {
    scheduler_options made{.workers = workers};
    made.driver = std::make_unique<epoll_driver>(options);
    return made;
}

file_ring_stats stats_of(const scheduler& home) { return epoll_driver::of(home).file_ring(); }

std::size_t open_descriptors() {
    const std::filesystem::directory_iterator all{"/proc/self/fd"};
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

class pipe {
public:
    pipe() {
        std::array<int, 2> ends{};
        if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error{"no pipe"};
        from_ = os::unique_fd{ends[0]};
        to_ = os::unique_fd{ends[1]};
    }
    [[nodiscard]] int fd() const { return from_.get(); }
    void put(char one) const { ASSERT_EQ(::write(to_.get(), &one, 1), 1); }
    // How many bytes are in it.
    [[nodiscard]] std::size_t drain() const {
        ::fcntl(fd(), F_SETFL, O_NONBLOCK);
        std::array<char, 4096> room;
        const ssize_t count = ::read(fd(), room.data(), room.size());
        return count < 0 ? 0 : static_cast<std::size_t>(count);
    }

private:
    os::unique_fd from_;
    os::unique_fd to_;
};

// Reads a byte, and gives what the ring says.
task<std::int32_t> reads(const pipe& from, std::byte& into) {
    ring_transfer transfer{from.fd(), std::span{&into, 1}, 0};
    co_return co_await transfer;
}

task<std::int32_t> reads_shielded(const pipe& from, std::byte& into) {
    co_return co_await shielded(reads(from, into));
}

// Until the ring was given so many operations.
void await_operations(const scheduler& home, std::uint64_t count) {
    while (stats_of(home).operations < count) std::this_thread::yield();
}

class file_ring_test : public testing::Test {
protected:
    void SetUp() override {
        const std::error_code refused = why_not();
        if (refused) GTEST_SKIP() << "this kernel gives no ring: " << refused.message();
    }

    // Nothing: a ring can be made.
    static std::error_code why_not() {
        scheduler home{with_ring(1)};
        const pipe one;
        one.put('x');
        std::byte into{};
        static_cast<void>(spawn(home, reads(one, into)).get());
        return stats_of(home).refused;
    }

    test::watchdog guard;
};

TEST(file_ring_options, are_checked) {
    for (const unsigned wrong : {0U, 4097U}) {
        EXPECT_THROW(epoll_driver{{.file_operations_max = wrong}}, std::invalid_argument);
    }
}

TEST(file_ring_options, turn_it_off) {
    const test::folder files;
    const std::size_t before = open_descriptors();
    scheduler home{with_ring(1, {.file_ring = false})};
    const pipe one;
    std::byte into{};
    EXPECT_LT(spawn(home, reads(one, into)).get(), 0);
    file written = must(spawn(home, file::open(files.path_of("one"), to_write)).get());
    must(spawn(home, written.write_at(bytes("text"), 0)).get());
    EXPECT_FALSE(stats_of(home).is_open);
    EXPECT_FALSE(stats_of(home).refused);
    EXPECT_EQ(stats_of(home).operations, 0U);
    EXPECT_EQ(open_descriptors(), before + 3 + 2 + 1);  // the driver, the pipe, the file
}

// A filter of system calls, as containers have one: `call` fails with `error`, for good.
bool refuse(std::uint32_t call, int error) {
    std::array filter{
        sock_filter(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))),
        sock_filter(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1)),
        sock_filter(
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(error))),
        sock_filter(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)),
    };
    const sock_fprog program{.len = filter.size(), .filter = filter.data()};
    return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

// Writes a file and reads it, in a process of its own. 0: all is right, and the ring was refused.
int exit_code_of_refused(std::uint32_t call, int error) {
    if (!refuse(call, error)) return 2;
    const test::folder files;
    scheduler home{with_ring(2)};
    file one = must(spawn(home, file::open(files.path_of("one"), to_write)).get());
    const std::string text(100'000, 'x');
    must(spawn(home, one.write_at(bytes(text), 0)).get());
    must(spawn(home, one.sync()).get());
    must(spawn(home, one.advise(file_advice::will_not_need)).get());
    std::string read(text.size() + 1, '?');
    const auto room = std::as_writable_bytes(std::span{read});
    read.resize(must(spawn(home, one.read_at(room, 0)).get()));
    const pipe other;
    other.put('x');
    std::byte into{};
    const bool by_ring = spawn(home, reads(other, into)).get() >= 0;
    return read == text && !by_ring && stats_of(home).refused ? 0 : 1;
}

TEST(file_ring_refused, by_a_filter_of_system_calls) {
    for (const long call : {SYS_io_uring_setup, SYS_io_uring_register, SYS_io_uring_enter}) {
        for (const int error : {EPERM, ENOSYS}) {
            const pid_t child = ::fork();
            if (child == 0) ::_exit(exit_code_of_refused(static_cast<std::uint32_t>(call), error));
            ASSERT_GT(child, 0);
            int status = 0;
            ASSERT_EQ(::waitpid(child, &status, 0), child);
            ASSERT_TRUE(WIFEXITED(status));
            if (WEXITSTATUS(status) == 2) GTEST_SKIP() << "this system has no such filters";
            EXPECT_EQ(WEXITSTATUS(status), 0) << "call " << call << ", error " << error;
        }
    }
}

TEST_F(file_ring_test, is_made_when_a_file_needs_it) {
    const test::folder files;
    files.put("one", "text");
    scheduler home{with_ring(1)};
    file one = must(spawn(home, file::open(files.path_of("one"))).get());
    std::byte first{};
    EXPECT_EQ(must(spawn(home, one.read_at(std::span{&first, 1}, 0)).get()), 1U);
    EXPECT_FALSE(stats_of(home).is_open);

    const std::size_t before = open_descriptors();
    const pipe other;
    other.put('x');
    EXPECT_EQ(spawn(home, reads(other, first)).get(), 1);
    EXPECT_TRUE(stats_of(home).is_open);
    EXPECT_EQ(stats_of(home).operations, 1U);
    EXPECT_EQ(open_descriptors(), before + 2 + 1);
}

// Past the page cache, so no read is answered in the step.
TEST_F(file_ring_test, does_what_files_would_wait_for) {
    const test::folder files;
    constexpr std::size_t block = 4'096;
    files.put("one", std::string(64 * block, 'x'));
    scheduler home{with_ring(2, {.file_operations_max = 4})};
    auto opened = spawn(home, file::open(files.path_of("one"), {.direct = true})).get();
    if (!opened) GTEST_SKIP() << "this file system has no O_DIRECT";
    file one = std::move(*opened);
    const auto reads_all = [&](std::uint64_t begin) -> task<> {
        const std::unique_ptr<void, void (*)(void*)> memory{std::aligned_alloc(block, block),
                                                            std::free};
        const std::span room{static_cast<std::byte*>(memory.get()), block};
        for (std::uint64_t i = 0; i != 64; ++i) {
            const std::uint64_t at = (begin + i) % 64 * block;
            EXPECT_EQ(must(co_await one.read_at(room, at)), block);
            EXPECT_EQ(room.front(), std::byte{'x'});
            EXPECT_EQ(room.back(), std::byte{'x'});
        }
        EXPECT_EQ(must(co_await one.read_at(room, 64 * block)), 0U);
    };
    std::vector<join_handle<void>> all;
    for (std::uint64_t i = 0; i != 32; ++i) all.push_back(spawn(home, reads_all(i)));
    for (auto& each : all) each.get();
    EXPECT_EQ(stats_of(home).operations, 32U * 65U);
    EXPECT_EQ(stats_of(home).refused_operations, 0U);
}

TEST_F(file_ring_test, wakes_a_worker_that_sleeps) {
    scheduler home{with_ring(2)};
    const pipe one;
    std::byte into{};
    for (int i = 0; i != 1'000; ++i) {
        auto handle = spawn(home, reads(one, into));
        await_operations(home, static_cast<std::uint64_t>(i) + 1);
        one.put(static_cast<char>(i));
        EXPECT_EQ(handle.get(), 1);
        EXPECT_EQ(into, static_cast<std::byte>(i));
    }
}

// A task is woken for other reasons, and waits on.
TEST_F(file_ring_test, a_wake_up_does_not_end_a_wait) {
    scheduler home{with_ring(2)};
    const pipe one;
    std::byte into{};
    auto handle = spawn(home, reads(one, into));
    await_operations(home, 1);
    for (int i = 0; i != 100; ++i) {
        handle.get_task().wakeup();
        handle.get_task().signal();
        spawn(home, [&]() -> task<> { co_return; }()).get();
    }
    EXPECT_FALSE(handle.ended());
    one.put('x');
    EXPECT_EQ(handle.get(), 1);
}

TEST_F(file_ring_test, a_stop_cancels_and_the_buffer_is_free) {
    scheduler home{with_ring(1)};
    const pipe one;
    std::byte into{'a'};
    auto handle = spawn(home, reads(one, into));
    await_operations(home, 1);
    handle.request_stop();
    EXPECT_LT(handle.get(), 0);
    EXPECT_EQ(stats_of(home).cancels, 1U);
    one.put('x');
    EXPECT_EQ(into, std::byte{'a'});
    EXPECT_EQ(one.drain(), 1U);
}

TEST_F(file_ring_test, the_deadline_of_the_context_cancels) {
    scheduler home{with_ring(1)};
    const pipe one;
    std::byte into{'a'};
    const auto waits = [&]() -> task<std::int32_t> {
        const auto ended = co_await with_deadline(time_span{1ms}, reads(one, into));
        co_return ended.value_or(-1);
    };
    EXPECT_LT(spawn(home, waits()).get(), 0);
    one.put('x');
    EXPECT_EQ(one.drain(), 1U);
    EXPECT_EQ(into, std::byte{'a'});
}

TEST_F(file_ring_test, a_task_that_must_not_wait_begins_nothing) {
    scheduler home{with_ring(1)};
    const pipe one;
    std::byte into{};
    const auto waits = [&]() -> task<std::int32_t> {
        co_await as_result(wait_until_woken());  // the stop ends it
        co_return co_await reads(one, into);
    };
    auto handle = spawn(home, waits());
    handle.request_stop();
    EXPECT_LT(handle.get(), 0);
    EXPECT_EQ(stats_of(home).operations, 0U);
}

// The kernel has one; the rest waits in line, and is taken back by a stop.
TEST_F(file_ring_test, what_does_not_fit_waits_in_line) {
    scheduler home{with_ring(1, {.file_operations_max = 1})};
    const std::array<pipe, 4> pipes;
    std::array<std::byte, 4> into{};
    std::vector<join_handle<std::int32_t>> all;
    for (std::size_t i = 0; i != 4; ++i) all.push_back(spawn(home, reads(pipes[i], into[i])));
    await_operations(home, 1);
    all[2].request_stop();
    EXPECT_LT(all[2].get(), 0);
    EXPECT_EQ(stats_of(home).cancels, 0U);
    EXPECT_EQ(stats_of(home).operations, 1U);
    pipes[1].put('b');
    pipes[3].put('d');
    EXPECT_FALSE(all[1].ended());
    pipes[0].put('a');
    for (const std::size_t each : {0U, 1U, 3U}) EXPECT_EQ(all[each].get(), 1);
    EXPECT_EQ(stats_of(home).operations, 3U);
    EXPECT_EQ(into, (std::array{std::byte{'a'}, std::byte{'b'}, std::byte{}, std::byte{'d'}}));
}

// The destructor waits until the kernel has let go of each buffer.
TEST_F(file_ring_test, a_scheduler_ends_with_operations_in_flight) {
    for (const unsigned workers : {1U, 2U}) {
        const std::array<pipe, 8> pipes;
        std::array<std::byte, 8> into{};
        const std::size_t before = open_descriptors();
        {
            scheduler_options options = with_ring(workers, {.file_operations_max = 3});
            options.stop_limit = duration::zero();
            scheduler home{std::move(options)};
            for (std::size_t i = 0; i != 8; ++i) {
                spawn(home, reads_shielded(pipes[i], into[i])).detach();
            }
            await_operations(home, 3);
        }
        EXPECT_EQ(open_descriptors(), before);
        for (const pipe& each : pipes) each.put('x');
        for (const pipe& each : pipes) EXPECT_EQ(each.drain(), 1U);
        EXPECT_EQ(into, (std::array<std::byte, 8>{}));
    }
}

// The threads that have given an operation to the kernel end before it.
TEST_F(file_ring_test, goes_on_after_a_stop_of_the_scheduler) {
    scheduler home{with_ring(2)};
    const pipe one;
    std::byte into{};
    auto handle = spawn(home, reads_shielded(one, into));
    await_operations(home, 1);
    // The kernel has the operation; the step that gave it may still be on its way to sleep, or be
    // woken already, as the kernel has ended the operation with the thread.
    const stop_report left = home.stop(0s);
    EXPECT_EQ(left.waiting + left.queued, 1U);
    home.start();
    one.put('x');
    const std::int32_t result = handle.get();
    // Or the kernel has ended it with the thread: then nothing is lost.
    EXPECT_EQ((result == 1 ? 1U : 0U) + one.drain(), 1U);
}

TEST_F(file_ring_test, a_forked_child_disturbs_nothing) {
    scheduler home{with_ring(1)};
    const pipe one;
    std::byte into{};
    auto handle = spawn(home, reads(one, into));
    await_operations(home, 1);
    const pid_t child = ::fork();
    if (child == 0) ::_exit(0);
    ASSERT_GT(child, 0);
    EXPECT_EQ(::waitpid(child, nullptr, 0), child);
    EXPECT_FALSE(handle.ended());
    one.put('x');
    EXPECT_EQ(handle.get(), 1);
    EXPECT_EQ(into, std::byte{'x'});
}

// A foreign loop runs the scheduler, and sleeps on the descriptor of the driver.
TEST_F(file_ring_test, the_descriptor_of_the_driver_tells_of_an_end) {
    scheduler_options options = with_ring(1);
    options.run_on_caller = true;
    scheduler home{std::move(options)};
    const pipe one;
    std::byte into{};
    auto handle = spawn(home, reads(one, into));
    static_cast<void>(home.run_in_loop());
    EXPECT_EQ(stats_of(home).operations, 1U);
    one.put('x');
    while (!handle.ended()) {
        pollfd asked{.fd = home.driver().descriptor(), .events = POLLIN, .revents = 0};
        EXPECT_EQ(::poll(&asked, 1, -1), 1);
        static_cast<void>(home.run_in_loop());
    }
    EXPECT_EQ(handle.get(), 1);
}

// A stop comes with the data: the byte was read, or is in the pipe still.
TEST_F(file_ring_test, a_stop_races_with_an_end) {
    scheduler home{with_ring(2)};
    const pipe one;
    int taken = 0;
    for (int i = 0; i != 5'000; ++i) {
        std::byte into{};
        auto handle = spawn(home, reads(one, into));
        std::jthread writes{[&] { one.put('x'); }};
        handle.request_stop();
        const std::int32_t result = handle.get();
        writes.join();
        const bool was_read = result == 1;
        taken += static_cast<int>(was_read);
        EXPECT_EQ(into, was_read ? std::byte{'x'} : std::byte{});
        EXPECT_EQ(one.drain(), was_read ? 0U : 1U);
        if (HasFailure()) return;
    }
    RecordProperty("read", taken);
}

// Tasks read, some are stopped: no byte is lost or comes twice.
TEST_F(file_ring_test, no_byte_is_lost_among_many) {
    test::for_each_seed(20, [](std::mt19937_64& random) {
        scheduler home{with_ring(2, {.file_operations_max = 4})};
        std::array<pipe, 16> pipes;
        std::array<std::byte, 16> into{};
        std::vector<join_handle<std::int32_t>> all;
        for (std::size_t i = 0; i != 16; ++i) all.push_back(spawn(home, reads(pipes[i], into[i])));
        for (std::size_t i = 0; i != 16; ++i) {
            if (below(random, 2) == 0) all[i].request_stop();
            pipes[i].put(static_cast<char>('a' + i));
            if (below(random, 4) == 0) all[i].request_stop();
        }
        for (std::size_t i = 0; i != 16; ++i) {
            const bool was_read = all[i].get() == 1;
            EXPECT_EQ(into[i], was_read ? static_cast<std::byte>('a' + i) : std::byte{});
            EXPECT_EQ(pipes[i].drain(), was_read ? 0U : 1U);
        }
    });
}

}  // namespace
}  // namespace fairlead::io::file_ring_tests
