// Fairlead: tasks that share the connections of a postgres::pool, or a redis::client for each
// connection. One scheduler with one worker.
#include "w19/requests.hpp"

#include <fairlead/coro/spawn.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/coro/when_all.hpp>
#include <fairlead/io/epoll_driver.hpp>
#include <fairlead/postgres/pool.hpp>
#include <fairlead/redis/client.hpp>
#include <fairlead/sched/scheduler.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace fl = fairlead;
namespace io = fairlead::io;
namespace postgres = fairlead::postgres;
namespace redis = fairlead::redis;
using bench::w19::require;

namespace {

class asking {
public:
    explicit asking(const bench::options& asked)
        : asked_{asked},
          scheduler_{{.workers = static_cast<unsigned>(asked.workers),
                      .driver = std::make_unique<io::epoll_driver>()}} {}

    /// `ask(task)` takes turns of one of the tasks until none is left.
    template <class Ask>
    void run(std::uint64_t count, Ask ask) {
        left_ = count;
        const std::uint64_t tasks = asked_.connections * asked_.in_flight;
        fl::block_on(scheduler_, ask_all(tasks, ask));
    }

protected:
    /// Whether there is one more request to make. One worker, so no atomic.
    bool take() { return left_ != 0 && left_-- != 0; }

    const bench::options asked_;
    fl::scheduler scheduler_;

private:
    template <class Ask>
    static fl::task<> ask_all(std::uint64_t tasks, Ask ask) {
        std::vector<fl::task<>> all;
        for (std::uint64_t i = 0; i != tasks; ++i) all.push_back(ask(i));
        co_await fl::when_all(std::move(all));
    }

    std::uint64_t left_ = 0;
};

class selects : asking {
public:
    selects(const bench::w19::postgres_server& server, const bench::options& asked)
        : asking{asked},
          db_{scheduler_,
              server.conninfo(),
              {.min = static_cast<std::uint32_t>(asked.connections),
               .max = static_cast<std::uint32_t>(asked.connections)}} {}

    void run(std::uint64_t count) {
        asking::run(count, [this](std::uint64_t) { return ask(); });
    }

private:
    fl::task<> ask() {
        while (take()) {
            next_ = next_ % bench::w19::rows + 1;
            const auto found = co_await db_.query({bench::w19::query, next_});
            require(found.has_value() && found->size() == 1, "no row");
            const std::string_view body = (*found)[0][0].text();
            require(body.size() == asked_.size && body.back() == 'x', "another row");
        }
    }

    int next_ = 0;
    postgres::pool db_;
};

class gets : asking {
public:
    gets(const bench::w19::redis_server& server, const bench::options& asked) : asking{asked} {
        for (std::uint64_t i = 0; i != asked.connections; ++i) {
            clients_.push_back(std::make_unique<redis::client>(
                scheduler_, redis::connect_tcp(io::address::loopback(server.port()))));
        }
    }

    void run(std::uint64_t count) {
        asking::run(count,
                    [this](std::uint64_t task) { return ask(*clients_[task % clients_.size()]); });
    }

private:
    fl::task<> ask(redis::client& by) {
        while (take()) {
            const auto found = co_await by.get(std::string{bench::w19::key});
            require(found.has_value() && found->has_value(), "no value");
            require((*found)->size() == asked_.size && (*found)->back() == 'x', "another value");
        }
    }

    std::vector<std::unique_ptr<redis::client>> clients_;
};

std::optional<bench::measurement> measure(const bench::options& asked) {
    if (asked.workers != 1) return std::nullopt;  // the counter of requests is not shared
    if (asked.name == "select") {
        return bench::w19::measure_requests<bench::w19::postgres_server, selects>(asked);
    }
    if (asked.name == "get") {
        return bench::w19::measure_requests<bench::w19::redis_server, gets>(asked);
    }
    return std::nullopt;
}

}  // namespace

int main(int argc, char** argv) { return bench::run_main(argc, argv, "W19", "fairlead", measure); }
