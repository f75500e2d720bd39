// One client: reads its requests one after the other, runs them, answers in order.
#pragma once

#include <fairlead/coro/task.hpp>
#include <fairlead/io/tcp.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "savegames/connection_table.hpp"
#include "savegames/http.hpp"
#include "savegames/job.hpp"
#include "savegames/runner.hpp"
#include "savegames/service_stats.hpp"
#include "savegames/tokens.hpp"

namespace savegames {

struct connection_limits {
    http_limits http{};
    std::chrono::milliseconds read_timeout{10'000};    // head and body of one request
    std::chrono::milliseconds idle_timeout{60'000};    // between two requests
    std::chrono::milliseconds write_timeout{30'000};   // of one answer
    std::chrono::milliseconds request_timeout{5'000};  // from the whole request to its answer
    std::size_t memory_max = std::size_t{1} << 30;     // bytes in all bodies, about
};

// How much memory bodies hold. Requests are refused while it is too much; answers are counted, and
// may exceed it by what the requests under way produce. Any thread.
class body_memory {
public:
    explicit body_memory(std::size_t max) : max_{max} {}

    // What one request holds, given back when destroyed.
    class share {
    public:
        explicit share(body_memory& of) noexcept : of_{of} {}
        share(const share&) = delete;
        share& operator=(const share&) = delete;
        ~share() { of_.give_back(size_); }

        // False, and nothing taken, when there is too much already.
        [[nodiscard]] bool try_grow(std::size_t size) { return add(size, false); }
        void grow(std::size_t size) { (void)add(size, true); }

    private:
        bool add(std::size_t size, bool always) {
            const std::lock_guard lock{of_.mutex_};
            if (!always && of_.used_ + size > of_.max_) return false;
            of_.used_ += size;
            size_ += size;
            return true;
        }

        body_memory& of_;
        std::size_t size_ = 0;
    };

    [[nodiscard]] std::size_t used() const {
        const std::lock_guard lock{mutex_};
        return used_;
    }
    [[nodiscard]] std::size_t max() const noexcept { return max_; }

private:
    void give_back(std::size_t size) {
        if (size == 0) return;
        const std::lock_guard lock{mutex_};
        used_ -= size;
    }

    const std::size_t max_;
    mutable std::mutex mutex_;
    std::size_t used_ = 0;
};

// What all connections share. Outlives them.
struct service_parts {
    connection_limits limits;
    const job_context& jobs;
    runner& run;
    service_stats& stats;
    body_memory& memory;
    connection_table& table;
    std::function<std::shared_ptr<const token_table>()> tokens;  // null: none are needed
    std::function<std::string()> stats_json;
};

// Serves `stream` until it ends, or the client misbehaves, or the task is asked to stop. Throws
// nothing. `number` tells connections apart.
fairlead::task<> serve_connection(const service_parts& service, fairlead::io::tcp_stream stream,
                                  connection_table::seat seat, std::size_t number);

}  // namespace savegames
