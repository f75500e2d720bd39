// W19, databases: a program asks a server on the loopback interface, which it starts itself. The
// cases:
//
//     select    PostgreSQL: a row of `size` bytes by its key, with a prepared statement
//     get       Redis: a value of `size` bytes
//
// There are `count` requests, `in_flight` at a time on each of `connections`. `value` is
// nanoseconds of wall time for one request; CPU time is that of the program that asks, whose
// answers are checked. A tenth of the requests come before the measurement.
#pragma once

#include "support/options.hpp"
#include "support/result.hpp"
#include "support/server_process.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace bench::w19 {

inline constexpr int rows = 1000;
/// Of the value. redis-benchmark asks for this key.
inline constexpr std::string_view key = "key:__rand_int__";
inline constexpr std::string_view query = "select body from pages where id = $1";

/// Runs a program to its end. Throws what it says if it fails.
inline std::string run_tool(const temporary_folder& folder, const std::vector<std::string>& words,
                            server_process::user as = server_process::user::same) {
    const std::string output = folder.path_of("tool.out");
    server_process tool{words, output, as};
    const int status = tool.wait();
    std::string said = text_of(output);
    if (status != 0) throw std::runtime_error{words.front() + " fails: " + said};
    return said;
}

/// A PostgreSQL with the table `pages`, whose rows have a body of `size` bytes each.
class postgres_server {
public:
    explicit postgres_server(std::uint64_t size) {
        run_tool(folder_,
                 {program("initdb"), "-D", data(), "-U", "bench", "-A", "trust", "--locale=C",
                  "--no-sync"},
                 server_process::user::unprivileged);
        process_.emplace(
            std::vector<std::string>{program("postgres"), "-D", data(), "-F", "-k",
                                     folder_.path_of(""), "-p", std::to_string(port_), "-c",
                                     "listen_addresses=127.0.0.1", "-c", "autovacuum=off"},
            folder_.path_of("postgres.out"), server_process::user::unprivileged);
        process_->wait_for(port_);
        wait_until_ready();
        const std::string bytes = std::to_string(size);
        run_tool(folder_, {"psql", "-q", "-v", "ON_ERROR_STOP=1", "-d", conninfo(), "-c",
                           "create table pages (id int primary key, body text not null)", "-c",
                           "insert into pages select i, repeat('x', " + bytes +
                               ") from generate_series(1, " + std::to_string(rows) + ") i",
                           "-c", "vacuum analyze pages"});
    }

    [[nodiscard]] const temporary_folder& folder() const { return folder_; }
    [[nodiscard]] std::string conninfo() const {
        return "host=127.0.0.1 port=" + std::to_string(port_) + " user=bench dbname=postgres";
    }
    [[nodiscard]] static std::string program(const std::string& name) {
        const std::string debian = "/usr/lib/postgresql/15/bin/" + name;
        return std::filesystem::exists(debian) ? debian : name;
    }

private:
    // It listens before it takes clients.
    void wait_until_ready() const {
        for (int i = 0; i != 1'000; ++i) {
            server_process asks{
                {"pg_isready", "-q", "-h", "127.0.0.1", "-p", std::to_string(port_)},
                folder_.path_of("tool.out")};
            if (asks.wait() == 0) return;
            std::this_thread::sleep_for(std::chrono::milliseconds{5});
        }
        throw std::runtime_error{"postgres takes no clients: " +
                                 text_of(folder_.path_of("postgres.out"))};
    }
    [[nodiscard]] std::string data() const { return folder_.path_of("data"); }

    const temporary_folder folder_;
    const std::uint16_t port_ = free_port();
    std::optional<server_process> process_;
};

/// A Redis with a value of `size` bytes.
class redis_server {
public:
    explicit redis_server(std::uint64_t size)
        : process_{{"redis-server", "--port", std::to_string(port_), "--bind", "127.0.0.1",
                    "--save", "", "--appendonly", "no", "--dir", folder_.path_of("")},
                   folder_.path_of("redis.out"),
                   server_process::user::unprivileged} {
        process_.wait_for(port_);
        run_tool(folder_, {"redis-cli", "-p", std::to_string(port_), "set", std::string{key},
                           std::string(size, 'x')});
    }

    [[nodiscard]] const temporary_folder& folder() const { return folder_; }
    [[nodiscard]] std::uint16_t port() const { return port_; }

private:
    const temporary_folder folder_;
    const std::uint16_t port_ = free_port();
    server_process process_;
};

inline void require(bool holds, const char* what) {
    if (!holds) throw std::runtime_error{what};
}

/// Makes the server and then what asks it, `Asks`, whose `run` makes so many requests and throws if
/// an answer is wrong.
template <class Server, class Asks>
measurement measure_requests(const options& asked) {
    const Server server{asked.size};
    Asks asks{server, asked};
    asks.run(asked.count / 10);
    const stopwatch watch;
    asks.run(asked.count);
    measurement found = watch.per_item(asked.count);
    found.beside = {{"rate", 1e9 / found.value, "requests/s"}};
    return found;
}

/// Of tools that measure themselves: the requests in a second that they tell, and the CPU time of
/// this process and its children that have ended.
inline double cpu_seconds_of_tools() {
    rusage spent{};
    checked(::getrusage(RUSAGE_CHILDREN, &spent), "getrusage");
    return static_cast<double>(spent.ru_utime.tv_sec + spent.ru_stime.tv_sec) +
           static_cast<double>(spent.ru_utime.tv_usec + spent.ru_stime.tv_usec) * 1e-6;
}

inline measurement told(double rate, double cpu_before, const options& asked) {
    require(rate > 0, "the tool tells no rate");
    return {.value = 1e9 / rate,
            .cpu_seconds = cpu_seconds_of_tools() - cpu_before,
            .items = asked.count,
            .beside = {{"rate", rate, "requests/s"}}};
}

}  // namespace bench::w19
