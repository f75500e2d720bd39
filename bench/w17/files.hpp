// W17, files: reads of 4 KiB at random places of a file of 64 MiB. Three cases:
//
//     disk      past the page cache (O_DIRECT), `chains` reads at once
//     memory    from the page cache, `chains` reads at once
//     beside    W13's echo over `connections`, while `chains` reads past the page cache go on
//
// `value` is nanoseconds of wall time for one read; of `beside`, for one message, and `reads` is
// how many reads a second were done meanwhile. Each block of the file begins with its number: a
// wrong one voids the run. Not offered where the file system has no O_DIRECT.
#pragma once

#include "support/client_process.hpp"
#include "support/clock.hpp"
#include "support/options.hpp"
#include "support/percentiles.hpp"
#include "support/result.hpp"
#include "support/socket.hpp"
#include "w13/echo.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bench::w17 {

constexpr std::size_t block_bytes = 4096;
constexpr std::uint64_t blocks = 16'384;

/// The file of a run, which goes away with it.
class big_file {
public:
    big_file() {
        std::string name = (std::filesystem::temp_directory_path() / "w17-XXXXXX").string();
        const unique_fd made{checked(::mkstemp(name.data()), "mkstemp")};
        path_ = name;
        std::vector<std::byte> block(block_bytes);
        for (std::uint64_t i = 0; i != blocks; ++i) {
            std::memcpy(block.data(), &i, sizeof(i));
            checked(static_cast<int>(::write(made.get(), block.data(), block.size())), "write");
        }
        checked(::fsync(made.get()), "fsync");
    }
    big_file(const big_file&) = delete;
    big_file& operator=(const big_file&) = delete;
    ~big_file() { ::unlink(path_.c_str()); }

    [[nodiscard]] const std::string& path() const { return path_; }
    [[nodiscard]] bool opens_past_cache() const {
        return unique_fd{::open(path_.c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC)}.get() >= 0;
    }

private:
    std::string path_;
};

/// Memory for one block, aligned as O_DIRECT needs it.
class block_room {
public:
    block_room() : begin_{static_cast<std::byte*>(std::aligned_alloc(block_bytes, block_bytes))} {}
    block_room(const block_room&) = delete;
    block_room& operator=(const block_room&) = delete;
    ~block_room() { std::free(begin_); }

    [[nodiscard]] std::span<std::byte> all() const { return {begin_, block_bytes}; }
    [[nodiscard]] bool has(std::uint64_t block) const {
        std::uint64_t number = 0;
        std::memcpy(&number, begin_, sizeof(number));
        return number == block;
    }

private:
    std::byte* begin_;
};

/// The reads of all tasks: which block is next, whether it came, and how long it took.
class reads {
public:
    explicit reads(std::uint64_t count) : left_{static_cast<std::int64_t>(count)} {}

    /// False: no read is left.
    [[nodiscard]] bool take(std::uint64_t& block) {
        const std::int64_t left = left_.fetch_sub(1, std::memory_order_relaxed);
        block = static_cast<std::uint64_t>(left) * 0x9E3779B97F4A7C15U >> 50U;
        return left > 0;
    }
    void came(bool right) {
        if (!right) wrong_.store(true, std::memory_order_relaxed);
        done_.fetch_add(1, std::memory_order_relaxed);
    }
    void end() { left_.store(0, std::memory_order_relaxed); }
    [[nodiscard]] std::uint64_t done() const { return done_.load(std::memory_order_relaxed); }
    [[nodiscard]] bool wrong() const { return wrong_.load(std::memory_order_relaxed); }

private:
    std::atomic<std::int64_t> left_;
    std::atomic<std::uint64_t> done_{0};
    std::atomic<bool> wrong_{false};
};

/// How a runtime is to read.
struct plan {
    const std::string& path;
    bool past_cache;
    std::uint64_t at_once;
    std::uint64_t workers;
};

/// `Runtime{plan}.read_all(reads)` does all of them; `Runtime::with_server` is a server as those of
/// W13, which reads from its begin to its end, or `std::nullptr_t`.
template <class Runtime>
std::optional<measurement> measure(const options& asked) {
    const std::string_view name = asked.name;
    if (name != "disk" && name != "memory" && name != "beside") return std::nullopt;
    if (asked.chains == 0 || asked.connections == 0) usage_error("nothing is asked for");
    const big_file file;
    const plan how{.path = file.path(),
                   .past_cache = name != "memory",
                   .at_once = asked.chains,
                   .workers = asked.workers};
    if (how.past_cache && !file.opens_past_cache()) return std::nullopt;
    measurement result;
    if (name == "beside") {
        if constexpr (std::is_same_v<typename Runtime::with_server, std::nullptr_t>) {
            return std::nullopt;
        } else {
            client_process<w13::client> peer{asked};
            reads all{INT64_MAX};
            typename Runtime::with_server server{how, all, w13::buffer_bytes(asked)};
            peer.connect(server.port());
            const std::uint64_t begin_ns = now_ns();
            const std::uint64_t before = all.done();
            result = peer.measure("messages/s");
            const auto done = static_cast<double>(all.done() - before);
            const auto seconds = static_cast<double>(now_ns() - begin_ns) * 1e-9;
            result.beside.push_back({"reads", done / seconds, "reads/s"});
            all.end();
            if (all.wrong()) result.failure = "a wrong block";
        }
    } else {
        Runtime runtime{how};
        reads before{blocks};
        runtime.read_all(before);
        reads all{asked.count};
        const stopwatch watch;
        runtime.read_all(all);
        result = watch.per_item(asked.count);
        if (all.wrong() || before.wrong()) result.failure = "a wrong block";
    }
    return result;
}

template <class Runtime>
int main(int argc, char** argv) {
    return run_main(argc, argv, "W17", Runtime::name, measure<Runtime>);
}

}  // namespace bench::w17
