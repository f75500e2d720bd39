// Files: what is read is what was written, by any task, from the page cache or from the disk.
#include "support/folder.hpp"
#include "support/must.hpp"
#include "support/seeds.hpp"
#include "support/tasks.hpp"
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
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <expected>
#include <memory>
#include <optional>
#include <ostream>
#include <random>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace fairlead::io::file_tests {
namespace {

using namespace std::chrono_literals;
using test::below;
using test::must;
using test::simulation;

constexpr open_options to_write{.use = file_use::read_write, .create = true};

std::span<const std::byte> bytes(std::string_view text) { return std::as_bytes(std::span{text}); }

task<std::string> text_at(file& from, std::uint64_t offset, std::size_t size) {
    std::string text(size, '?');
    const auto count = co_await from.read_at(std::as_writable_bytes(std::span{text}), offset);
    text.resize(must(count));
    co_return text;
}

// How an operation is done that would wait.
enum class way : std::uint8_t {
    on_caller,  // at once
    thread,     // on a thread
    ring,       // by io_uring, if this kernel gives it; else on a thread
};

void PrintTo(way how, std::ostream* to) {
    *to << (how == way::on_caller ? "on_caller" : how == way::thread ? "thread" : "ring");
}

scheduler_options with_way(way how) {
    scheduler_options options{.workers = 2};
    options.driver = std::make_unique<epoll_driver>(
        epoll_driver_options{.file_ring = how == way::ring, .file_operations_max = 4});
    return options;
}

class file_test : public testing::TestWithParam<way> {
protected:
    file_test() {
        // Virtual time is for the caller alone.
        if (GetParam() == way::on_caller) {
            sim.emplace();
        } else {
            home.emplace(with_way(GetParam()));
        }
    }

    template <class T>
    T run(task<T> body) {
        return home ? spawn(*home, std::move(body)).get() : sim->run(std::move(body));
    }
    file opened(std::string_view name, open_options options = {}) {
        return must(run(file::open(files.path_of(name), options)));
    }
    std::error_code refused(std::string_view name, open_options options = {}) {
        const auto result = run(file::open(files.path_of(name), options));
        return result ? std::error_code{} : result.error();
    }

    test::watchdog guard;
    test::folder files;
    std::optional<simulation> sim;
    std::optional<scheduler> home;
};

INSTANTIATE_TEST_SUITE_P(ways, file_test, testing::Values(way::on_caller, way::thread, way::ring),
                         testing::PrintToStringParamName());

// In virtual time.
class file_in_simulation : public testing::Test {
protected:
    file opened(std::string_view name, open_options options = {}) {
        return must(sim.run(file::open(files.path_of(name), options)));
    }

