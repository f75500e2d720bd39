#include "savegames/connection.hpp"

#include <fairlead/context/with_deadline.hpp>
#include <fairlead/coro/awaits.hpp>
#include <fairlead/http/connection_monitor.hpp>
#include <fairlead/http/errc.hpp>
#include <fairlead/http/server.hpp>

#include <algorithm>
#include <optional>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "savegames/admission.hpp"
#include "savegames/routes.hpp"

#ifdef SAVEGAMES_TLS
#include <fairlead/tls/tls_stream.hpp>
#endif

namespace savegames {
namespace {

namespace fl = fairlead;
namespace http = fairlead::http;

// What a connection counts in the budget besides its buffer: its task, about; and that with TLS.
constexpr std::size_t connection_bytes = std::size_t{4} << 10;
constexpr std::size_t tls_bytes = std::size_t{20} << 10;

// A client may send its whole body before it reads why the body is refused.
constexpr std::uint64_t linger_max = std::uint64_t{16} << 20;

// The answer to a request for which an allocation failed.
constexpr std::string_view no_memory_answer =
    "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nRetry-After: 1\r\n"
    "Content-Length: 69\r\nConnection: close\r\n\r\n"
    R"({"error":"overloaded","message":"the service has too little memory"})"
    "\n";

constexpr std::string_view deadline_message =
    "the time of the request was over before its answer was there";

// The answer to a request that cannot be read.
response unreadable(int status, const std::error_code& why) {
    if (why == std::errc::operation_canceled) {
        return make_error(error::store_failed, "the service is stopping; nothing was done");
    }
    if (status == 408) return make_error(408, "timeout", "the request took too long to arrive");
    if (why == http::errc::body_too_large) {
        return make_error(413, "too_large",
                          "the body is larger than this service accepts (--body-max)");
    }
    const bool known = why.category() == http::category();
    const std::string said = known ? why.message() : "this service has nothing of the kind";
    if (status == 413 || status == 414 || status == 431) {
        return make_error(status, "too_large", said);
    }
    if (status == 500) return make_error(500, "failed", "the service has failed");
    if (status > 500) return make_error(status, "bad_request", said);
    return make_error(status, "bad_request", "malformed HTTP: " + said);
}

http::response to_http(response given) {
    http::response answer;
    answer.status = given.status;
    for (const auto& [name, value] : given.headers) answer.fields.add(name, value);
    answer.body = std::move(given.body);
    answer.shared_body = std::move(given.shared);
    return answer;
}

bool has_body(const http::request_head& head) {
    return head.body.how == http::framing::kind::chunked || head.body.size != 0;
}

// A proxy may take another one of two tokens.
bool is_ambiguous(const http::request_head& head) { return head.fields.count("authorization") > 1; }

// What a request holds of its game's budgets until its answer was sent.
struct holdings {
    std::optional<budget::share> request{};
    std::optional<budget::share> memory{};
    std::size_t answer = 0;  // bytes of the answer
};

class connection final : public http::connection_monitor {
public:
    connection(const service_parts& service, connection_table::seat& seat, std::size_t number,
               fl::executor home, bool peer_is_local, std::size_t bytes)
        : service_{service},
          seat_{seat},
          number_{number},
          peer_is_local_{peer_is_local},
          runs_in_{home},
          own_{service.tenants.memory(), service.tenants.connections()},
          buffer_{service.tenants.memory(), service.tenants.connections()} {
        own_.grow(bytes);
    }
    ~connection() override {
        release();
        service_.trimmer.note(own_.size() + buffer_.size());
    }

    // Serves a request.
    fl::task<http::response> answer(http::request& asked);

    // --- of the monitor --------------------------------------------------------------------------

    [[nodiscard]] verdict waits_for_request() noexcept override {
        release();
        fresh_ = true;
        seat_.become_idle(clock::now());
        return verdict::go_on;
    }
    [[nodiscard]] verdict waits_for_head(time_point since) noexcept override {
        release();
        fresh_ = true;
        return verdict_of(seat_.become_reading_head(since));
    }
    [[nodiscard]] verdict waits_for_body() noexcept override {
        return verdict_of(seat_.become_reading_body());
    }
    [[nodiscard]] verdict resumes() noexcept override { return verdict_of(seat_.become_busy()); }
    [[nodiscard]] bool is_last() noexcept override { return service_.table.crowded(); }

