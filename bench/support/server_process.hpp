// A server of a package, started for a run and ended with it: in a temporary folder, which goes
// away, too, and on a port of the loopback interface. Its output goes to a file in the folder.
#pragma once

#include "support/clock.hpp"
#include "support/socket.hpp"

#include <fcntl.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace bench {

class temporary_folder {
public:
    temporary_folder() {
        std::string name = (std::filesystem::temp_directory_path() / "fairlead-XXXXXX").string();
        if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error{"no folder " + name};
        path_ = name;
        checked(::chmod(name.c_str(), 0777), "chmod");  // servers give up the rights of root
    }
    temporary_folder(const temporary_folder&) = delete;
    temporary_folder& operator=(const temporary_folder&) = delete;
    ~temporary_folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }

    [[nodiscard]] std::string path_of(std::string_view name) const {
        return (path_ / name).string();
    }
    void put(std::string_view name, std::string_view text) const {
        std::ofstream file{path_of(name), std::ios::binary};
        file << text;
        if (!file.flush()) throw std::runtime_error{"cannot write " + path_of(name)};
    }

private:
    std::filesystem::path path_;
};

inline std::string text_of(const std::string& path) {
    std::ifstream file{path, std::ios::binary};
    return {std::istreambuf_iterator<char>{file}, {}};
}

/// A port that is free now. Another program could take it before the server does; then the
/// server does not begin, and the run fails.
inline std::uint16_t free_port() {
    const unique_fd probe{checked(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket")};
    sockaddr_in own = loopback(0);
    socklen_t size = sizeof(own);
    checked(::bind(probe.get(), reinterpret_cast<const sockaddr*>(&own), size), "bind");
    checked(::getsockname(probe.get(), reinterpret_cast<sockaddr*>(&own), &size), "getsockname");
    return ntohs(own.sin_port);
}

/// A program with its children, ended by SIGTERM at the latest with this process.
class server_process {
public:
    /// `unprivileged`: another user, if this process is root's.
    enum class user : bool { same, unprivileged };

    /// Starts `words`, of which the first is looked for in the path, in the folder of `log`. Its
    /// output goes to `log`.
    server_process(std::vector<std::string> words, std::string log, user as = user::same)
        : name_{words.front()}, log_{std::move(log)} {
        std::vector<char*> arguments;
        for (std::string& each : words) arguments.push_back(each.data());
        arguments.push_back(nullptr);
        const bool changes = as == user::unprivileged && ::geteuid() == 0;
        const passwd* const nobody = changes ? ::getpwnam("nobody") : nullptr;
        const unique_fd output{checked(
            ::open(log_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666), "the log")};
        const pid_t parent = ::getpid();
        id_ = checked(::fork(), "fork");
        if (id_ != 0) return;
        ::dup2(output.get(), STDOUT_FILENO);
        ::dup2(output.get(), STDERR_FILENO);
        if (::chdir(std::filesystem::path{log_}.parent_path().c_str()) != 0) ::_exit(124);
        if (nobody != nullptr && (::setgid(nobody->pw_gid) != 0 || ::setuid(nobody->pw_uid) != 0)) {
            ::_exit(126);
        }
        ::prctl(PR_SET_PDEATHSIG, SIGTERM);  // after setuid, which takes it back
        if (::getppid() != parent) ::_exit(125);
        ::execvp(arguments[0], arguments.data());
        ::_exit(127);
    }
    server_process(const server_process&) = delete;
    server_process& operator=(const server_process&) = delete;
    ~server_process() {
        if (id_ == 0) return;
        ::kill(id_, SIGTERM);
        ::waitpid(id_, nullptr, 0);
    }

    /// Until it accepts connections. Throws if it ends before, or nothing happens for long.
    void wait_for(std::uint16_t port) {
        const sockaddr_in server = loopback(port);
        for (int i = 0; i != 5'000; ++i) {
            const unique_fd probe{checked(::socket(AF_INET, SOCK_STREAM, 0), "socket")};
            if (::connect(probe.get(), reinterpret_cast<const sockaddr*>(&server),
                          sizeof(server)) == 0) {
                return;
            }
            if (::waitpid(id_, nullptr, WNOHANG) == id_) {
                id_ = 0;
                break;
            }
            std::this_thread::sleep_for(std::chrono::milliseconds{2});
        }
        throw std::runtime_error{name_ + " does not begin: " + text_of(log_)};
    }
    /// Until it has ended by itself; its exit status.
    int wait() {
        int status = 0;
        checked(::waitpid(id_, &status, 0), "waitpid");
        id_ = 0;
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }

    /// Of it and its children, also of those that have ended; to the tick of the kernel, 10 ms.
    [[nodiscard]] double cpu_seconds() const {
        std::uint64_t ticks = 0;
        for (const pid_t each : family()) {
            const std::string text = text_of("/proc/" + std::to_string(each) + "/stat");
            // Behind the name, which may have anything in it: the state, 10 numbers, the times.
            std::istringstream rest{text.substr(std::min(text.rfind(')'), text.size() - 1) + 1)};
            std::string skipped;
            for (int i = 0; i != 11; ++i) rest >> skipped;
            for (int i = 0; i != 4; ++i) {
                std::uint64_t part = 0;
                if (rest >> part) ticks += part;
            }
        }
        return static_cast<double>(ticks) / static_cast<double>(::sysconf(_SC_CLK_TCK));
    }
    /// The sum of what each of them ever held; what they share is counted for each.
    [[nodiscard]] std::uint64_t peak_rss_bytes() const {
        std::uint64_t sum = 0;
        for (const pid_t each : family()) {
            sum += bench::peak_rss_bytes("/proc/" + std::to_string(each) + "/status");
        }
        return sum;
    }

private:
    [[nodiscard]] std::vector<pid_t> family() const {
        std::vector<pid_t> found{id_};
        for (std::size_t i = 0; i != found.size(); ++i) {
            const std::string own = std::to_string(found[i]);
            std::istringstream children{text_of("/proc/" + own + "/task/" + own + "/children")};
            for (pid_t each = 0; children >> each;) found.push_back(each);
        }
        return found;
    }

    std::string name_;
    std::string log_;
    pid_t id_ = 0;
};

}  // namespace bench