    test::folder files;
    simulation sim;
};

TEST_P(file_test, reads_back_what_it_has_written) {
    file one = opened("one", to_write);
    must(run(one.write_at(bytes("hello, world"), 0)));
    must(run(one.write_at(bytes("there"), 7)));
    EXPECT_EQ(run(text_at(one, 0, 100)), "hello, there");
    EXPECT_EQ(run(text_at(one, 7, 3)), "the");
    EXPECT_EQ(run(text_at(one, 12, 3)), "");
    EXPECT_EQ(run(text_at(one, 1'000, 3)), "");
    EXPECT_EQ(files.text_of("one"), "hello, there");
}

TEST_P(file_test, has_zeros_where_nothing_was_written) {
    file one = opened("one", to_write);
    must(run(one.write_at(bytes("end"), 5)));
    EXPECT_EQ(files.text_of("one"), std::string(5, '\0') + "end");
}

TEST_P(file_test, an_empty_buffer_reads_and_writes_nothing) {
    file one = opened("one", to_write);
    must(run(one.write_at({}, 5)));
    EXPECT_EQ(run(text_at(one, 0, 0)), "");
    EXPECT_EQ(must(run(one.status())).size, 0U);
}

// More than goes in one piece.
TEST_P(file_test, reads_and_writes_much_at_once) {
    std::string much(5'000'001, ' ');
    std::mt19937_64 random{1};
    std::ranges::generate(much, [&] { return static_cast<char>('a' + below(random, 26)); });
    file one = opened("one", to_write);
    must(run(one.write_at(bytes(much), 3)));
    EXPECT_EQ(run(text_at(one, 3, much.size() + 1)), much);
}

// What was written is forgotten by the page cache, so reads must wait for the disk.
TEST_P(file_test, reads_what_is_not_in_memory) {
    const std::string text(100'000, 'x');
    file one = opened("one", to_write);
    must(run(one.write_at(bytes(text), 0)));
    must(run(one.sync()));
    must(run(one.advise(file_advice::will_not_need)));
    EXPECT_EQ(run(text_at(one, 0, 100'000)), text);
}

// A file of a model: one string.
TEST_P(file_test, is_like_a_string_of_bytes) {
    test::for_each_seed(20, [&](std::mt19937_64& random) {
        file one = opened("one", {.use = file_use::read_write, .create = true, .truncate = true});
        std::string model;
        for (int i = 0; i != 50; ++i) {
            const std::size_t offset = below(random, 3'000U);
            const std::size_t size = below(random, 2'000U);
            switch (below(random, 4)) {
                case 0: {
                    const std::string data(size, static_cast<char>('a' + i % 26));
                    if (size != 0) model.resize(std::max(model.size(), offset + size));
                    if (size != 0) model.replace(offset, size, data);
                    must(run(one.write_at(bytes(data), offset)));
                    break;
                }
                case 1:
                    model.resize(offset);
                    must(run(one.truncate(offset)));
                    break;
                case 2:
                    EXPECT_EQ(must(run(one.status())).size, model.size());
                    break;
                default: {
                    const std::size_t begin = std::min(offset, model.size());
                    EXPECT_EQ(run(text_at(one, offset, size)),
                              model.substr(begin, offset > model.size() ? 0 : size));
                }
            }
        }
        EXPECT_EQ(files.text_of("one"), model);
    });
}

TEST_P(file_test, is_refused_by_name_and_kind) {
    EXPECT_EQ(refused("none"), std::errc::no_such_file_or_directory);
    EXPECT_EQ(refused("."), std::errc::is_a_directory);
    EXPECT_EQ(refused(std::string_view{"nu\0ll", 5}), std::errc::invalid_argument);
    ASSERT_EQ(::mkfifo(files.path_of("pipe").c_str(), 0600), 0);
    EXPECT_EQ(refused("pipe"), std::errc::invalid_argument);
    EXPECT_EQ(refused("pipe", {.use = file_use::read_write}), std::errc::invalid_argument);
    EXPECT_EQ(refused("pipe", {.use = file_use::write}), std::errc::no_such_device_or_address);
}

TEST_P(file_test, is_made_as_asked_for) {
    const ::mode_t before = ::umask(022);
    file one = opened("one", {.use = file_use::write, .create = true, .permissions = 0666});
    ::umask(before);
    EXPECT_EQ(must(run(one.status())).permissions, 0644U);
    EXPECT_EQ(refused("one", {.use = file_use::write, .create = true, .must_be_new = true}),
              std::errc::file_exists);
    files.put("one", "text");
    file again = opened("one", {.use = file_use::write});
    EXPECT_EQ(files.text_of("one"), "text");
    file emptied = opened("one", {.use = file_use::write, .truncate = true});
    EXPECT_EQ(files.text_of("one"), "");
}

// The system takes -1 for the position of the descriptor, and would write at the beginning.
TEST_P(file_test, an_offset_beyond_those_of_the_system_is_refused) {
    files.put("one", "text");
    file one = opened("one", to_write);
    const std::unexpected refused{std::error_code{EINVAL, std::system_category()}};
    for (const std::uint64_t offset : {~std::uint64_t{0}, std::uint64_t{1} << 63U}) {
        EXPECT_TRUE(run(one.write_at(bytes("x"), offset)) == refused);
        std::byte one_byte{};
        EXPECT_TRUE(run(one.read_at(std::span{&one_byte, 1}, offset)) == refused);
    }
    EXPECT_EQ(files.text_of("one"), "text");
}

TEST_P(file_test, is_used_only_as_it_was_opened) {
    files.put("one", "text");
    file one = opened("one");
    EXPECT_EQ(run(one.write_at(bytes("x"), 0)).error(), std::errc::bad_file_descriptor);
    file two = opened("one", {.use = file_use::write});
    std::byte one_byte{};
    EXPECT_EQ(run(two.read_at(std::span{&one_byte, 1}, 0)).error(), std::errc::bad_file_descriptor);
}

TEST_P(file_test, tells_when_it_was_changed) {
    const auto before = std::chrono::system_clock::now() - 1s;
    file one = opened("one", to_write);
    must(run(one.write_at(bytes("x"), 0)));
    const auto changed = must(run(one.status())).modified;
    EXPECT_GE(changed, before);
    EXPECT_LE(changed, std::chrono::system_clock::now() + 1s);
}

TEST_P(file_test, is_open_until_it_is_closed_or_moved) {
    file one = opened("one", to_write);
    EXPECT_TRUE(one.is_open());
    file two = std::move(one);
    EXPECT_FALSE(one.is_open());  // NOLINT(bugprone-use-after-move)
    must(run(two.write_at(bytes("x"), 0)));
    const int number = two.native_handle();
    must(run(two.close()));
    EXPECT_FALSE(two.is_open());
    EXPECT_EQ(two.native_handle(), -1);
    EXPECT_EQ(::fcntl(number, F_GETFD), -1);
}

TEST_P(file_test, takes_over_an_open_one) {
    files.put("one", "text");
    file one =
        file::adopt(os::unique_fd{::open(files.path_of("one").c_str(), O_RDONLY | O_CLOEXEC)});
    EXPECT_EQ(run(text_at(one, 1, 2)), "ex");
}

// Past the page cache: in whole blocks, from an aligned buffer.
TEST_P(file_test, goes_past_the_page_cache) {
    files.put("one", std::string(8'192, 'x'));
    auto direct = run(file::open(files.path_of("one"), {.use = file_use::read, .direct = true}));
    if (!direct && direct.error() == std::errc::invalid_argument) {
        GTEST_SKIP() << "this file system has no O_DIRECT";
    }
    file one = must(std::move(direct));
    constexpr std::size_t block = 4'096;
    const std::unique_ptr<void, void (*)(void*)> memory{std::aligned_alloc(block, 2 * block),
                                                        std::free};
    const std::span buffer{static_cast<std::byte*>(memory.get()), 2 * block};
    EXPECT_EQ(must(run(one.read_at(buffer, 0))), 2 * block);
    EXPECT_TRUE(std::ranges::all_of(buffer, [](std::byte each) { return each == std::byte{'x'}; }));
    EXPECT_EQ(must(run(one.read_at(buffer.first(block), 2 * block))), 0U);
}

// --- stops ---------------------------------------------------------------------------------------

TEST_F(file_in_simulation, a_task_that_was_asked_to_stop_does_nothing) {
    files.put("one", "text");
    file one = opened("one", {.use = file_use::read_write});
    const auto all = [&]() -> task<std::vector<std::error_code>> {
        co_await as_result(wait_until_woken());  // the stop ends it
        std::byte buffer{};
        std::vector<std::error_code> seen;
        seen.push_back((co_await file::open(files.path_of("two"), to_write)).error());
        seen.push_back((co_await one.read_at(std::span{&buffer, 1}, 0)).error());
        seen.push_back((co_await one.write_at(bytes("x"), 0)).error());
        seen.push_back((co_await one.sync()).error());
        seen.push_back((co_await one.status()).error());
        seen.push_back((co_await one.truncate(0)).error());
        seen.push_back((co_await one.advise(file_advice::random)).error());
        seen.push_back((co_await one.close()).error());
        must(co_await shielded(one.write_at(bytes("x"), 3)));
        co_return seen;
    };
    auto handle = spawn(sim.scheduler, all());
    sim.scheduler.run_until_idle();
    handle.request_stop();
    sim.scheduler.run_until_idle();
    for (const std::error_code each : handle.get()) {
        EXPECT_EQ(each, std::errc::operation_canceled);
    }
    EXPECT_EQ(files.text_of("one"), "texx");
    EXPECT_EQ(files.files(), 1U);
}

TEST_F(file_in_simulation, an_overdue_task_does_nothing) {
    files.put("one", "text");
    file one = opened("one");
    const auto reads = [&]() -> task<std::error_code> {
        co_await as_result(sleep_for(2s));
        std::byte buffer{};
        co_return (co_await one.read_at(std::span{&buffer, 1}, 0)).error();
    };
    const auto limited = [&]() -> task<std::error_code> {
        co_return (co_await with_deadline(sim.clock.now() + 1s, reads())).value();
    };
    auto handle = spawn(sim.scheduler, limited());
    EXPECT_TRUE(sim.scheduler.drain_for(1h));
    EXPECT_EQ(handle.get(), std::errc::stream_timeout);
}

// Reads that find all in memory are safepoints.
TEST_F(file_in_simulation, a_task_that_only_reads_lets_others_have_their_turn) {
    files.put("one", "text");
    file one = opened("one");
    std::atomic<bool> over{false};
    std::uint64_t reads = 0;
    const auto loops = [&]() -> task<> {
        std::byte buffer{};
        while (!over.load()) {
            must(co_await one.read_at(std::span{&buffer, 1}, 0));
            ++reads;
        }
    };
    auto handle = spawn(sim.scheduler, loops());
    sim.scheduler.post([&] { over = true; });
    sim.scheduler.run_until_idle();
    handle.get();
    EXPECT_LE(reads, 64U);
}

// --- on threads ----------------------------------------------------------------------------------

TEST(file_on_threads, tasks_use_one_file_at_the_same_time) {
    test::watchdog guard;
    for (const way how : {way::thread, way::ring}) {
        const test::folder files;
        scheduler home{with_way(how)};
        file one = must(spawn(home, file::open(files.path_of("one"), to_write)).get());
        constexpr std::size_t size = 10'000;
        const auto owns = [&](int number) -> task<> {
            const std::uint64_t begin = static_cast<std::uint64_t>(number) * size;
            for (int round = 0; round != 20; ++round) {
                const std::string text(size, static_cast<char>('a' + (number + round) % 26));
                must(co_await one.write_at(bytes(text), begin));
                if (round % 5 == 0) must(co_await one.sync());
                if (round % 7 == 0) must(co_await one.advise(file_advice::will_not_need));
                EXPECT_EQ(co_await text_at(one, begin, size), text);
            }
        };
        std::vector<join_handle<void>> all;
        for (int i = 0; i != 8; ++i) all.push_back(spawn(home, owns(i)));
        for (auto& each : all) each.get();
        EXPECT_EQ(files.text_of("one").size(), 8 * size);
    }
}

}  // namespace
}  // namespace fairlead::io::file_tests
