#include "savegames/server.hpp"

#include <fairlead/coro/awaits.hpp>
#include <fairlead/io/epoll_driver.hpp>

#include <utility>

#include <fmt/format.h>

namespace savegames {
namespace {

namespace fl = fairlead;

constexpr std::chrono::milliseconds accept_retry{20};

// How many games the statistics list by name.
constexpr std::size_t games_named = 20;

// Closes the listener when the task that accepts ends, also by an exception.
struct closing_at_end {
    ~closing_at_end() { listener.close(); }
    fl::io::tcp_listener& listener;
};

bool is_alone(const server_options& options) {
    return options.scheduler == scheduler_choice::fairlead;
}

unsigned threads_of(const server_options& options) {
    return static_cast<unsigned>(is_alone(options) ? options.workers : options.io_workers);
}

}  // namespace

server::server(const server_options& options, const job_context& jobs, const save_store& store,
               std::shared_ptr<const token_table> tokens)
    : options_{options},
      store_{store},
      tokens_{std::move(tokens)},
      tls_{options.tls},
      table_{options.max_connections, options.connections_per_address},
      runner_{make_runner(options.scheduler, options.workers)},
      parts_{.limits = options.limits,
             .http = http_options(options.limits, stats_),
             .jobs = jobs,
             .run = *runner_,
             .stats = stats_,
             .tenants = tenants_,
             .table = table_,
             .trimmer = trimmer_,
             .spans = spans_,
             .log = options.log,
             .write_log = [](const std::string& line) { fmt::print(stderr, "{}\n", line); },
             .tokens =
                 [this] {
                     const std::lock_guard lock{tokens_mutex_};
                     return tokens_;
                 },
             .stats_json = [this] { return stats_json(); },
             .ready = [this] { return store_.ready(); }},
      scheduler_{{.workers = threads_of(options),
                  .name = "savegames",
                  .driver = std::make_unique<fl::io::epoll_driver>()}},
      tenants_{scheduler_,
               options.games,
               {.groups = options.groups && is_alone(options),
                .idle = options.game_idle,
                .requests_max = options.max_connections,
                .memory_max = options.memory_max}} {}

std::expected<std::unique_ptr<server>, std::string> server::start(
    const server_options& options, const job_context& jobs, const save_store& store,
    std::shared_ptr<const token_table> tokens) {
    std::unique_ptr<server> made{new server{options, jobs, store, std::move(tokens)}};
    auto listener = fl::io::tcp_listener::bind(made->scheduler_, options.listen);
    if (!listener) {
        return std::unexpected(fmt::format("cannot listen on {}: {}", options.listen.to_string(),
                                           listener.error().message()));
    }
    auto bound = listener->local_address();
    if (!bound) {
        return std::unexpected("the listener has no local address: " + bound.error().message());
    }
    made->address_ = *bound;
    made->listener_ = std::move(*listener);
    made->serving_.emplace(fl::spawn(made->scheduler_, made->serve_all(), {.name = "serve"}));
    return made;
}

server::~server() {
    if (serving_) stop(std::chrono::milliseconds{0});
    runner_.reset();  // first: jobs that run on have reservations in the budgets of tenants_
}

void server::set_tokens(std::shared_ptr<const token_table> tokens) {
    const std::lock_guard lock{tokens_mutex_};
    tokens_ = std::move(tokens);
}

void server::set_tls(std::shared_ptr<const tls_context> tls) {
    const std::lock_guard lock{tokens_mutex_};
    tls_ = std::move(tls);
}

std::shared_ptr<const tls_context> server::tls() const {
    const std::lock_guard lock{tokens_mutex_};
    return tls_;
}

std::size_t server::stop(std::chrono::milliseconds limit) {
    stop_accepting_.request_stop();
    const time_point now = clock::now();
    table_.drain(now);
    const std::size_t left = table_.wait_until_empty(now + limit);
    serving_->request_stop();
    serving_->get();
    serving_.reset();
    return left;
}

fl::task<> server::serve_all() {
    fl::scheduler& home = co_await fl::current_scheduler();
    fl::scope connections{home};
    connections.spawn(sweep_games(), {.name = "sweep"});
    connections.spawn(trimmer_.run(), {.name = "trim"});
    {
        const closing_at_end listening{*listener_};
        fl::join_handle<void> accepting = fl::spawn(
            home, accept_all(connections), {.name = "accept", .stop = stop_accepting_.get_token()});
        co_await fl::shielded(accepting);  // it has its own stop: stop_accepting_
    }
    static_cast<void>(co_await fl::as_result(connections.join()));
}

fl::task<> server::accept_all(fl::scope& connections) {
    fl::basic_task& self = co_await fl::current_task();
    for (std::size_t number = 0; !self.stop_requested(); ++number) {
        bool accepted = false;
        try {
            accepted = co_await accept_one(connections, number);
        } catch (const std::bad_alloc&) {
            stats_.count_failure();  // closes the newcomer; the next one may find memory
        }
        // The service stops, or the kernel or the process has no memory: do not try at once.
        if (!accepted) static_cast<void>(co_await fl::as_result(fl::sleep_for(accept_retry)));
    }
    table_.forget_acceptor();
}

fl::task<bool> server::accept_one(fl::scope& connections, std::size_t number) {
    auto stream = co_await listener_->accept();
    if (!stream) co_return false;
    const auto peer = stream->peer_address();
    const network from = peer ? network_of(*peer, options_.address_bits) : network{};
    if (!table_.admits(from, clock::now())) co_return true;
    auto seat = co_await wait_for_seat(from);
    if (!seat) co_return false;
    connections.spawn(serve_connection(parts_, std::move(*stream), std::move(*seat), number, tls()),
                      {.name = "connection"});
    co_return true;
}

// Waits for a place for a connection. Nothing: the service stops.
fl::task<std::optional<connection_table::seat>> server::wait_for_seat(network from) {
    for (;;) {
        time_point retry{};
        auto seat = table_.enter(clock::now(), &retry, from);
        if (seat) co_return seat;
        const auto room = co_await table_.wait_for_room(retry);
        if (!room && room.error() == fl::wait_error::stopped) co_return std::nullopt;
    }
}

fl::task<> server::sweep_games() {
    for (;;) {
        const auto due = co_await tenants_.wait_for_sweep(tenants_.sweep());
        if (!due && due.error() == fl::wait_error::stopped) co_return;
    }
}

std::string server::stats_json() const {
    const stats_report report{
        .scheduler = std::string{to_string(options_.scheduler)},
        .uptime_s = std::chrono::duration<double>(clock::now() - started_).count(),
        .requests = stats_.requests(),
        .connections = table_.count(),
        .accept_starved = listener_->starved(),
        .failures = stats_.failures(),
        .memory_used = tenants_.memory().used(),
        .memory_of_connections = tenants_.connection_bytes(),
        .memory_max = tenants_.memory().max(),
        .games = tenants_.report(games_named),
        .workers = scheduler_.stats(),
        .job_workers = runner_->threads(),
        .job_wakeups = runner_->wakeups(),
        .store = store_.counters(),
        .process = meter_.read()};
    return report.to_json();
}

}  // namespace savegames
