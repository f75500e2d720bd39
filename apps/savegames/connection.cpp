#include "savegames/connection.hpp"

#include <fairlead/context/with_deadline.hpp>
#include <fairlead/coro/awaits.hpp>

#include <algorithm>
#include <array>
#include <expected>
#include <new>
#include <optional>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "savegames/admission.hpp"
#include "savegames/receive_buffer.hpp"
#include "savegames/routes.hpp"

namespace savegames {
namespace {

namespace fl = fairlead;

// What a connection counts in the budget besides its buffer and its head: its task and its parser,
// about.
constexpr std::size_t connection_bytes = std::size_t{4} << 10;

// After an answer to a request that was not read to its end, the service reads and drops the rest
// for a while. Closing at once would reset the connection, and the client might lose the answer.
constexpr std::chrono::seconds linger_time{2};
constexpr std::size_t linger_bytes = std::size_t{16} << 20;

// The answer to a request for which an allocation failed. Sending it allocates nothing.
constexpr std::string_view no_memory_answer =
    "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nRetry-After: 1\r\n"
    "Content-Length: 69\r\nConnection: close\r\n\r\n"
    R"({"error":"overloaded","message":"the service has too little memory"})"
    "\n";

constexpr std::string_view deadline_message =
    "the time of the request was over before its answer was there";

constexpr std::string_view continue_line = "HTTP/1.1 100 Continue\r\n\r\n";

std::span<const std::byte> bytes_of(std::string_view text) {
    return std::as_bytes(std::span{text.data(), text.size()});
}

class connection {
public:
    connection(const service_parts& service, fl::io::tcp_stream stream, connection_table::seat seat,
               std::size_t number, fl::executor home)
        : service_{service},
          stream_{std::move(stream)},
          seat_{std::move(seat)},
          number_{number},
          runs_in_{home},
          parser_{service.limits.http},
          own_{service.tenants.memory(), service.tenants.connections()},
          buffer_{service.tenants.memory(), service.tenants.connections()} {
        own_.grow(connection_bytes);
        const auto peer = stream_.peer_address();
        peer_is_local_ = peer && peer->is_loopback();
    }

    connection(const connection&) = delete;
    connection& operator=(const connection&) = delete;
    ~connection() { service_.trimmer.note(own_.size() + buffer_.size()); }

    void sit(fl::basic_task& self) { seat_.sit(self); }

    // Serves one request. False: close the connection. Throws std::bad_alloc.
    fl::task<bool> serve_request();

    // The answer to a request that failed because memory was short; empty if a part of an answer
    // was sent already. Close the connection after it.
    [[nodiscard]] std::string_view answer_without_memory() noexcept;
    [[nodiscard]] fl::io::tcp_stream& stream() noexcept { return stream_; }
    [[nodiscard]] fl::time_point write_deadline() const {
        return clock::now() + service_.limits.write_timeout;
    }

private:
    enum class input : std::uint8_t { got, ended, timed_out, too_long };

    // What a request under way holds of its game's budgets.
    struct holdings {
        std::optional<budget::share> request{};
        std::optional<budget::share> memory{};
    };

    fl::task<bool> read_head();
    fl::task<bool> read_body();
    fl::task<bool> read_rest();
    fl::task<> give_up();
    fl::task<input> read_more(time_point deadline);
    fl::task<bool> run_route(route where, holdings& held);
    fl::task<response> answer_and_log(route where);
    fl::task<response> run_job(route where);
    fl::task<bool> refuse(response answer, request_kind kind, bool must_close);
    fl::task<bool> refuse_failed();
    fl::task<bool> send(response answer, bool keep_alive);
    fl::task<bool> write(std::string_view text, time_point deadline);
    fl::task<> linger();

    std::expected<route, response> admit(holdings& held);
    std::expected<void, response> take_part(const route& where, std::uint64_t body_size,
                                            holdings& held);
    response answer_directly(request_kind kind) const;
    void count(request_kind kind, int status);
    void feed_parser();
    void count_head(std::size_t size);
    void begin_next();

