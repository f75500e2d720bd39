// Starts children in tests, and waits for them.
#pragma once

#include "support/must.hpp"
#include "support/sockets.hpp"
#include "support/watchdog.hpp"

#include <fairlead/coro/spawn.hpp>
#include <fairlead/io/process.hpp>
#include <fairlead/io/process_output.hpp>

#include <gtest/gtest.h>

#include <dirent.h>
#include <sched.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace fairlead::io {

using namespace std::chrono_literals;
using test::must;

using command = std::vector<std::string>;

inline command shell(std::string script) { return {"/bin/sh", "-c", std::move(script)}; }

// Waits until the system has no such child any more; it is none of this function to take it.
inline void expect_no_zombie(pid_t id) {
    siginfo_t told{};
    while (::waitid(P_PID, static_cast<id_t>(id), &told, WEXITED | WNOWAIT) == 0) ::sched_yield();
    EXPECT_EQ(errno, ECHILD);
}

inline std::size_t open_descriptors() {
    std::size_t count = 0;
    DIR* const all = ::opendir("/proc/self/fd");
    while (::readdir(all) != nullptr) ++count;
    ::closedir(all);
    return count;
}

class process_test : public testing::Test {
protected:
    template <class T>
    T finish(join_handle<T>& handle) {
        while (!handle.ended()) home.run_until(never, 1);
        return handle.get();
    }
    template <class T>
    T run(task<T> body) {
        auto handle = spawn(home, std::move(body));
        return finish(handle);
    }
    process started(command arguments, process_options options = {}) {
        return must(run(process::spawn(std::move(arguments), std::move(options))));
    }
    std::error_code refused(command arguments, process_options options = {}) {
        const auto made = run(process::spawn(std::move(arguments), std::move(options)));
        return made ? std::error_code{} : made.error();
    }
    process_output said(command arguments, process_options options = {}) {
        output_options collecting;
        collecting.process = std::move(options);
        return must(run(output_of(std::move(arguments), std::move(collecting))));
    }
    exit_status ended(process& of) { return must(run(of.wait())); }

    // A child that says "ready" when it has set up what `script` does first, and runs on.
    process ready(std::string script, child_group group = child_group::same) {
        process_options options;
        options.in = child_stream::pipe();
        options.out = child_stream::pipe();
        options.group = group;
        process made = started(shell(std::move(script)), std::move(options));
        EXPECT_EQ(text_of(made), "ready\n");
        return made;
    }
    std::string text_of(process& of) {
        const auto reads = [&]() -> task<std::string> {
            std::array<std::byte, 100> buffer;
            const std::size_t size = must(co_await of.out().read_some(buffer));
            co_return std::string{reinterpret_cast<const char*>(buffer.data()), size};
        };
        return run(reads());
    }

    const test::watchdog guard;
    scheduler home{test::with_epoll_on_caller()};
};

}  // namespace fairlead::io
