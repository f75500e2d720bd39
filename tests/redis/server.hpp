// A real redis-server for a test: in a temporary folder, on a Unix socket and a port of 127.0.0.1,
// without persistence, as an unprivileged user. It is killed at the end.
#pragma once

#include "support/folder.hpp"

#include <fairlead/io/address.hpp>
#include <fairlead/os/unique_fd.hpp>

#include <gtest/gtest.h>

#include <netinet/in.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

namespace fairlead::redis::test {

class server {
public:
    explicit server(std::vector<std::string> more = {}) : more_{std::move(more)} {
        EXPECT_EQ(::chmod(folder_.path().c_str(), 0777), 0);  // the server runs as another user
        port_ = free_port();
        start();
    }
    server(const server&) = delete;
    server& operator=(const server&) = delete;
    ~server() {
        if (pid_ > 0) kill();
    }

    /// Starts it, and waits until it says that it accepts connections.
    void start() {
        int ends[2] = {-1, -1};
        ASSERT_EQ(::pipe(ends), 0);
        std::vector<std::string> words{"redis-server",
                                       "--port",
                                       std::to_string(port_),
                                       "--bind",
                                       "127.0.0.1",
                                       "--unixsocket",
                                       path(),
                                       "--unixsocketperm",
                                       "777",
                                       "--save",
                                       "",
                                       "--appendonly",
                                       "no",
                                       "--dir",
                                       folder_.path(),
                                       "--daemonize",
                                       "no",
                                       "--enable-debug-command",
                                       "yes"};
        words.insert(words.end(), more_.begin(), more_.end());
        std::vector<char*> arguments;
        for (std::string& each : words) arguments.push_back(each.data());
        arguments.push_back(nullptr);
        const passwd* const nobody = ::geteuid() == 0 ? ::getpwnam("nobody") : nullptr;
        const pid_t parent = ::getpid();
        pid_ = ::fork();
        ASSERT_GE(pid_, 0);
        if (pid_ == 0) {
            ::dup2(ends[1], STDOUT_FILENO);
            ::dup2(ends[1], STDERR_FILENO);
            ::close(ends[0]);
            ::close(ends[1]);
            if (nobody != nullptr &&
                (::setgid(nobody->pw_gid) != 0 || ::setuid(nobody->pw_uid) != 0)) {
                ::_exit(126);
            }
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // after setuid, which takes it back
            if (::getppid() != parent) ::_exit(125);
            ::execvp(arguments[0], arguments.data());
            ::_exit(127);
        }
        ::close(ends[1]);
        output_ = os::unique_fd{ends[0]};
        std::string said;
        while (said.find("eady to accept connections") == std::string::npos ||
               said.find("redis.sock\n") == std::string::npos) {
            char text[1024];
            const ssize_t count = ::read(output_.get(), text, sizeof(text));
            ASSERT_GT(count, 0) << "redis-server has not begun (Debian: redis-server): " << said;
            said.append(text, static_cast<std::size_t>(count));
        }
    }
    void kill() {
        ::kill(pid_, SIGKILL);
        EXPECT_EQ(::waitpid(std::exchange(pid_, -1), nullptr, 0) > 0, true);
    }
    /// Returns when it has stopped.
    void pause() const {
        ::kill(pid_, SIGSTOP);
        int status = 0;
        ASSERT_EQ(::waitpid(pid_, &status, WUNTRACED), pid_);
        ASSERT_TRUE(WIFSTOPPED(status));
    }
    void resume() const { ::kill(pid_, SIGCONT); }

    [[nodiscard]] std::string path() const { return folder_.path_of("redis.sock"); }
    [[nodiscard]] io::address address() const { return io::address::loopback(port_); }

private:
    [[nodiscard]] static std::uint16_t free_port() {
        const os::unique_fd probe{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
        const io::address any = io::address::loopback(0);
        EXPECT_EQ(::bind(probe.get(), any.data(), any.size()), 0);
        sockaddr_storage bound{};
        socklen_t size = sizeof(bound);
        EXPECT_EQ(::getsockname(probe.get(), reinterpret_cast<sockaddr*>(&bound), &size), 0);
        return io::address{reinterpret_cast<const sockaddr*>(&bound), size}.port();
    }

    const std::vector<std::string> more_;
    const fairlead::test::folder folder_;
    std::uint16_t port_ = 0;
    pid_t pid_ = -1;
    os::unique_fd output_;  // kept open: the server writes its log there
};

}  // namespace fairlead::redis::test
