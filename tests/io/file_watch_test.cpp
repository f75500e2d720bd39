// Changes of files: each is told once, in order, or it is told that some are missing.
#include "support/folder.hpp"
#include "support/must.hpp"
#include "support/sockets.hpp"

#include <fairlead/coro/awaits.hpp>
#include <fairlead/io/file_watch.hpp>

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <expected>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace fairlead::io::file_watch_tests {
namespace {

using namespace std::chrono_literals;
using kind = file_event::kind;
using event_or_error = std::expected<file_event, std::error_code>;
using id_or_error = std::expected<watched_id, std::error_code>;
namespace fs = std::filesystem;

std::string_view word_of(kind what) {
    switch (what) {
        case kind::created:
            return "created";
        case kind::removed:
            return "removed";
        case kind::moved:
            return "moved";
        case kind::moved_in:
            return "moved in";
        case kind::moved_out:
            return "moved out";
        case kind::written:
            return "written";
        case kind::modified:
            return "modified";
        case kind::attributes:
            return "attributes";
        case kind::moved_itself:
            return "moved itself";
        case kind::ended:
            return "ended";
        case kind::overflow:
            return "overflow";
    }
    return "?";
}

// "moved one two", "folder created three".
std::string text_of(const file_event& event) {
    std::string text = event.is_folder ? "folder " : "";
    text += word_of(event.what);
    if (event.what == kind::moved) text += ' ' + event.from_name;
    if (!event.name.empty()) text += ' ' + event.name;
    return text;
}

using texts = std::vector<std::string>;

task<id_or_error> adds(file_watch& to, std::string path, file_watch_options options) {
    co_return co_await to.add(std::move(path), options);
}
task<event_or_error> waits(file_watch& on, time_point deadline) {
    co_return co_await on.next(deadline);
}

class file_watch_test : public testing::Test {
protected:
    [[nodiscard]] epoll_driver& epoll() const { return epoll_driver::of(*home); }

    template <class T>
    T run(task<T> body) {
        auto handle = spawn(*home, std::move(body));
        return finish(handle);
    }
    template <class T>
    T finish(join_handle<T>& handle) {
        while (!handle.ended()) home->run_until(never, 1);
        return handle.get();
    }
    void settle() { home->run_until_idle(); }

    id_or_error add(const std::string& path, file_watch_options options = {}) {
        return run(adds(*changes, path, options));
    }
    watched_id watched(const std::string& path, file_watch_options options = {}) {
        return add(path, options).value();
    }
    // The next event, which has come, or comes by itself.
    file_event next() { return test::must(run(waits(*changes, never))); }
    // All that has come.
    texts all() {
        texts seen;
        for (;;) {
            const auto event = run(waits(*changes, clock::now() + 3 * file_watch::move_patience));
            if (!event) {
                EXPECT_EQ(event.error(), std::errc::timed_out);
                return seen;
            }
            seen.push_back(text_of(*event));
        }
    }
    void move(std::string_view from, std::string_view to) const {
        ASSERT_EQ(::rename(files.path_of(from).c_str(), files.path_of(to).c_str()), 0);
    }
    void make_folder(std::string_view name) const {
        ASSERT_EQ(::mkdir(files.path_of(name).c_str(), 0755), 0);
    }
    void remove(std::string_view name) const {
        ASSERT_EQ(std::remove(files.path_of(name).c_str()), 0);
    }

    const test::watchdog guard;
    const test::folder files;
    std::optional<scheduler> home{std::in_place, test::with_epoll_on_caller()};
    std::optional<file_watch> changes{file_watch::make(epoll_driver::of(*home)).value()};
};

// --- what is told --------------------------------------------------------------------------------

TEST_F(file_watch_test, tells_of_names_and_of_writers) {
    watched(files.path());
    files.put("one", "text");
    make_folder("two");
    remove("one");
    remove("two");
    EXPECT_EQ(all(), (texts{"created one", "written one", "folder created two", "removed one",
                            "folder removed two"}));
}

TEST_F(file_watch_test, tells_of_what_comes_while_a_task_waits) {
    const watched_id folder = watched(files.path());
    auto handle = spawn(*home, waits(*changes, never));
    settle();
    EXPECT_FALSE(handle.ended());
    files.put("one", "");
    const file_event event = test::must(finish(handle));
    EXPECT_EQ(text_of(event), "created one");
    EXPECT_EQ(event.where, folder);
    EXPECT_EQ(event.from, watched_id::none);
}

TEST_F(file_watch_test, tells_what_is_asked_for) {
    files.put("one", "");
    watched(files.path(), {.names = false, .written = false, .each_write = true});
    {
        const os::unique_fd file{::open(files.path_of("one").c_str(), O_WRONLY | O_CLOEXEC)};
        for (int i = 0; i != 3; ++i) ASSERT_EQ(::write(file.get(), "x", 1), 1);
    }
    move("one", "two");
    EXPECT_EQ(all(), (texts{"modified one"}));  // the kernel tells equal ones once
    watched(files.path(), {.names = false, .written = false, .attributes = true});
    ASSERT_EQ(::chmod(files.path_of("two").c_str(), 0600), 0);
    files.put("two", "text");
    EXPECT_EQ(all(), (texts{"attributes two"}));
}

TEST_F(file_watch_test, a_write_that_has_not_ended_is_not_told_as_written) {
    watched(files.path());
    os::unique_fd file{::open(files.path_of("one").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644)};
    ASSERT_EQ(::write(file.get(), "x", 1), 1);
    EXPECT_EQ(all(), (texts{"created one"}));
    file.reset();
    EXPECT_EQ(all(), (texts{"written one"}));
}

TEST_F(file_watch_test, tells_of_a_watched_file_itself) {
    files.put("one", "");
    const watched_id file = watched(files.path_of("one"), {.attributes = true});
    files.put("one", "text");
    const file_event written = next();
    EXPECT_EQ(written.what, kind::written);
    EXPECT_EQ(written.where, file);
    EXPECT_EQ(written.name, "");
    move("one", "two");
    EXPECT_EQ(all(), (texts{"moved itself"}));
    files.put("two", "text");
    EXPECT_EQ(all(), (texts{"written"}));  // it is watched still
    remove("two");
    EXPECT_EQ(all(), (texts{"attributes", "ended"}));
    files.put("two", "another file");
    EXPECT_EQ(all(), texts{});
    EXPECT_EQ(changes->remove(file).error(), std::errc::invalid_argument);
}

TEST_F(file_watch_test, tells_that_a_watched_folder_is_gone) {
    make_folder("inner");
    const watched_id inner = watched(files.path_of("inner"));
    const watched_id outer = watched(files.path());
    EXPECT_NE(inner, outer);
    remove("inner");
    const file_event ended = next();
    EXPECT_EQ(ended.what, kind::ended);
    EXPECT_EQ(ended.where, inner);
    const file_event removed = next();
    EXPECT_EQ(text_of(removed), "folder removed inner");
    EXPECT_EQ(removed.where, outer);
}

TEST_F(file_watch_test, a_symbolic_link_leads_to_what_is_watched) {
    make_folder("real");
    fs::create_symlink(files.path_of("real"), files.path_of("link"));
    const watched_id link = watched(files.path_of("link"));
    EXPECT_EQ(watched(files.path_of("real")), link);
    files.put("real/one", "");
    EXPECT_EQ(all(), (texts{"created one", "written one"}));
}

TEST_F(file_watch_test, the_same_file_again_has_new_options) {
    const watched_id first = watched(files.path(), {.written = false});
    EXPECT_EQ(watched(files.path(), {.names = false}), first);
    files.put("one", "");
    EXPECT_EQ(all(), (texts{"written one"}));
}

TEST_F(file_watch_test, names_are_of_any_bytes_and_any_length) {
    watched(files.path(), {.written = false});
    texts right;
    for (const std::string& name :
         {std::string(255, 'x'), std::string(254, 'y'), std::string{"a\nb \xff\x01"},
          std::string{"z"}, std::string(16, 'w'), std::string(15, 'v')}) {
        files.put(name, "");
        right.push_back("created " + name);
    }
    EXPECT_EQ(all(), right);
    EXPECT_EQ(add(files.path_of(std::string(256, 'x'))).error(), std::errc::filename_too_long);
    EXPECT_EQ(add(std::string(5000, '/')).error(), std::errc::filename_too_long);
}

// --- moves ---------------------------------------------------------------------------------------

TEST_F(file_watch_test, a_move_is_one_event) {
    make_folder("from");
    make_folder("to");
    files.put("from/one", "");
    const watched_id from = watched(files.path_of("from"));
    const watched_id to = watched(files.path_of("to"));
    move("from/one", "from/two");
    move("from/two", "to/three");
    const file_event within = next();
    EXPECT_EQ(text_of(within), "moved one two");
    EXPECT_EQ(within.where, from);
    EXPECT_EQ(within.from, from);
    const file_event between = next();
    EXPECT_EQ(text_of(between), "moved two three");
    EXPECT_EQ(between.where, to);
    EXPECT_EQ(between.from, from);
    EXPECT_EQ(all(), texts{});
}

TEST_F(file_watch_test, a_move_may_replace_a_file) {
    files.put("settings", "old");
    watched(files.path());
    files.put("settings.new", "new");
    move("settings.new", "settings");
    EXPECT_EQ(all(), (texts{"created settings.new", "written settings.new",
                            "moved settings.new settings"}));
}

TEST_F(file_watch_test, what_leaves_and_enters_has_one_end) {
    make_folder("seen");
    make_folder("unseen");
    files.put("unseen/one", "");
    watched(files.path_of("seen"));
    move("unseen/one", "seen/two");
    move("seen/two", "unseen/three");
    move("unseen", "seen/folder");
    EXPECT_EQ(all(), (texts{"moved in two", "moved out two", "folder moved in folder"}));
}

// The first half of a move waits for the second one, but not for ever, and nothing is lost by a
// deadline meanwhile.
TEST_F(file_watch_test, a_move_to_elsewhere_is_told_after_a_while) {
    make_folder("seen");
    files.put("seen/one", "");
    watched(files.path_of("seen"));
    const time_point begin = clock::now();
    move("seen/one", "one");
    const event_or_error at_once = run(waits(*changes, immediately));
    if (clock::now() < begin + file_watch::move_patience) {
        EXPECT_EQ(at_once.error(), std::errc::timed_out);
        EXPECT_EQ(text_of(next()), "moved out one");
        EXPECT_GE(clock::now(), begin + file_watch::move_patience);
    }
    EXPECT_EQ(all(), texts{});
}

TEST_F(file_watch_test, many_that_leave_keep_their_order) {
    make_folder("seen");
    texts right;
    for (int i = 0; i != 200; ++i) files.put("seen/" + std::to_string(i), "");
    watched(files.path_of("seen"));
    for (int i = 0; i != 200; ++i) {
        const std::string name = std::to_string(i);
        move("seen/" + name, name);
        files.put("seen/after", "");
        right.insert(right.end(), {"moved out " + name, "created after", "written after"});
        remove("seen/after");
        right.emplace_back("removed after");
    }
    EXPECT_EQ(all(), right);
}

// --- what is watched no longer -------------------------------------------------------------------

TEST_F(file_watch_test, nothing_is_told_of_what_was_removed) {
    make_folder("first");
    make_folder("second");
    const watched_id first = watched(files.path_of("first"));
    const watched_id second = watched(files.path_of("second"));
    files.put("second/zero", "");
    EXPECT_EQ(text_of(next()), "created zero");
    for (int i = 0; i != 500; ++i) {  // more than one read brings
        files.put("first/" + std::to_string(i), "");
        files.put("second/" + std::to_string(i), "");
    }
    EXPECT_EQ(text_of(next()), "written zero");  // some of `first` are read already
    EXPECT_TRUE(changes->remove(first));
    files.put("first/late", "");
    EXPECT_EQ(changes->remove(first).error(), std::errc::invalid_argument);
    for (int i = 0; i != 500; ++i) {
        for (const std::string word : {"created ", "written "}) {
            const file_event event = next();
            ASSERT_EQ(text_of(event), word + std::to_string(i));
            ASSERT_EQ(event.where, second);
        }
    }
    EXPECT_EQ(all(), texts{});
    const watched_id again = watched(files.path_of("first"));
    EXPECT_NE(again, first);
    files.put("first/new", "");
    EXPECT_EQ(next().where, again);
}

TEST_F(file_watch_test, a_move_from_or_to_what_was_removed_has_one_end) {
    make_folder("first");
    make_folder("second");
    const watched_id first = watched(files.path_of("first"));
    const watched_id second = watched(files.path_of("second"));
    files.put("first/one", "");
    move("first/one", "second/two");
    EXPECT_EQ(text_of(next()), "created one");  // the move is read already
    EXPECT_TRUE(changes->remove(first));
    EXPECT_EQ(all(), (texts{"moved in two"}));
    const watched_id again = watched(files.path_of("first"));
    files.put("first/one", "");
    move("first/one", "second/three");
    EXPECT_TRUE(changes->remove(second));  // the move is in the queue of the kernel
    EXPECT_EQ(all(), (texts{"created one", "written one", "moved out one"}));
    files.put("first/four", "");
    move("first/four", "four");
    EXPECT_EQ(text_of(next()), "created four");
    EXPECT_EQ(text_of(next()), "written four");
    EXPECT_EQ(run(waits(*changes, immediately)).error(), std::errc::timed_out);
    EXPECT_TRUE(changes->remove(again));  // a first half waits in front
    EXPECT_EQ(all(), texts{});
}

// --- overflow and bursts -------------------------------------------------------------------------

class file_watch_overflow_test : public file_watch_test {
protected:
    file_watch_overflow_test() {
        std::ifstream{"/proc/sys/fs/inotify/max_queued_events"} >> most;
        files.put("0", "");
        files.put("1", "");
    }
    // As many as the queue has room for, and as many again. Equal ones in a row would be one.
    void tell_too_much() const {
        for (std::size_t i = 0; i != 2 * most; ++i) {
            ASSERT_EQ(::chmod(files.path_of(std::to_string(i % 2)).c_str(), 0600), 0);
        }
    }

    const file_watch_options asked{.written = false, .attributes = true};
    std::size_t most = 0;
};

TEST_F(file_watch_overflow_test, is_told_where_it_was) {
    if (most == 0 || most > 100'000) GTEST_SKIP() << "the queue has room for " << most;
    const watched_id folder = watched(files.path(), asked);
    tell_too_much();
    for (std::size_t i = 0; i != most; ++i) {
        const file_event event = next();
        ASSERT_EQ(event.what, kind::attributes);
        ASSERT_EQ(event.name, std::to_string(i % 2));
        ASSERT_EQ(event.where, folder);
    }
    const file_event lost = next();
    EXPECT_EQ(lost.what, kind::overflow);
    EXPECT_EQ(lost.where, watched_id::none);
    EXPECT_EQ(lost.name, "");
    files.put("two", "");
    EXPECT_EQ(all(), (texts{"created two"}));
}

// An overflow has swallowed the last event of a watch that was removed. A later watch is told all.
TEST_F(file_watch_overflow_test, may_swallow_the_end_of_a_removed_watch) {
    if (most == 0 || most > 100'000) GTEST_SKIP() << "the queue has room for " << most;
    const watched_id folder = watched(files.path(), asked);
    tell_too_much();
    EXPECT_TRUE(changes->remove(folder));
    EXPECT_EQ(all(), (texts{"overflow"}));
    EXPECT_EQ(all(), texts{});
    watched(files.path(), asked);
    files.put("two", "");
    EXPECT_EQ(all(), (texts{"created two"}));
}

// --- ends ----------------------------------------------------------------------------------------

TEST_F(file_watch_test, a_wait_ends_by_a_deadline_or_a_stop) {
    watched(files.path(), {.written = false});
    const time_point deadline = clock::now() + 1ms;
    EXPECT_EQ(run(waits(*changes, deadline)).error(), std::errc::timed_out);
    EXPECT_GE(clock::now(), deadline);
    auto stopped = spawn(*home, waits(*changes, never));
    settle();
    stopped.request_stop();
    EXPECT_EQ(finish(stopped).error(), std::errc::operation_canceled);
    files.put("one", "");
    auto stopped_first = spawn(*home, waits(*changes, never));
    stopped_first.request_stop();
    EXPECT_EQ(finish(stopped_first).error(), std::errc::operation_canceled);
    EXPECT_EQ(all(), (texts{"created one"}));  // nothing was lost
}

TEST_F(file_watch_test, an_add_ends_by_a_stop) {
    auto stopped = spawn(*home, adds(*changes, files.path(), {}));
    stopped.request_stop();
    EXPECT_EQ(finish(stopped).error(), std::errc::operation_canceled);
    files.put("one", "");
    EXPECT_EQ(all(), texts{});
}

TEST_F(file_watch_test, can_be_moved_and_closed) {
    watched(files.path(), {.written = false});
    file_watch other{std::move(*changes)};
    EXPECT_FALSE(changes->is_open());
    EXPECT_TRUE(other.is_open());
    files.put("one", "");
    *changes = std::move(other);
    EXPECT_EQ(all(), (texts{"created one"}));
    changes->close();
    EXPECT_FALSE(changes->is_open());
    EXPECT_FALSE(epoll().has_sources());
    EXPECT_EQ(run(waits(*changes, never)).error(), std::errc::bad_file_descriptor);
    EXPECT_EQ(add(files.path()).error(), std::errc::bad_file_descriptor);
    EXPECT_EQ(changes->remove(watched_id{1}).error(), std::errc::bad_file_descriptor);
}

// --- errors --------------------------------------------------------------------------------------

TEST_F(file_watch_test, what_cannot_be_watched_is_an_error) {
    EXPECT_EQ(add(files.path_of("none")).error(), std::errc::no_such_file_or_directory);
    EXPECT_EQ(add("").error(), std::errc::no_such_file_or_directory);
    EXPECT_EQ(add(std::string{"a\0b", 3}).error(), std::errc::invalid_argument);
    EXPECT_EQ(add(files.path(), {.names = false, .written = false}).error(),
              std::errc::invalid_argument);
    files.put("one", "");
    EXPECT_EQ(add(files.path_of("one/two")).error(), std::errc::not_a_directory);
    EXPECT_EQ(changes->remove(watched_id::none).error(), std::errc::invalid_argument);
    files.put("two", "");
    EXPECT_EQ(all(), texts{});
}

// The kernel takes a watch there, and tells nothing.
TEST_F(file_watch_test, a_file_system_that_tells_nothing_is_refused) {
    EXPECT_EQ(add("/proc/self").error(), std::errc::operation_not_supported);
    EXPECT_EQ(add("/proc/self", {.shared = true}).error(), std::errc::operation_not_supported);
}

class file_watch_death_test : public file_watch_test {
protected:
    file_watch_death_test() { testing::FLAGS_gtest_death_test_style = "threadsafe"; }
};

TEST_F(file_watch_death_test, two_tasks_wait) {
    EXPECT_DEATH(
        {
            spawn(*home, waits(*changes, never)).detach();
            spawn(*home, waits(*changes, never)).detach();
            settle();
        },
        "two tasks wait for the same direction");
}

TEST_F(file_watch_death_test, it_is_closed_while_a_task_waits) {
    EXPECT_DEATH(
        {
            spawn(*home, waits(*changes, never)).detach();
            settle();
            changes->close();
        },
        "closed while a task waits");
}

}  // namespace
}  // namespace fairlead::io::file_watch_tests
