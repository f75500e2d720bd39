#include "savegames/load/run.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/scope.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/io/epoll_driver.hpp>
#include <fairlead/io/signal_set.hpp>
#include <fairlead/sched/scheduler.hpp>

#include "savegames/load/http_client.hpp"
#include "savegames/load/judge.hpp"
#include "savegames/load/ledger.hpp"
#include "savegames/load/schedule.hpp"

namespace savegames::load {
namespace {

namespace fl = fairlead;
using namespace std::chrono_literals;

// The pause after a failed connect or a refusal, to spare a service in trouble.
constexpr fl::duration pause_after_error = 10ms;

// What all connections share.
struct shared_state {
    const load_options& options;
    const workload& work;
    judge& verdicts;
    statistics& counted;
};

std::string headers_for(const fl::io::address& target, const load_options& options) {
    std::string lines =
        fmt::format("Host: {}\r\nUser-Agent: savegames-load\r\n", target.to_string());
    if (!options.token.empty()) lines += "Authorization: Bearer " + options.token + "\r\n";
    return lines;
}

// A connection to one process of the service at a time: to the next one after an error, and after
// some requests, so that a process that was started again gets its part of the load.
class line_to_service {
public:
    line_to_service(const load_options& options, std::size_t number)
        : current_{number % options.targets.size()} {
        for (const fl::io::address& each : options.targets) {
            clients_.emplace_back(each, headers_for(each, options), options.timeout);
        }
    }

    [[nodiscard]] http_client& client() noexcept {
        if (sent_ == sent_max) go_on();
        ++sent_;
        return clients_[current_];
    }
    void go_on() noexcept {
        current_ = (current_ + 1) % clients_.size();
        sent_ = 0;
    }

private:
    static constexpr std::size_t sent_max = 100;

    std::deque<http_client> clients_;
    std::size_t current_;
    std::size_t sent_ = 0;  // to the current one
};

const char* method_of(operation_kind kind) {
    switch (kind) {
        case operation_kind::put:
            return "PUT";
        case operation_kind::get:
            return "GET";
        case operation_kind::update:
            return "POST";
        case operation_kind::erase:
            break;
    }
    return "DELETE";
}

// Performs one request: glimpse, exchange, verdict.
fl::task<outcome> perform(shared_state& shared, http_client& client, request_plan plan) {
    const std::string path = shared.work.path(plan);
    const bool has_body = plan.body != nullptr;
    const std::string_view body = has_body ? std::string_view{*plan.body} : std::string_view{};
    const http_client::request request{method_of(plan.kind), path, body, has_body};
    const ledger::glimpse before = shared.verdicts.begin(plan);
    const auto answer = co_await client.exchange(request);
    co_return shared.verdicts.end(plan, before, answer);
}

fl::task<> connection(shared_state& shared, schedule& tickets, std::size_t number) {
    line_to_service line{shared.options, number};
    random_source random{shared.options.seed * 1'000'003 + number};
    for (;;) {
        std::optional<fl::time_point> due = tickets.next(fl::clock::now());
        if (!due) break;
        if (*due > fl::clock::now()) {
            co_await fl::sleep_until(*due);
        }
        const request_plan plan = shared.work.draw(random);
        http_client& client = line.client();
        const outcome ended = co_await perform(shared, client, plan);
        shared.counted.record(number, plan.kind, fl::clock::now() - *due, ended);
        const http_client::traffic moved = client.take_traffic();
        shared.counted.add_bytes(number, moved.sent, moved.received);
        if (ended.what != outcome::verdict::error) continue;
        line.go_on();
        co_await fl::sleep_for(pause_after_error);
    }
}

// Deals out the players that have no save yet, and keeps the first problem.
class preload_list {
public:
    preload_list(std::size_t players, ledger& kept) : players_{players}, kept_{kept} {}

