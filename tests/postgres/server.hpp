// A real PostgreSQL for the tests: in a temporary folder, on a Unix socket and a port of 127.0.0.1,
// as an unprivileged user. It is made once for the program, and killed at its end, also when the
// program crashes.
#pragma once

#include "support/folder.hpp"

#include <fairlead/io/address.hpp>
#include <fairlead/os/unique_fd.hpp>

#include <gtest/gtest.h>

#include <fcntl.h>
#include <netinet/in.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace fairlead::postgres::test {

class server {
public:
    /// The one of this program, which runs.
    static server& shared() {
        static server only;
        if (only.pid_ < 0) only.start();
        return only;
    }
    server(const server&) = delete;
    server& operator=(const server&) = delete;
    ~server() {
        if (pid_ > 0) end_with(SIGKILL);
    }

    /// Starts it, and waits until it says that it accepts connections. What is left of a server
    /// that was killed makes the first attempts fail.
    void start() {
        for (int attempt = 0; attempt != 200; ++attempt) {
            if (try_to_start()) return;
        }
        throw std::runtime_error{"postgres has not begun (Debian: postgresql-15): " + said_};
    }
    /// Ends it and waits for that. SIGQUIT: as `pg_ctl stop -m immediate`.
    void end_with(int signal) {
        ::kill(pid_, signal);
        ::waitpid(std::exchange(pid_, -1), nullptr, 0);
    }
    void restart_after(int signal) {
        end_with(signal);
        start();
    }

    /// Restarts it with TLS beside plain connections over TCP, by a certificate and its key.
    void use_tls(const std::string& certificate, const std::string& key) {
        put("server.crt", certificate);
        put("server.key", key);
        restart_after(SIGINT);
    }
    /// Restarts it without.
    void use_no_tls() {
        std::filesystem::remove(data() + "/server.key");
        restart_after(SIGINT);
    }

    [[nodiscard]] std::uint16_t port() const { return port_; }
    [[nodiscard]] std::string by_unix(std::string more = {}) const {
        return "host=" + folder_.path().string() + " port=" + std::to_string(port_) +
               " user=test dbname=postgres " + std::move(more);
    }
    [[nodiscard]] std::string by_tcp(std::string more = {}) const {
        return "host=127.0.0.1 port=" + std::to_string(port_) + " user=test dbname=postgres " +
               std::move(more);
    }

private:
    server() {
        EXPECT_EQ(::chmod(folder_.path().c_str(), 0777), 0);  // the server is another user's
        port_ = free_port();
        const os::unique_fd out{begin({"initdb", "-D", data(), "-U", "test", "-A", "trust", "-E",
                                       "UTF8", "--locale=C", "--no-sync"})};
        static_cast<void>(read_until(out.get(), ""));
        int status = 0;
        ::waitpid(std::exchange(pid_, -1), &status, 0);
        if (status != 0) {
            throw std::runtime_error{"no initdb (Debian: postgresql-15): " + said_};
        }
        const std::string rules =
            "local all secret scram-sha-256\nlocal all all trust\n"
            "host all all 127.0.0.1/32 trust\n";
        std::ofstream{data() + "/pg_hba.conf"} << rules;
    }

    [[nodiscard]] bool try_to_start() {
        const bool has_key = std::filesystem::exists(data() + "/server.key");
        os::unique_fd out{begin({"postgres", "-D",
                                 data(),     "-F",
                                 "-k",       folder_.path().string(),
                                 "-p",       std::to_string(port_),
                                 "-c",       "listen_addresses=127.0.0.1",
                                 "-c",       "max_connections=20",
                                 "-c",       "log_min_messages=log",
                                 "-c",       "log_checkpoints=off",
                                 "-c",       "shared_buffers=16MB",
                                 "-c",       "autovacuum=off",
                                 "-c",       "deadlock_timeout=20ms",
                                 "-c",       has_key ? "ssl=on" : "ssl=off"})};
        if (!read_until(out.get(), "ready to accept connections")) {
            ::waitpid(std::exchange(pid_, -1), nullptr, 0);
            return false;
        }
        // A server of which the log is not read stops.
        log_ = std::jthread{[out = std::move(out)] {
            char text[1024];
            while (::read(out.get(), text, sizeof(text)) > 0) {
            }
        }};
        return true;
    }

    // Runs a program; gives what it says.
    [[nodiscard]] int begin(std::vector<std::string> words) {
        int ends[2] = {-1, -1};
        if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error{"no pipe"};
        const std::string folder = "/usr/lib/postgresql/15/bin/";
        if (std::filesystem::exists(folder + words[0])) words[0] = folder + words[0];
        std::vector<char*> arguments;
        for (std::string& each : words) arguments.push_back(each.data());
        arguments.push_back(nullptr);
        const passwd* const nobody = other_user();
        const pid_t parent = ::getpid();
        pid_ = ::fork();
        if (pid_ == 0) {
            ::dup2(ends[1], STDOUT_FILENO);
            ::dup2(ends[1], STDERR_FILENO);
            if (::chdir("/") != 0) ::_exit(124);
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
        return ends[0];
    }
    // False: it has ended before.
    [[nodiscard]] bool read_until(int out, const std::string& words) {
        said_.clear();
        while (words.empty() || said_.find(words) == std::string::npos) {
            char text[1024];
            const ssize_t count = ::read(out, text, sizeof(text));
            if (count <= 0) return false;
            said_.append(text, static_cast<std::size_t>(count));
        }
        return true;
    }

    // Writes a file into the data of the server, which only its user may read.
    void put(const std::string& name, const std::string& text) const {
        const std::string path = data() + "/" + name;
        std::ofstream{path} << text;
        EXPECT_EQ(::chmod(path.c_str(), 0600), 0);
        const passwd* const nobody = other_user();
        if (nobody != nullptr) {
            EXPECT_EQ(::chown(path.c_str(), nobody->pw_uid, nobody->pw_gid), 0);
        }
    }
    // The user of the server, which refuses to be root; null: that of the program.
    [[nodiscard]] static const passwd* other_user() {
        return ::geteuid() == 0 ? ::getpwnam("nobody") : nullptr;
    }
    [[nodiscard]] std::string data() const { return folder_.path_of("data"); }

    [[nodiscard]] static std::uint16_t free_port() {
        const os::unique_fd probe{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
        const io::address any = io::address::loopback(0);
        EXPECT_EQ(::bind(probe.get(), any.data(), any.size()), 0);
        sockaddr_storage bound{};
        socklen_t size = sizeof(bound);
        EXPECT_EQ(::getsockname(probe.get(), reinterpret_cast<sockaddr*>(&bound), &size), 0);
        return io::address{reinterpret_cast<const sockaddr*>(&bound), size}.port();
    }

    const fairlead::test::folder folder_;
    std::uint16_t port_ = 0;
    pid_t pid_ = -1;
    std::string said_;
    std::jthread log_;  // ends with all processes of the server
};

}  // namespace fairlead::postgres::test
