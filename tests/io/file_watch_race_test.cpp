// Files change on other threads while tasks follow them.
#include "support/folder.hpp"
#include "support/must.hpp"
#include "support/sockets.hpp"

#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/io/file_watch.hpp>

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <expected>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace fairlead::io::file_watch_race_tests {
namespace {

using namespace std::chrono_literals;
using kind = file_event::kind;
namespace fs = std::filesystem;

task<std::expected<watched_id, std::error_code>> adds(file_watch& to, std::string path,
                                                      file_watch_options options) {
    co_return co_await to.add(std::move(path), options);
}

// Threads make, move and remove files while a task follows them: in the end it knows which files
// there are.
TEST(file_watch_race_test, the_events_lead_to_what_is_there) {
    const test::watchdog guard;
    const test::folder files;
    scheduler home{test::with_epoll(2)};
    file_watch changes = file_watch::make(epoll_driver::of(home)).value();
    static constexpr int threads = 3;
    static constexpr int steps = 1500;
    using known = std::map<watched_id, std::set<std::string>>;
    const auto path_of = [&](unsigned folder, unsigned name) {
        return files.path_of("folder" + std::to_string(folder)) + "/" + std::to_string(name);
    };
    static constexpr auto follows = [](file_watch& on, known& names) -> task<bool> {
        for (;;) {
            const file_event event = test::must(co_await on.next());
            switch (event.what) {
                case kind::created:
                case kind::moved_in:
                    if (event.name == "last") co_return true;
                    names[event.where].insert(event.name);
                    break;
                case kind::removed:
                case kind::moved_out:
                    names[event.where].erase(event.name);
                    break;
                case kind::moved:
                    names[event.from].erase(event.from_name);
                    names[event.where].insert(event.name);
                    break;
                default:
                    co_return false;
            }
        }
    };
    known names;
    std::vector<watched_id> folders;
    for (unsigned i = 0; i != 2; ++i) {
        const std::string path = files.path_of("folder" + std::to_string(i));
        ASSERT_EQ(::mkdir(path.c_str(), 0755), 0);
        folders.push_back(block_on(home, adds(changes, path, {.written = false})).value());
    }
    ASSERT_EQ(::mkdir(files.path_of("folder2").c_str(), 0755), 0);  // not watched
    auto following = spawn(home, follows(changes, names));
    {
        std::vector<std::jthread> all;
        for (unsigned seed = 0; seed != threads; ++seed) {
            all.emplace_back([&path_of, seed] {
                std::mt19937 random{seed};
                for (int i = 0; i != steps; ++i) {
                    // Names of this thread alone: else the order of its own steps is not known.
                    const unsigned name = seed * 100 + random() % 5;
                    const std::string path = path_of(random() % 3, name);
                    const std::string other = path_of(random() % 3, seed * 100 + random() % 5);
                    switch (random() % 3) {
                        case 0: {
                            const os::unique_fd made{
                                ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644)};
                            break;
                        }
                        case 1:
                            ::unlink(path.c_str());
                            break;
                        default:
                            static_cast<void>(!::rename(path.c_str(), other.c_str()));
                    }
                }
            });
        }
    }
    std::ofstream{files.path_of("folder1/last")} << "x";
    ASSERT_TRUE(following.get());
    for (unsigned i = 0; i != 2; ++i) {
        std::set<std::string> there;
        for (const auto& each :
             fs::directory_iterator{files.path_of("folder" + std::to_string(i))}) {
            if (each.path().filename() != "last") there.insert(each.path().filename());
        }
        EXPECT_EQ(names[folders[i]], there);
    }
}

// Tasks add and remove while one waits.
TEST(file_watch_race_test, watches_come_and_go_while_a_task_waits) {
    const test::watchdog guard;
    const test::folder files;
    scheduler home{test::with_epoll(2)};
    file_watch changes = file_watch::make(epoll_driver::of(home)).value();
    static constexpr auto counts = [](file_watch& on) -> task<int> {
        for (int count = 0;; ++count) {
            const file_event event = test::must(co_await on.next());
            if (event.name == "last") co_return count;
        }
    };
    static constexpr auto comes_and_goes = [](file_watch& on, std::string path) -> task<> {
        for (int i = 0; i != 200; ++i) {
            const watched_id made = test::must(co_await on.add(path));
            std::ofstream{path + "/one"} << "x";
            test::must(on.remove(made));
        }
    };
    auto counting = spawn(home, counts(changes));
    std::vector<join_handle<void>> others;
    for (int i = 0; i != 3; ++i) {
        const std::string path = files.path_of(std::to_string(i));
        ASSERT_EQ(::mkdir(path.c_str(), 0755), 0);
        others.push_back(spawn(home, comes_and_goes(changes, path)));
    }
    for (auto& each : others) each.get();
    static_cast<void>(block_on(home, adds(changes, files.path(), {.written = false})).value());
    files.put("last", "");
    EXPECT_GE(counting.get(), 0);
}

}  // namespace
}  // namespace fairlead::io::file_watch_race_tests
