#include "savegames/sqlite_store.hpp"

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <latch>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "savegames/tests/support.hpp"

namespace savegames::sqlite_store_tests {
namespace {

using namespace std::chrono_literals;

// Opens the file as another program would.
class outsider {
public:
    explicit outsider(const std::string& path) {
        EXPECT_EQ(sqlite3_open(path.c_str(), &connection_), SQLITE_OK);
    }
    ~outsider() { sqlite3_close(connection_); }
    outsider(const outsider&) = delete;
    outsider& operator=(const outsider&) = delete;

    void run(const char* sql) {
        char* message = nullptr;
        EXPECT_EQ(sqlite3_exec(connection_, sql, nullptr, nullptr, &message), SQLITE_OK)
            << sql << ": " << (message == nullptr ? "" : message);
        sqlite3_free(message);
    }

private:
    sqlite3* connection_ = nullptr;
};

write_condition until(time_point deadline) {
    write_condition condition;
    condition.deadline = deadline;
    return condition;
}

class sqlite_store_test : public testing::Test {
protected:
    std::unique_ptr<sqlite_store> open(sqlite_options options = {}) {
        options.path = path;
        auto opened = sqlite_store::open(options);
        EXPECT_TRUE(opened.has_value()) << opened.error();
        return std::move(opened.value());
    }

    std::string open_error(sqlite_options options) {
        return sqlite_store::open(std::move(options)).error();
    }

    // Keeps the writer thread in a callback until `leave`, so that writes queue up behind it.
    struct busy_writer {
        explicit busy_writer(sqlite_store& store) {
            store.put(key_of("busy"), {}, packed("{}"), [this](auto) {
                entered.count_down();
                leave.wait();
            });
            entered.wait();
        }
        std::latch entered{1};
        std::latch leave{1};
    };