    const service_parts& service_;
    fl::io::tcp_stream stream_;
    connection_table::seat seat_;
    const std::size_t number_;
    bool peer_is_local_ = false;
    std::shared_ptr<tenant_table::stay> game_;  // of the latest request that named a game
    fl::executor runs_in_;                      // the group of that game; at first the scheduler
    http_parser parser_;
    budget::share own_;           // pays for the task, the parser and the head
    std::size_t head_bytes_ = 0;  // how much of own_ is for the head
    receive_buffer buffer_;
    request_context context_;
    bool answering_ = false;      // a part of the answer may have been sent
    time_point started_{};        // when the request began; in run_route, when it was complete
    time_point read_deadline_{};  // for reading the request
};

fl::task<bool> connection::serve_request() {
    const bool arrived = co_await read_head();
    if (!arrived) co_return false;
    if (parser_.at() == http_parser::stage::failed) {
        const bool goes_on = co_await refuse_failed();
        co_return goes_on;
    }
    holdings held;
    auto where = admit(held);
    if (!where) {
        const bool goes_on = co_await refuse(std::move(where.error()), request_kind::other, false);
        co_return goes_on;
    }
    if (game_ && game_->where() != runs_in_) {
        runs_in_ = game_->where();
        co_await fl::resume_on(runs_in_);
    }
    const bool whole = co_await read_body();
    if (!whole) co_return false;
    if (buffer_.empty()) buffer_.shrink();
    const bool goes_on = co_await run_route(std::move(*where), held);
    if (!goes_on) co_return false;
    begin_next();
    // The client has sent its next request already; other tasks run before it.
    if (!buffer_.empty()) co_await fl::yield();
    co_return true;
}

// Reads until the head is complete or broken. False: close the connection; an answer was sent if
// the client expects one.
fl::task<bool> connection::read_head() {
    started_ = clock::now();
    read_deadline_ = started_ + service_.limits.read_timeout;
    bool slow = false;  // the head comes in parts
    for (;;) {
        feed_parser();
        if (parser_.at() != http_parser::stage::head) {
            if (!slow || seat_.become_busy()) co_return true;
            co_await give_up();
            co_return false;
        }
        if (parser_.untouched()) {
            const time_point now = clock::now();
            seat_.become_idle(now);
            const input got = co_await read_more(now + service_.limits.idle_timeout);
            if (!seat_.become_busy() || got != input::got) co_return false;
            started_ = clock::now();
            read_deadline_ = started_ + service_.limits.read_timeout;
            continue;
        }
        slow = true;
        const bool more = co_await read_rest();
        if (!more) co_return false;
    }
}

fl::task<bool> connection::read_body() {
    if (parser_.at() == http_parser::stage::body) {
        if (parser_.head().expects_continue && buffer_.empty()) {
            const auto sent = co_await stream_.write_all(bytes_of(continue_line), read_deadline_);
            if (!sent) co_return false;
        }
        feed_parser();
    }
    while (parser_.at() == http_parser::stage::body) {
        const bool more = co_await read_rest();
        if (!more) co_return false;
        feed_parser();
    }
    if (parser_.at() == http_parser::stage::failed) {
        const bool goes_on = co_await refuse_failed();
        co_return goes_on;
    }
    co_return true;
}

// Reads more of a request that has begun. False: close the connection; an answer was sent if the
// client may wait for one.
fl::task<bool> connection::read_rest() {
    const bool of_head = parser_.at() == http_parser::stage::head;
    const bool may_wait =
        of_head ? seat_.become_reading_head(started_) : seat_.become_reading_body();
    const input got = may_wait ? co_await read_more(read_deadline_) : input::ended;
    const bool stays = of_head && got == input::got;  // in the list of slow heads until it is whole
    if (!may_wait || !(stays || seat_.become_busy())) {
        co_await give_up();
        co_return false;
    }
    if (got == input::timed_out || got == input::too_long) {
        response answer =
            got == input::timed_out
                ? make_error(408, "timeout", "the request took too long to arrive")
                : make_error(400, "bad_request", "malformed HTTP: a line of the body is too long");
        co_await refuse(std::move(answer), request_kind::other, true);
    }
    co_return got == input::got;
}

// The connection was asked to stop inside a request. If the service goes on, the connection only
// makes room for another one, and is closed without an answer.
fl::task<> connection::give_up() {
    if (!service_.table.draining()) co_return;
    // No linger: the service does not wait for this client any longer.
    response answer = make_error(error::store_failed, "the service is stopping; nothing was done");
    count(request_kind::other, answer.status);
    co_await send(std::move(answer), false);
}

fl::task<connection::input> connection::read_more(time_point deadline) {
    if (!buffer_.make_room()) co_return input::too_long;
    const auto size = co_await stream_.read_some(buffer_.room(), deadline);
    if (!size) {
        co_return size.error() == std::errc::timed_out ? input::timed_out : input::ended;
    }
    if (*size == 0) co_return input::ended;
    buffer_.add(*size);
    if (parser_.at() == http_parser::stage::head) count_head(*size);
    co_return input::got;
}

void connection::feed_parser() {
    if (!buffer_.empty()) buffer_.remove(parser_.feed(buffer_.content()));
}

void connection::count_head(std::size_t size) {
    own_.grow(size);
    head_bytes_ += size;
}

// Makes the connection ready for its next request.
void connection::begin_next() {
    answering_ = false;
    parser_.reset();
    own_.give_back(std::exchange(head_bytes_, 0));
    if (buffer_.empty()) buffer_.shrink();
}

// Decides what the head alone decides: where the request leads, or the answer that refuses it.
std::expected<route, response> connection::admit(holdings& held) {
    const http_head& head = parser_.head();
    auto where = find_route(head.method, head.target);
    if (!where) return where;
    const auto tokens = service_.tokens();
    if (auto refused = refuse_access(head, *where, tokens.get(), peer_is_local_)) {
        return std::unexpected(std::move(*refused));
    }
    const std::size_t body_max = service_.limits.http.body_max;
    const std::uint64_t size = head.has_body ? head.body_size.value_or(body_max) : 0;
    if (size > body_max) {
        return std::unexpected(
            make_error(413, "too_large",
                       fmt::format("the body has {} bytes, the limit is {}", size, body_max)));
    }
    auto context = context_of(head, service_.limits.request_timeout, service_.spans);
    if (!context) return std::unexpected(std::move(context.error()));
    context_ = *context;
    if (auto taken = take_part(*where, size, held); !taken) {
        return std::unexpected(std::move(taken.error()));
    }
    return where;
}

// Enters the game of the request, and takes what the request needs from that game's budgets.
std::expected<void, response> connection::take_part(const route& where, std::uint64_t body_size,
                                                    holdings& held) {
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
        const grant begun = held.request.emplace(tenants.requests(), game_->requests()).try_grow(1);
        if (begun != grant::granted) return std::unexpected(no_room(begun, "requests"));
    }
    budget::share& bytes = held.memory.emplace(tenants.memory(), *memory);
    if (body_size == 0 && !is_job(where.kind)) return {};
    const grant given = bytes.try_grow(body_size);
    if (given != grant::granted) return std::unexpected(no_room(given, "bytes of saves"));
    return {};
}

fl::task<bool> connection::run_route(route where, holdings& held) {
    started_ = clock::now();
    const request_kind kind = where.kind;
    const fl::trace span = context_.span;
    response answer = co_await fl::with_trace(span, answer_and_log(std::move(where)));
    count(kind, answer.status);
    held.memory->grow(answer.body.size());
    const std::size_t held_bytes = held.memory->size() + answer.content().size();
    const bool goes_on = co_await send(std::move(answer), parser_.head().keep_alive);
    if (held_bytes >= memory_trimmer::note_min) service_.trimmer.note(held_bytes);
    co_return goes_on;
}

// Inside the trace of the request.
fl::task<response> connection::answer_and_log(route where) {
    const request_kind kind = where.kind;
    response answer;
    if (is_job(kind)) {
        answer = co_await run_job(std::move(where));
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
fl::task<response> connection::run_job(route where) {
    const time_point deadline = started_ + context_.timeout;
    job_request request{.kind = job_of(where.kind),
                        .game = std::move(where.game),
                        .player = std::move(where.player),
                        .body = parser_.take_body(),
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

// Answers a request without running it. If its body was not read, closes the connection.
fl::task<bool> connection::refuse(response answer, request_kind kind, bool must_close) {
    const bool unread = must_close || parser_.at() == http_parser::stage::body;
    count(kind, answer.status);
    const bool keep_alive = !unread && parser_.head().keep_alive;
    const bool goes_on = co_await send(std::move(answer), keep_alive);
    if (goes_on) {
        begin_next();
    } else if (unread) {
        co_await linger();
    }
    co_return goes_on;
}

fl::task<bool> connection::refuse_failed() {
    const http_failure& failure = parser_.failure();
    response answer = make_error(failure.status, failure.code, failure.message);
    const bool goes_on = co_await refuse(std::move(answer), request_kind::other, true);
    co_return goes_on;
}

// Sends `text`. A stop that came before does not keep the answer from the client.
fl::task<bool> connection::write(std::string_view text, time_point deadline) {
    answering_ = true;
    const bool stopping = co_await fl::stop_requested();
    if (!stopping) {
        const auto sent = co_await stream_.write_all(bytes_of(text), deadline);
        co_return sent.has_value();
    }
    const auto sent = co_await fl::shielded(stream_.write_all(bytes_of(text), deadline));
    co_return sent.has_value();
}

// Sends the answer. False: close the connection, because the answer says so or could not be sent.
fl::task<bool> connection::send(response answer, bool keep_alive) {
    const http_framing framing{.keep_alive = keep_alive && !service_.table.crowded(),
                               .http_1_0 = parser_.head().http_1_0,
                               .head_only = parser_.head().method == "HEAD"};
    const std::string head = print_answer(answer, framing);
    const time_point deadline = write_deadline();
    const bool sent = co_await write(head, deadline);
    if (!sent) co_return false;
    if (!framing.head_only && answer.content().size() > inline_max) {
        const bool rest = co_await write(answer.content(), deadline);
        if (!rest) co_return false;
    }
    co_return framing.keep_alive;
}

fl::task<> connection::linger() {
    const time_point deadline = clock::now() + linger_time;
    if (!stream_.shutdown_send()) co_return;
    buffer_.shrink();
    for (std::size_t dropped = 0; dropped < linger_bytes;) {
        const auto size = co_await stream_.read_some(buffer_.room(), deadline);
        if (!size || *size == 0) co_return;
        dropped += *size;
    }
}

std::string_view connection::answer_without_memory() noexcept {
    return answering_ ? std::string_view{} : no_memory_answer;
}

void connection::count(request_kind kind, int status) {
    service_.stats.count_request(number_, kind, status, clock::now() - started_);
}

// Answers a client also when no allocation succeeds: the frame of this coroutine exists before
// memory is short, and operations on streams allocate nothing.
fl::task<> serve_requests(connection& client, service_stats& stats) {
    bool short_of_memory = false;
    try {
        for (bool goes_on = true; goes_on;) goes_on = co_await client.serve_request();
    } catch (const std::bad_alloc&) {
        short_of_memory = true;
    }
    if (!short_of_memory) co_return;
    stats.count_failure();
    const std::string_view answer = client.answer_without_memory();
    if (answer.empty()) co_return;
    fl::io::tcp_stream& stream = client.stream();
    if (!co_await stream.write_all(bytes_of(answer), client.write_deadline())) co_return;
    if (!stream.shutdown_send()) co_return;
    const time_point deadline = clock::now() + linger_time;
    std::array<std::byte, 1024> dropped;
    for (std::size_t count = 0; count < linger_bytes;) {
        const auto size = co_await stream.read_some(dropped, deadline);
        if (!size || *size == 0) co_return;
        count += *size;
    }
}

}  // namespace

fl::task<> serve_connection(const service_parts& service, fl::io::tcp_stream stream,
                            connection_table::seat seat, std::size_t number) {
    try {
        fl::basic_task& self = co_await fl::current_task();
        fl::scheduler& home = co_await fl::current_scheduler();
        connection client{service, std::move(stream), std::move(seat), number, home};
        client.sit(self);
        co_await serve_requests(client, service.stats);
    } catch (const fl::stopped_error&) {  // the stop came between two requests
    } catch (const std::exception&) {
        service.stats.count_failure();  // memory is short: only this client is closed
    }
}

}  // namespace savegames