    void holds(std::size_t bytes) noexcept override {
        const std::size_t before = buffer_.size();
        if (bytes > before) buffer_.grow(bytes - before);
        if (bytes < before) buffer_.give_back(before - bytes);
    }
    [[nodiscard]] bool may_hold(std::size_t bytes) noexcept override {
        return bytes <= buffer_.size() ||
               buffer_.try_grow(bytes - buffer_.size()) == grant::granted;
    }
    void is_out_of_memory() noexcept override { service_.stats.count_failure(); }

private:
    fl::task<std::expected<std::string, std::error_code>> read_body(http::request& asked);
    fl::task<response> answer_and_log(route where, std::string body);
    fl::task<response> run_job(route where, std::string body);

    std::expected<route, response> admit(const http::request_head& head);
    std::expected<void, response> take_part(const route& where, std::uint64_t body_size);
    response answer_directly(request_kind kind) const;
    http::response answer_unreadable(const std::error_code& why);
    http::response finish(request_kind kind, response answer);
    [[nodiscard]] verdict verdict_of(bool stays) const noexcept;
    void release() noexcept;

    const service_parts& service_;
    connection_table::seat& seat_;
    const std::size_t number_;
    const bool peer_is_local_;
    std::shared_ptr<tenant_table::stay> game_;  // of the latest request that named a game
    fl::executor runs_in_;                      // the group of that game; at first the scheduler
    budget::share own_;                         // pays for the task
    budget::share buffer_;                      // pays for what was received
    request_context context_;
    std::optional<holdings> held_;
    time_point started_{};  // when the request began; once it is complete, when it was
    bool fresh_ = false;    // the connection has waited for this request
};

// A connection that was ended for another one closes without a word.
http::connection_monitor::verdict connection::verdict_of(bool stays) const noexcept {
    if (stays) return verdict::go_on;
    return service_.table.draining() ? verdict::refuse : verdict::close;
}

// The answer of the latest request was sent.
void connection::release() noexcept {
    if (!held_) return;
    const std::size_t bytes = held_->answer + (held_->memory ? held_->memory->size() : 0);
    held_.reset();
    if (bytes >= memory_trimmer::note_min) service_.trimmer.note(bytes);
}

fl::task<http::response> connection::answer(http::request& asked) {
    release();  // fairlead::http has sent the answer before this one
    // A client that sends many requests at once lets other tasks run between them.
    if (!std::exchange(fresh_, false)) co_await fl::shielded(fl::yield());
    started_ = asked.began().value_or(clock::now());
    held_.emplace();
    auto where = admit(asked.head());
    if (!where) {
        http::response refused = finish(request_kind::other, std::move(where.error()));
        refused.close = has_body(asked.head()) || is_ambiguous(asked.head());  // it is not read
        co_return refused;
    }
    if (game_ && game_->where() != runs_in_) {
        runs_in_ = game_->where();
        co_await fl::resume_on(runs_in_);
    }
    asked.read_until(started_ + service_.limits.read_timeout);
    auto body = co_await read_body(asked);
    if (!body) co_return answer_unreadable(body.error());
    started_ = clock::now();
    const request_kind kind = where->kind;
    const fl::trace span = context_.span;
    response made =
        co_await fl::with_trace(span, answer_and_log(std::move(*where), std::move(*body)));
    co_return finish(kind, std::move(made));
}

fl::task<std::expected<std::string, std::error_code>> connection::read_body(http::request& asked) {
    std::string whole;
    const bool has_length = asked.head().body.how == http::framing::kind::length;
    const std::uint64_t size = asked.head().body.size;
    if (has_length) whole.reserve(size);  // which is paid for
    while (has_body(asked.head()) && !(has_length && whole.size() == size)) {
        const auto piece = co_await asked.read_some();
        if (!piece) co_return std::unexpected{piece.error()};
        if (piece->empty()) break;
        whole.append(*piece);
    }
    co_return whole;
}

http::response connection::answer_unreadable(const std::error_code& why) {
    const bool is_rule = why.category() == http::category() && why != http::errc::incomplete;
    const bool is_ours = why == std::errc::timed_out || why == std::errc::operation_canceled;
    http::response refused;
    if (is_rule || is_ours) {
        refused = finish(request_kind::other, unreadable(http::status_for(why), why));
    } else {  // the client has gone; maybe it still reads
        refused = to_http(unreadable(400, http::errc::incomplete));
    }
    refused.close = true;
    return refused;
}

http::response connection::finish(request_kind kind, response answer) {
    service_.stats.count_request(number_, kind, answer.status, clock::now() - started_);
    held_->answer = answer.content().size();
    if (held_->memory) held_->memory->grow(answer.body.size());
    return to_http(std::move(answer));
}

// Decides what the head alone decides: where the request leads, or the answer that refuses it.
std::expected<route, response> connection::admit(const http::request_head& head) {
    if (is_ambiguous(head)) {
        return std::unexpected(
            make_error(400, "bad_request", "malformed HTTP: send at most one Authorization field"));
    }
    auto where = find_route(head.method, head.target);
    if (!where) return where;
    const auto tokens = service_.tokens();
    if (auto refused = refuse_access(head, *where, tokens.get(), peer_is_local_)) {
        return std::unexpected(std::move(*refused));
    }
    const std::size_t body_max = service_.limits.http.body_max;
    const std::uint64_t size =
        head.body.how == http::framing::kind::chunked ? body_max : head.body.size;
    if (size > body_max) {
        return std::unexpected(
            make_error(413, "too_large",
                       fmt::format("the body has {} bytes, the limit is {}", size, body_max)));
    }
    auto context = context_of(head.fields, service_.limits.request_timeout, service_.spans);
    if (!context) return std::unexpected(std::move(context.error()));
    context_ = *context;
    if (auto taken = take_part(*where, size); !taken) {
        return std::unexpected(std::move(taken.error()));
    }
    return where;
}

// Enters the game of the request, and takes what the request needs from that game's budgets.
std::expected<void, response> connection::take_part(const route& where, std::uint64_t body_size) {
    tenant_table& tenants = service_.tenants;
    budget::account* memory = &tenants.no_game();
    if (is_job(where.kind)) {
        auto game = game_id::parse(where.game);
        if (!game) {
            return std::unexpected(make_error(error::bad_request, "game: " + game.error()));
        }
        if (!game_ || game_->game() != where.game) {
            game_.reset();
            game_ = std::make_shared<tenant_table::stay>(tenants.enter(*game));
        }
        memory = &game_->memory();
        const grant begun =
            held_->request.emplace(tenants.requests(), game_->requests()).try_grow(1);
        if (begun != grant::granted) return std::unexpected(no_room(begun, "requests"));
    }
    budget::share& bytes = held_->memory.emplace(tenants.memory(), *memory);
    if (body_size == 0 && !is_job(where.kind)) return {};
    const grant given = bytes.try_grow(body_size);
    if (given != grant::granted) return std::unexpected(no_room(given, "bytes of saves"));
    return {};
}

// Inside the trace of the request.
fl::task<response> connection::answer_and_log(route where, std::string body) {
    const request_kind kind = where.kind;
    response answer;
    if (is_job(kind)) {
        answer = co_await run_job(std::move(where), std::move(body));
    } else {
        answer = answer_directly(kind);
    }
    if (is_logged(service_.log, answer.status)) {
        const fl::context here = co_await fl::current_context();
        const auto took = clock::now() - started_;
        service_.write_log(log_line(fl::trace_of(here), kind, answer.status, took));
    }
    co_return answer;
}

// Everything that the job waits for ends at the deadline of the request.
fl::task<response> connection::run_job(route where, std::string body) {
    const time_point deadline = started_ + context_.timeout;
    job_request request{.kind = job_of(where.kind),
                        .game = std::move(where.game),
                        .player = std::move(where.player),
                        .body = std::move(body),
                        .deadline = deadline,
                        .reserve = reserving_in(service_.tenants.memory(), game_)};
    auto work = std::make_unique<job>(std::move(request), service_.jobs);
    auto ended = co_await fl::with_deadline(deadline, service_.run.run(std::move(work)));
    if (!ended) co_return make_error(error::deadline, deadline_message);
    std::unique_ptr<job> finished = *std::move(ended);
    if (finished != nullptr) co_return std::move(finished->answer());
    if (clock::now() >= deadline) co_return make_error(error::deadline, deadline_message);
    co_return make_error(error::store_failed, "the service is stopping; a write may have happened");
}

response connection::answer_directly(request_kind kind) const {
    std::string body = "{\"status\":\"ok\"}\n";
    if (kind == request_kind::stats) body = service_.stats_json();
    if (kind == request_kind::readyz) {
        if (const auto ready = service_.ready(); !ready) {
            return make_error(error::store_failed, ready.error());
        }
    }
    return {200,
            std::move(body),
            {{"Content-Type", "application/json"}, {"Cache-Control", "no-store"}}};
}

template <class Stream>
fl::task<> serve_stream(const service_parts& service, Stream stream, connection& client) {
    const http::handler answers{[&client](http::request& asked) { return client.answer(asked); }};
    co_await http::serve_connection(std::move(stream), answers, service.http, client);
}

#ifdef SAVEGAMES_TLS
// A client whose handshake is slow counts as one whose head is slow.
fl::task<> serve_tls(const service_parts& service, fl::io::tcp_stream stream,
                     connection_table::seat& seat, connection& client, const tls_context& tls) {
    const time_point now = clock::now();
    if (!seat.become_reading_head(now)) co_return;
    const time_point deadline = now + service.limits.read_timeout;
    auto secured = co_await fl::io::tls_stream<>::accept(std::move(stream), tls, deadline);
    if (!seat.become_busy() || !secured) co_return;
    co_await serve_stream(service, std::move(*secured), client);
}
#endif

}  // namespace

http::server_options http_options(const connection_limits& limits, service_stats& stats) {
    http::server_options options;
    options.limits.line_max = limits.http.head_max;
    options.limits.head_max = limits.http.head_max;
    options.limits.body_max = limits.http.body_max;
    options.limits.extensions_max = limits.http.head_max;
    options.limits.trailers_max = limits.http.head_max;
    options.head_timeout = limits.read_timeout;
    options.body_timeout = limits.read_timeout;
    options.idle_timeout = limits.idle_timeout;
    options.write_timeout = limits.write_timeout;
    options.linger_max = linger_max;
    options.server.clear();
    options.refusal = [&stats](int status, const std::error_code& why) {
        response answer = unreadable(status, why);
        stats.count_request(0, request_kind::other, answer.status, std::chrono::nanoseconds{0});
        return to_http(std::move(answer));
    };
    options.on_failure = [&stats](const http::request_head&, const std::exception_ptr&) {
        stats.count_failure();
    };
    options.out_of_memory = no_memory_answer;
    return options;
}

fl::task<> serve_connection(const service_parts& service, fl::io::tcp_stream stream,
                            connection_table::seat given, std::size_t number,
                            std::shared_ptr<const tls_context> tls) {
    try {
        fl::basic_task& self = co_await fl::current_task();
        // It ends with this block, while the task that the table knows exists.
        connection_table::seat seat{std::move(given)};
        fl::scheduler& home = co_await fl::current_scheduler();
        const auto peer = stream.peer_address();
        connection client{service,
                          seat,
                          number,
                          home,
                          peer && peer->is_loopback(),
                          connection_bytes + (tls != nullptr ? tls_bytes : 0)};
        seat.sit(self);
        if (tls == nullptr) {
            co_await serve_stream(service, std::move(stream), client);
            co_return;
        }
#ifdef SAVEGAMES_TLS
        co_await serve_tls(service, std::move(stream), seat, client, *tls);
#endif
    } catch (const fl::stopped_error&) {  // during the handshake
    } catch (const std::exception&) {
        service.stats.count_failure();  // memory is short: only this client is closed
    }
}

}  // namespace savegames