    std::optional<std::size_t> next() {
        const std::lock_guard lock{mutex_};
        while (next_ < players_ && problem_.empty()) {
            const std::size_t player = next_++;
            if (!kept_.knows(player)) return player;
        }
        return std::nullopt;
    }
    void stored() {
        const std::lock_guard lock{mutex_};
        ++stored_;
    }
    void fail(std::string problem) {
        const std::lock_guard lock{mutex_};
        if (problem_.empty()) problem_ = std::move(problem);
    }
    [[nodiscard]] std::uint64_t stored_count() const { return stored_; }
    [[nodiscard]] const std::string& problem() const { return problem_; }

private:
    std::mutex mutex_;
    std::size_t players_;
    ledger& kept_;
    std::size_t next_ = 0;
    std::uint64_t stored_ = 0;
    std::string problem_;
};

fl::task<> preloading_connection(shared_state& shared, preload_list& list, std::size_t number,
                                 const std::stop_token& interrupted) {
    constexpr int attempts_max = 5;
    line_to_service line{shared.options, number};
    for (std::optional<std::size_t> player = list.next(); player && !interrupted.stop_requested();
         player = list.next()) {
        const request_plan plan = shared.work.first_save(*player);
        for (int attempt = 1;; ++attempt) {
            const outcome ended = co_await perform(shared, line.client(), plan);
            if (ended.what == outcome::verdict::good) break;
            if (attempt == attempts_max || ended.what == outcome::verdict::wrong) {
                list.fail(fmt::format("the save of player {} was not stored in {} attempts: {}{}",
                                      *player, attempt, ended.error_kind,
                                      ended.detail.empty() ? "" : ": " + ended.detail));
                co_return;
            }
            line.go_on();
            co_await fl::sleep_for(pause_after_error * attempt);
        }
        list.stored();
    }
}

// Shows a progress line, and writes over it, until the task is asked to stop.
fl::task<> progress_line(const statistics& counted, const load_options& options) {
    const fl::time_point begin = fl::clock::now();
    for (;;) {
        const auto slept = co_await fl::as_result(fl::sleep_for(200ms));
        if (!slept) break;
        const double elapsed = std::chrono::duration<double>(fl::clock::now() - begin).count();
        const auto [done, errors] = counted.so_far();
        const double whole = options.requests
                                 ? static_cast<double>(*options.requests)
                                 : std::chrono::duration<double>(options.run_time).count();
        const double part = options.requests ? static_cast<double>(done + errors) : elapsed;
        const double share = whole > 0 ? std::clamp(part / whole, 0.0, 1.0) : 1.0;
        constexpr int width = 30;
        const auto filled = static_cast<std::size_t>(share * width);
        std::string bar(filled, '#');
        bar.resize(width, '.');
        fmt::print(stderr, "\r[{}] {:5.1f} s  {} requests  {} errors ", bar, elapsed, done, errors);
        std::fflush(stderr);
    }
    fmt::print(stderr, "\r\033[K");
}

fl::task<> preload(shared_state& shared, preload_list& list, const std::stop_token& interrupted) {
    fl::scope connections{co_await fl::current_scheduler()};
    for (std::size_t i = 0; i < shared.options.connections; ++i) {
        connections.spawn(preloading_connection(shared, list, i, interrupted), {.name = "preload"});
    }
    co_await connections.join();
}

fl::task<> measure(shared_state& shared, schedule& tickets) {
    fl::scope connections{co_await fl::current_scheduler()};
    for (std::size_t i = 0; i < shared.options.connections; ++i) {
        connections.spawn(connection(shared, tickets, i), {.name = "connection"});
    }
    co_await connections.join();
}

void measure_all(fl::scheduler& home, shared_state& shared, const std::stop_token& interrupted,
                 bool show_progress, run_result& result) {
    const fl::time_point begin = fl::clock::now();
    schedule tickets{shared.options, begin, interrupted};
    std::optional<fl::join_handle<void>> progress;
    if (show_progress) progress = fl::spawn(home, progress_line(shared.counted, shared.options));
    fl::block_on(home, measure(shared, tickets));
    result.elapsed_s = std::chrono::duration<double>(fl::clock::now() - begin).count();
    if (progress) {
        progress->request_stop();
        progress->get();
    }
    result.counted = shared.counted.collect();
}

// The calling thread waits in a futex, and the kernel would give it the signals first. Thread
// sanitizer puts off the handler of a thread that waits so. The workers wait in the driver.
void leave_signals_to_workers() {
    sigset_t ends{};
    ::sigemptyset(&ends);
    ::sigaddset(&ends, SIGINT);
    ::sigaddset(&ends, SIGTERM);
    ::pthread_sigmask(SIG_BLOCK, &ends, nullptr);
}

// The first SIGINT or SIGTERM ends the run: it sends no more requests, and reports what it has
// measured.
fl::task<> end_at_signal(fl::io::signal_set& signals, std::stop_source& ends) {
    const auto number = co_await signals.next();
    if (number) ends.request_stop();
}

}  // namespace

run_result run(const load_options& options, bool show_progress) {
    run_result result;
    const workload work{options};
    ledger kept{options.players};
    if (!options.ledger_path.empty()) {
        if (auto loaded = kept.load(options.ledger_path); !loaded) {
            result.problem = loaded.error();
            return result;
        }
    }
    judge verdicts{kept, options.verify};
    statistics counted;
    shared_state shared{options, work, verdicts, counted};
    {
        fl::scheduler home{{.workers = options.workers,
                            .name = "load",
                            .driver = std::make_unique<fl::io::epoll_driver>()}};
        auto signals = fl::io::signal_set::make(fl::io::epoll_driver::of(home), {SIGINT, SIGTERM});
        if (!signals) {
            result.problem = "signals: " + signals.error().message();
            return result;
        }
        leave_signals_to_workers();
        std::stop_source interrupted;
        auto waits_for_signal = fl::spawn(home, end_at_signal(*signals, interrupted));
        if (options.preload) {
            preload_list list{options.players, kept};
            fl::block_on(home, preload(shared, list, interrupted.get_token()));
            result.preloaded = list.stored_count();
            if (!list.problem().empty()) result.problem = "preload: " + list.problem();
        }
        if (result.problem.empty() && options.requests != 0) {
            measure_all(home, shared, interrupted.get_token(), show_progress, result);
        }
        waits_for_signal.request_stop();
        waits_for_signal.get();
    }
    if (!options.ledger_path.empty()) {
        if (auto stored = kept.store(options.ledger_path); !stored && result.problem.empty()) {
            result.problem = stored.error();
        }
    }
    return result;
}

}  // namespace savegames::load