    temporary_folder folder;
    const std::string path = folder / "saves.db";
};

TEST_F(sqlite_store_test, put_get_erase) {
    const auto store = open();
    const profile_key key = key_of("p");
    EXPECT_EQ(get(*store, key).error(), error::not_found);
    EXPECT_EQ(put(*store, key, packed("{\"a\":1}")), 1U);
    EXPECT_EQ(put(*store, key, packed("{\"a\":2}")), 2U);
    const save read = get(*store, key).value();
    EXPECT_EQ(read.version, 2U);
    EXPECT_EQ(unpack(read, 100).value(), "{\"a\":2}");
    EXPECT_EQ(get(*store, key_of("p", "go")).error(), error::not_found);
    EXPECT_TRUE(erase(*store, key).has_value());
    EXPECT_EQ(erase(*store, key).error(), error::not_found);
    EXPECT_EQ(get(*store, key).error(), error::not_found);
    const store_counters counters = store->counters();
    EXPECT_EQ(counters.reads, 4U);
    EXPECT_EQ(counters.writes, 4U);
    EXPECT_EQ(counters.failures, 0U);
}

// The write in time is in the same group.
TEST_F(sqlite_store_test, a_write_that_is_overdue_does_not_begin) {
    const auto store = open();
    answer<std::uint64_t> late;
    answer<std::uint64_t> in_time;
    answer<void> erased;
    {
        busy_writer writer{*store};
        store->put(key_of("late"), until(clock::now()), packed("1"), late.done());
        store->put(key_of("p"), until(clock::now() + 1h), packed("1"), in_time.done());
        store->erase(key_of("busy"), until(clock::now()), erased.done());
        writer.leave.count_down();
        EXPECT_EQ(late.get().error(), error::deadline);
        EXPECT_EQ(in_time.get(), 1U);
        EXPECT_EQ(erased.get().error(), error::deadline);
    }
    EXPECT_EQ(get(*store, key_of("late")).error(), error::not_found);
    EXPECT_TRUE(get(*store, key_of("busy")).has_value());
    EXPECT_EQ(store->counters().overdue, 2U);
    EXPECT_EQ(store->counters().writes, 2U);
    EXPECT_EQ(store->counters().failures, 0U);
    EXPECT_TRUE(store->ready().has_value());
}

TEST_F(sqlite_store_test, a_read_that_is_overdue_does_not_begin) {
    const auto store = open();
    answer<save> late;
    EXPECT_EQ(put(*store, key_of("p"), packed("1")), 1U);
    store->get(key_of("p"), clock::now(), late.done());
    EXPECT_EQ(late.get().error(), error::deadline);
    EXPECT_EQ(store->counters().overdue, 1U);
    EXPECT_EQ(store->counters().reads, 0U);
}

// Another connection of this process has the lock until the end of the test: with the time of the
// options the writer would wait for an hour.
TEST_F(sqlite_store_test, a_write_waits_for_a_lock_until_its_deadline) {
    const auto store = open({.busy_timeout = 1h});
    sqlite3* other = nullptr;
    ASSERT_EQ(sqlite3_open_v2(path.c_str(), &other, SQLITE_OPEN_READWRITE, "unix-excl"), SQLITE_OK);
    ASSERT_EQ(sqlite3_exec(other, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
    answer<std::uint64_t> late;
    store->put(key_of("p"), until(clock::now() + 20ms), packed("1"), late.done());
    EXPECT_EQ(late.get().error(), error::store_failed);
    EXPECT_EQ(sqlite3_exec(other, "ROLLBACK", nullptr, nullptr, nullptr), SQLITE_OK);
    sqlite3_close(other);
    EXPECT_EQ(put(*store, key_of("p"), packed("1")), 1U);
}

TEST_F(sqlite_store_test, survives_reopening_and_leases_do_not) {
    const profile_key key = key_of("p");
    {
        const auto store = open();
        EXPECT_EQ(put(*store, key, packed("1")), 1U);
        EXPECT_TRUE(acquire(*store, key, owner_token{1}).value().granted);
    }
    const auto store = open();
    EXPECT_EQ(unpack(get(*store, key).value(), 10).value(), "1");
    EXPECT_TRUE(acquire(*store, key, owner_token{2}).value().granted);
}

TEST_F(sqlite_store_test, waiting_writes_share_a_commit) {
    const auto store = open();
    std::vector<answer<std::uint64_t>> answers(100);
    {
        busy_writer writer{*store};
        for (std::size_t i = 0; i < answers.size(); ++i) {
            store->put(key_of("p" + std::to_string(i % 10)), {}, packed("1"), answers[i].done());
        }
        EXPECT_EQ(store->counters().queued_writes, 100U);
        writer.leave.count_down();
        for (std::size_t i = 0; i < answers.size(); ++i) EXPECT_EQ(answers[i].get(), i / 10 + 1);
    }
    EXPECT_EQ(store->counters().commits, 2U);
    EXPECT_EQ(store->counters().writes, 101U);
}

TEST_F(sqlite_store_test, group_is_bounded) {
    const auto store = open({.group_max = 10});
    std::vector<answer<std::uint64_t>> answers(95);
    busy_writer writer{*store};
    for (auto& each : answers) store->put(key_of("p"), {}, packed("1"), each.done());
    writer.leave.count_down();
    for (std::size_t i = 0; i < answers.size(); ++i) EXPECT_EQ(answers[i].get(), i + 1);
    EXPECT_EQ(store->counters().commits, 1U + 10U);
}

// A write that SQLite refuses does not fail the other writes of its group.
TEST_F(sqlite_store_test, bad_write_fails_alone) {
    for (const char* const action : {"ABORT", "ROLLBACK"}) {
        const auto store = open();
        outsider{path}.run((std::string{"DROP TRIGGER IF EXISTS refuse; CREATE TRIGGER refuse "
                                        "BEFORE INSERT ON saves WHEN NEW.player = 'bad' "
                                        "BEGIN SELECT RAISE("} +
                            action + ", 'refused by the test'); END")
                               .c_str());
        answer<std::uint64_t> before;
        answer<std::uint64_t> bad;
        answer<std::uint64_t> after;
        busy_writer writer{*store};
        store->put(key_of("before", action), {}, packed("1"), before.done());
        store->put(key_of("bad", action), {}, packed("1"), bad.done());
        store->put(key_of("after", action), {}, packed("1"), after.done());
        writer.leave.count_down();
        EXPECT_EQ(before.get(), 1U);
        EXPECT_EQ(bad.get().error(), error::store_failed);
        EXPECT_EQ(after.get(), 1U);
        EXPECT_TRUE(get(*store, key_of("after", action)).has_value());
        EXPECT_EQ(get(*store, key_of("bad", action)).error(), error::not_found);
        EXPECT_EQ(store->counters().failures, 1U);
        EXPECT_EQ(store->counters().last_failure, "refused by the test");
        EXPECT_EQ(put(*store, key_of("later", action), packed("1")), 1U);
    }
}

TEST_F(sqlite_store_test, file_that_others_keep_locked_fails_the_group_once) {
    const auto store = open({.busy_timeout = 1ms});
    outsider other{path};
    std::vector<answer<std::uint64_t>> answers(20);
    {
        busy_writer writer{*store};
        other.run("BEGIN IMMEDIATE");
        for (auto& each : answers) store->put(key_of("p"), {}, packed("1"), each.done());
        writer.leave.count_down();
        for (auto& each : answers) EXPECT_EQ(each.get().error(), error::store_failed);
    }
    other.run("COMMIT");
    EXPECT_EQ(put(*store, key_of("p"), packed("1")), 1U);
}

TEST_F(sqlite_store_test, reads_that_fail_say_so) {
    const auto store = open();
    EXPECT_EQ(put(*store, key_of("p"), packed("1")), 1U);
    outsider{path}.run("ALTER TABLE saves RENAME TO gone");
    EXPECT_EQ(get(*store, key_of("p")).error(), error::store_failed);
    EXPECT_EQ(put(*store, key_of("p"), packed("1")).error(), error::store_failed);
    outsider{path}.run("ALTER TABLE gone RENAME TO saves");
    EXPECT_EQ(get(*store, key_of("p")).value().version, 1U);
    EXPECT_EQ(put(*store, key_of("p"), packed("1")), 2U);
}

TEST_F(sqlite_store_test, full_queue_refuses_at_once) {
    const auto store = open({.queue_max = 3});
    std::vector<answer<std::uint64_t>> accepted(3);
    busy_writer writer{*store};
    for (auto& each : accepted) store->put(key_of("p"), {}, packed("1"), each.done());
    EXPECT_EQ(put(*store, key_of("p"), packed("1")).error(), error::overloaded);
    EXPECT_EQ(erase(*store, key_of("p")).error(), error::overloaded);
    EXPECT_EQ(get(*store, key_of("p")).error(), error::not_found);  // reads have their own queue
    writer.leave.count_down();
    for (auto& each : accepted) EXPECT_TRUE(each.get().has_value());
    EXPECT_EQ(store->counters().refused, 2U);
}

TEST_F(sqlite_store_test, a_noisy_game_does_not_fill_the_queue_for_others) {
    const auto store = open({.queue_max = 90});
    std::size_t done = 0;
    std::optional<error> refusal;
    busy_writer writer{*store};
    std::size_t sent = 0;
    std::mutex mutex;
    for (; !refusal; ++sent) {
        store->put(key_of("p", "noisy"), {}, packed("1"), [&](const auto& result) {
            const std::lock_guard lock{mutex};
            if (!result) refusal = result.error();
            ++done;
        });
    }
    EXPECT_EQ(*refusal, error::over_share);
    EXPECT_LT(sent, 90U);
    answer<std::uint64_t> quiet;
    store->put(key_of("p", "quiet"), {}, packed("1"), quiet.done());
    writer.leave.count_down();
    EXPECT_EQ(quiet.get(), 1U);
    store->stop();
    EXPECT_EQ(done, sent);
    EXPECT_EQ(store->counters().refused, 1U);
}

TEST_F(sqlite_store_test, queue_is_bounded_in_bytes) {
    const auto store = open({.queue_bytes_max = 100});
    answer<std::uint64_t> first;
    busy_writer writer{*store};
    save large = packed("1");
    large.data.resize(1000);
    store->put(key_of("p"), {}, large, first.done());  // an empty queue takes any item
    EXPECT_EQ(put(*store, key_of("p"), packed("1")).error(), error::overloaded);
    writer.leave.count_down();
    EXPECT_EQ(first.get(), 1U);
}

TEST_F(sqlite_store_test, stop_carries_out_what_is_queued_and_refuses_the_rest) {
    auto store = open();
    std::vector<answer<std::uint64_t>> queued(50);
    busy_writer writer{*store};
    for (auto& each : queued) store->put(key_of("p"), {}, packed("1"), each.done());
    std::thread stopper{[&] { store->stop(); }};
    // Until the stop begins, the read is carried out; from then on it gets store_failed.
    while (get(*store, key_of("p")) != std::unexpected(error::store_failed)) {
        std::this_thread::yield();
    }
    writer.leave.count_down();
    stopper.join();
    for (std::size_t i = 0; i < queued.size(); ++i) EXPECT_EQ(queued[i].get(), i + 1);
    EXPECT_EQ(put(*store, key_of("p"), packed("1")).error(), error::store_failed);
    EXPECT_EQ(get(*store, key_of("p")).error(), error::store_failed);
    store->stop();
    store.reset();
    EXPECT_EQ(get(*open(), key_of("p")).value().version, 50U);
}

TEST_F(sqlite_store_test, callbacks_may_call_the_store) {
    const auto store = open();
    answer<save> read;
    store->put(key_of("p"), {}, packed("1"), [&](auto) {
        store->put(key_of("p"), {}, packed("2"),
                   [&](auto) { store->get(key_of("p"), time_point::max(), read.done()); });
    });
    EXPECT_EQ(read.get().value().version, 2U);
}

TEST_F(sqlite_store_test, many_threads_lose_no_update) {
    const auto store = open();
    constexpr int thread_count = 8;
    constexpr int increments = 25;
    EXPECT_EQ(put(*store, key_of("p"), packed("0")), 1U);
    std::vector<std::jthread> threads;
    for (int t = 0; t < thread_count; ++t) {
        threads.emplace_back([&] {
            for (int i = 0; i < increments;) {
                const save read = get(*store, key_of("p")).value();
                const int value = std::stoi(unpack(read, 100).value());
                const auto written = put(*store, key_of("p"), packed(std::to_string(value + 1)),
                                         {.expected_version = read.version, .owner = {}});
                if (written) {
                    ++i;
                } else {
                    EXPECT_EQ(written.error(), error::conflict);
                }
            }
        });
    }
    threads.clear();
    const save last = get(*store, key_of("p")).value();
    EXPECT_EQ(last.version, 1U + thread_count * increments);
    EXPECT_EQ(unpack(last, 100).value(), std::to_string(thread_count * increments));
}

TEST_F(sqlite_store_test, open_failures_are_clear) {
    EXPECT_EQ(open_error({}), "the path of the database is empty; give one");
    EXPECT_EQ(open_error({.path = "/nonexistent/saves.db"}),
              "cannot open the database /nonexistent/saves.db: No such file or directory");
    EXPECT_EQ(open_error({.path = path, .readers = 0}),
              "readers (0), queue_max (4096) and group_max (512) must each be at least 1");
    std::ofstream{folder / "text"} << std::string(10'000, 'x');
    EXPECT_NE(open_error({.path = folder / "text"}).find("file is not a database"),
              std::string::npos);
    ASSERT_TRUE(std::filesystem::create_directory(folder / "folder"));
    EXPECT_NE(open_error({.path = folder / "folder"}).find("Is a directory"), std::string::npos);
}

TEST_F(sqlite_store_test, second_store_of_one_file_is_refused) {
    auto store = open();
    EXPECT_EQ(open_error({.path = path}),
              "another server uses the database " + path + "; stop it, or give another file");
    std::filesystem::create_symlink(path, folder / "soft.db");
    EXPECT_EQ(open_error({.path = folder / "soft.db"}), "another server uses the database " +
                                                            (folder / "soft.db") +
                                                            "; stop it, or give another file");
    EXPECT_EQ(put(*store, key_of("p"), packed("1")), 1U);
    store.reset();
    open();
}

TEST_F(sqlite_store_test, newer_schema_is_refused) {
    open();
    outsider{path}.run("INSERT INTO schema_version VALUES (99, 'the future')");
    EXPECT_NE(open_error({.path = path}).find("a newer version of this program"),
              std::string::npos);
}

TEST_F(sqlite_store_test, files_are_for_their_owner_alone) {
    const auto store = open();
    EXPECT_EQ(put(*store, key_of("p"), packed("1")), 1U);
    for (const char* suffix : {"", "-wal"}) {
        struct stat status {};
        ASSERT_EQ(::stat((path + suffix).c_str(), &status), 0) << suffix;
        EXPECT_EQ(status.st_mode & 0777, 0600U) << suffix;
    }
}

}  // namespace
}  // namespace savegames::sqlite_store_tests
