// Files are watched while the system fails.
#include "faults/sweep.hpp"
#include "support/folder.hpp"
#include "support/must.hpp"
#include "support/sockets.hpp"
#include "support/watchdog.hpp"

#include <fairlead/coro/spawn.hpp>
#include <fairlead/io/file_watch.hpp>

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdio>
#include <string>
#include <system_error>
#include <utility>

namespace fairlead::test::file_watch_tests {
namespace {

using kind = io::file_event::kind;

// A file is moved while a task waits; then the watch is removed.
struct paths {
    std::string folder;
    std::string one;
    std::string two;
};

task<> follows(io::file_watch& changes, const paths& files) {
    const io::watched_id folder = must(co_await changes.add(files.folder));
    // There and back again: the next run finds the file where it was.
    EXPECT_EQ(std::rename(files.one.c_str(), files.two.c_str()), 0);
    EXPECT_EQ(std::rename(files.two.c_str(), files.one.c_str()), 0);
    for (const char* const name : {"two", "one"}) {
        const io::file_event event = must(co_await changes.next());
        EXPECT_EQ(event.what, kind::moved);
        EXPECT_EQ(event.name, name);
        EXPECT_EQ(event.where, folder);
    }
    must(changes.remove(folder));
    const auto nothing = co_await changes.next(immediately);
    EXPECT_FALSE(nothing);
    if (!nothing && nothing.error() != std::errc::timed_out) must(nothing);
}

class file_watch_failures : public testing::Test {
protected:
    file_watch_failures() { files.put("one", ""); }

    void sweeps(const fault& what, outcome right = outcome::reported) {
        sweep(what, right, [&] { scenario(); });
    }
    void scenario() {
        scheduler home{with_epoll_on_caller()};
        io::file_watch changes = must(io::file_watch::make(io::epoll_driver::of(home)));
        auto following = spawn(home, follows(changes, all));
        while (!following.ended()) home.run_until(never, 1);
        following.get();
    }

    const watchdog guard;
    const folder files;
    const paths all{files.path(), files.path_of("one"), files.path_of("two")};  // made once
};

TEST_F(file_watch_failures, without_inotify_there_is_no_watch) {
    for (const int error : {EMFILE, ENFILE, ENOMEM, ENOSYS}) sweeps({"inotify_init1", error});
}

TEST_F(file_watch_failures, a_watch_that_is_refused_is_reported) {
    for (const int error : {ENOSPC, ENOMEM, ENOENT, EACCES}) sweeps({"inotify_add_watch", error});
    for (const int error : {EINVAL, EBADF}) sweeps({"inotify_rm_watch", error});
}

TEST_F(file_watch_failures, a_file_system_that_is_not_known_is_reported) {
    for (const int error : {EACCES, ENOENT, EIO}) sweeps({"statfs", error});
    sweep_range(
        {"statfs", EINTR}, outcome::invisible, [&] { scenario(); }, call_range::only);
}

// The driver, too, reads: its wake-ups.
TEST_F(file_watch_failures, a_read_that_fails_is_reported_and_loses_nothing) {
    sweep_range(
        {"read", EINTR}, outcome::invisible, [&] { scenario(); }, call_range::only);
    sweeps({"read", EIO}, outcome::maybe_reported);
    const armed plan{{"read", EIO}, call_range::from(1)};
    EXPECT_THROW(scenario(), std::system_error);
}

TEST_F(file_watch_failures, without_memory_it_is_reported) { sweeps({}, outcome::maybe_reported); }

// An event for which there was no memory is told when there is.
TEST_F(file_watch_failures, an_event_is_not_lost_for_the_lack_of_memory) {
    const std::string name(100, 'x');
    scheduler home{with_epoll_on_caller()};
    io::file_watch changes = must(io::file_watch::make(io::epoll_driver::of(home)));
    static constexpr auto adds = [](io::file_watch& to, std::string path) -> task<> {
        const io::file_watch_options names{.written = false};
        must(co_await to.add(std::move(path), names));
    };
    static constexpr auto waits = [](io::file_watch& on) -> task<std::string> {
        co_return must(co_await on.next()).name;
    };
    auto adding = spawn(home, adds(changes, files.path()));
    while (!adding.ended()) home.run_until(never, 1);
    adding.get();
    files.put(name, "");
    std::size_t failed = 0;
    for (std::int64_t n = 1;; ++n) {
        // The task is made before, and its frames may be kept from an earlier run.
        auto waiting = spawn(home, waits(changes));
        {
            const armed plan{fault{}, call_range::from(n)};
            while (!waiting.ended()) home.run_until(never, 1);
        }
        try {
            EXPECT_EQ(waiting.get(), name);
            break;
        } catch (const std::bad_alloc&) {
            ++failed;
        }
        ASSERT_LT(n, 100);
    }
    EXPECT_GT(failed, 0U);
}

}  // namespace
}  // namespace fairlead::test::file_watch_tests
