#include "http/server_connection.hpp"

#include <fairlead/base/time.hpp>
#include <fairlead/coro/adapted_wait.hpp>
#include <fairlead/coro/awaits.hpp>
#include <fairlead/detail/base/assert.hpp>
#include <fairlead/http/print.hpp>
#include <fairlead/http/server.hpp>

#include <algorithm>
#include <array>
#include <utility>

namespace fairlead::http {
namespace {

// Answers to a batch are sent when they are larger.
constexpr std::size_t batch_max = std::size_t{64} << 10;
// Of a body, received at a time: at first, so that a slow client has a small buffer, and when it
// comes fast.
constexpr std::size_t body_room = std::size_t{2} << 10;
constexpr std::size_t body_room_max = std::size_t{64} << 10;
// What an idle connection keeps of the buffer for answers.
constexpr std::size_t out_kept = std::size_t{2} << 10;

constexpr std::string_view continue_line = "HTTP/1.1 100 Continue\r\n\r\n";

std::span<const std::byte> bytes_of(std::string_view text) noexcept {
    return std::as_bytes(std::span{text.data(), text.size()});
}

bool has_no_body(int status) noexcept { return status == 204 || status == 304; }

}  // namespace

// --- requests ------------------------------------------------------------------------------------

task<> server_connection::run() {
    bool goes_on = true;
    while (goes_on) {
        const step now = parse();
        if (now == step::need_more) {
            goes_on = co_await receive_head();
        } else if (head_began_ && !resume_head()) {
            goes_on = false;
        } else if (now == step::refused) {
            const std::error_code why = make_error_code(parser_.parse(input_.message()).error());
            refuse(status_for(why), why);
            goes_on = false;
        } else {
            const request_head head = parser_.head(input_.message());
            const bool direct = handler_.is_function() && head.method != "CONNECT" &&
                                head.body.how == framing::kind::none;
            const std::optional<bool> keep = direct ? answer_by_function(head) : std::nullopt;
            if (keep) {
                goes_on = *keep;
            } else if (direct) {
                goes_on = co_await finish(*direct_, *std::exchange(streamed_, std::nullopt));
                end_message();
            } else {
                goes_on = co_await exchange();
            }
            if (out_.size() < batch_max && late_.empty() && late_shared_ == nullptr) continue;
            const std::error_code failure = co_await flush();
            goes_on = goes_on && !failure;
        }
    }
    if (cut_) stream_.reset();
    if (broken_) co_return;
    const std::error_code failure = co_await flush();
    if (failure) co_return;
    // With TLS, the client cannot tell an answer that ends with the connection from a part of it
    // that an attacker has let pass, unless it is told of the end.
    const bool told = co_await shielded(stream_.end_sending(write_deadline()));
    if (told && unread_) co_await linger();
}

server_connection::step server_connection::parse() noexcept {
    if (input_.message().empty()) return step::need_more;
    const auto complete = parser_.parse(input_.message());
    if (!complete) return step::refused;
    return *complete ? step::complete : step::need_more;
}

// False: close the connection.
task<bool> server_connection::receive_head() {
    if (has_output()) {
        const std::error_code failure = co_await flush();
        if (failure) co_return false;
    }
    const bool begun = !input_.message().empty();
    const time_point now = clock::now();
    if (begun && !head_began_) head_began_ = now;
    if (!begun && out_.capacity() > out_kept) out_ = {};
    const time_point deadline =
        begun ? after(*head_began_, options_.head_timeout) : after(now, options_.idle_timeout);
    const auto room = input_.room_for_head(options_.limits.head_max);
    tell_size();
    const verdict waits =
        begun ? monitor_.waits_for_head(*head_began_) : monitor_.waits_for_request();
    if (waits != verdict::go_on) {
        if (begun) end_wait(waits);
        co_return false;
    }
    const auto size = co_await stream_.read_some(room, deadline);
    const bool came = size && *size != 0;
    if (came) input_.add(*size);
    heads_.time_passes();
    if (begun && came) co_return true;  // the head may be complete: see `resume_head`
    const verdict then = monitor_.resumes();
    if (then != verdict::go_on) {
        if (begun || came) end_wait(then);
    } else if (begun && !size && size.error() == std::errc::timed_out) {
        refuse(status_for(size.error()), size.error());
    }
    co_return came&& then == verdict::go_on;
}

// A head that has come in parts is complete, or malformed. False: close the connection.
bool server_connection::resume_head() {
    const verdict then = monitor_.resumes();
    if (then != verdict::go_on) end_wait(then);
    return then == verdict::go_on;
}

// The monitor ends a request that was not begun.
void server_connection::end_wait(verdict how) {
    if (how != verdict::refuse) return;
    refuse(503, std::make_error_code(std::errc::operation_canceled));
    unread_ = false;  // the end does not wait for this client
}

void server_connection::tell_size() noexcept {
    const std::size_t size = input_.capacity();
    if (size != std::exchange(told_size_, size)) monitor_.holds(size);
}

// Whether the connection goes on. Nothing: the answer is in `streamed_`, and is to be finished.
std::optional<bool> server_connection::answer_by_function(const request_head& head) {
    input_.begin_without_body(parser_.head_size());
    direct_.emplace(*this, head, head_began_);
    body_failure_ = {};
    response answer = call_function(head);
    if (answer.stream) {
        streamed_ = std::move(answer);
        return std::nullopt;
    }
    const bool keep = keeps(head, answer);
    print(head, answer, keep);
    end_message();
    return keep;
}

response server_connection::call_function(const request_head& head) {
    try {
        return handler_.call(*direct_);
    } catch (...) {
        return failed(head, std::current_exception());
    }
}

// One request with a coroutine or a body. False: close the connection.
task<bool> server_connection::exchange() {
    begin_body(parser_.head(input_.message()).body);
    tell_size();
    request asked{*this, parser_.head(input_.message()), head_began_};
    continued_ = !asked.head().expects_continue;
    // No answer waits for a coroutine.
    const std::error_code failure = co_await flush();
    if (failure) co_return false;
    response answer = co_await ask(asked);
    heads_.time_passes();
    const bool keep = co_await finish(asked, std::move(answer));
    unread_ = !body_.done() && body_failure_ != std::errc::operation_canceled;
    end_message();
    co_return keep;
}

// Calls the handler.
task<response> server_connection::ask(request& asked) {
    if (asked.method() == "CONNECT") {
        co_return refusal(501, std::make_error_code(std::errc::function_not_supported));
    }
    std::exception_ptr failure;
    try {
        if (!handler_.is_function()) {
            response answer = co_await handler_.start(asked);
            co_return answer;
        }
        auto whole = co_await asked.read_all();
        if (!whole) co_return refusal(status_for(whole.error()), whole.error());
        asked.collected_ = std::move(*whole);
        co_return handler_.call(asked);
    } catch (...) {
        failure = std::current_exception();
    }
    co_return failed(asked.head(), failure);
}

// Answers. False: close the connection.
task<bool> server_connection::finish(request& asked, response answer) {
    const request_head& head = asked.head();
    if (answer.stream && !has_no_body(answer.status) && head.method != "HEAD") {
        // The stream may read the body while it writes.
        const bool wanted = keeps(head, answer);
        const bool sent = co_await stream_answer(head, answer, wanted);
        if (!sent || !wanted) co_return false;
        co_return may_drop_body(head) && co_await drop_body(asked);
    }
    const bool keep = may_drop_body(head) && keeps(head, answer);
    print(head, answer, keep);
    if (keep && !body_.done()) {
        const std::error_code failure = co_await flush();
        if (failure) co_return false;
        const bool dropped = co_await drop_body(asked);
        co_return dropped;
    }
    co_return keep;
}

// Whether the connection can go on after this request, as far as its body is concerned: what has
// come of it is dropped here, and no more than `drop_max` is to come.
bool server_connection::may_drop_body(const request_head& head) noexcept {
    const bool begun = continued_ || !input_.unread().empty();
    while (!body_.done() && !body_failure_ && !input_.unread().empty()) {
        if (const auto piece = decode(); !piece) body_failure_ = make_error_code(piece.error());
    }
    if (body_failure_) return false;
    if (body_.done()) return true;
    return begun && head.body.how == framing::kind::length && body_.rest_max() <= options_.drop_max;
}

task<bool> server_connection::drop_body(request& asked) {
    continued_ = true;
    while (!body_.done()) {
        const auto piece = co_await read_body(asked);
        if (!piece) co_return false;
    }
    co_return true;
}

bool server_connection::keeps(const request_head& head, const response& answer) noexcept {
    return head.keep_alive && !answer.close && !body_failure_ && !task_.stop_requested() &&
           !monitor_.is_last();
}

response server_connection::failed(const request_head& head, std::exception_ptr failure) const {
    try {
        std::rethrow_exception(failure);
    } catch (const stopped_error&) {
        response answer = refusal(503, std::make_error_code(std::errc::operation_canceled));
        answer.close = true;
        return answer;
    } catch (...) {
        if (options_.on_failure) options_.on_failure(head, failure);
    }
    try {
        std::rethrow_exception(failure);
    } catch (const std::bad_alloc&) {
        throw;  // see `serve_stream`
    } catch (...) {
        return refusal(500, std::make_error_code(std::errc::state_not_recoverable));
    }
}

// An answer that no handler makes.
response server_connection::refusal(int status, const std::error_code& why) const {
    if (options_.refusal) return options_.refusal(status, why);
    if (status == 501 && why == std::errc::function_not_supported) {
        return response::text(501, "no tunnels here\n");
    }
    if (status == 500) return response::text(500, "the handler has failed\n");
    if (status == 503) return response::text(503, "the server is stopping\n");
    return response::refusing(why);
}

// Closes the connection behind the answer.
void server_connection::refuse(int status, const std::error_code& why) {
    response answer = refusal(status, why);
    request_head head;
    // The client that has sent this reads no body.
    if (input_.message().starts_with("HEAD ")) head.method = "HEAD";
    heads_.time_passes();
    print(head, answer, false);
    unread_ = true;
}

void server_connection::end_message() noexcept {
    input_.end_message();
    parser_.reset();
    head_began_.reset();
    if (!body_.done()) body_ = {};
}

// --- bodies of requests --------------------------------------------------------------------------

void server_connection::begin_body(const framing& body) {
    const std::size_t head_size = parser_.head_size();
    if (body.how == framing::kind::none) {
        input_.begin_without_body(head_size);
    } else {
        const bool short_body = body.how == framing::kind::length && body.size < body_room;
        input_.begin_body(head_size, short_body ? body.size + 1 : body_room);
    }
    body_ = body_decoder{body, options_.limits};
    body_failure_ = {};
    // A body whose length is over the limit: the answer already says that the connection is closed.
    if (const auto none = body_.decode({}); !none) body_failure_ = make_error_code(none.error());
}

std::span<std::byte> server_connection::room_for_body() {
    const std::uint64_t rest = std::min<std::uint64_t>(body_.rest_max(), body_room_max);
    if (input_.is_full() && rest > body_room && monitor_.may_hold(input_.capacity() + rest)) {
        input_.enlarge_body(rest);
        tell_size();
    }
    return input_.room_for_body();
}

// The next bytes of the body that have come; empty: none.
std::expected<std::string_view, errc> server_connection::decode() noexcept {
    const auto piece = body_.decode(input_.unread());
    if (!piece) return std::unexpected{piece.error()};
    input_.take(piece->taken);
    return piece->data;
}

task<std::expected<std::string_view, std::error_code>> server_connection::read_body(
    request& asked) {
    while (!body_failure_) {
        const auto piece = decode();
        if (!piece) {
            body_failure_ = make_error_code(piece.error());
            break;
        }
        if (!piece->empty() || body_.done()) co_return *piece;
        if (!std::exchange(continued_, true)) {
            out_.append(continue_line);
            body_failure_ = co_await flush();
            if (body_failure_) break;
        }
        if (!asked.body_deadline_) {
            asked.body_deadline_ = after(clock::now(), options_.body_timeout);
        }
        const std::span<std::byte> room = room_for_body();
        const auto canceled = std::make_error_code(std::errc::operation_canceled);
        if (monitor_.waits_for_body() != verdict::go_on) {
            body_failure_ = canceled;
            break;
        }
        const auto size = co_await stream_.read_some(room, *asked.body_deadline_);
        if (monitor_.resumes() != verdict::go_on) {
            body_failure_ = canceled;
        } else if (!size) {
            body_failure_ = size.error();
        } else if (*size == 0) {
            body_failure_ = make_error_code(body_.end_of_input());
        } else {
            input_.add(*size);
        }
    }
    co_return std::unexpected{body_failure_};
}

// --- answers -------------------------------------------------------------------------------------

// Prints an answer without a stream.
void server_connection::print(const request_head& head, response& answer, bool keep) {
    if (answer.status < 200 || answer.status > 999) {
        answer = response::text(500, "the handler has given a status that is none\n");
    }
    const std::string& content = answer.content();
    framing body{framing::kind::length, answer.stream_size.value_or(content.size())};
    if (head.method != "HEAD") body.size = content.size();
    if (head.method == "HEAD" && answer.stream && !answer.stream_size) {
        body = {framing::kind::chunked, 0};
    }
    if (has_no_body(answer.status)) body = {};
    heads_.print(out_, head, answer, body, keep);
    if (head.method == "HEAD" || has_no_body(answer.status)) return;
    if (content.size() <= inline_max) {
        out_.append(content);
    } else if (answer.shared_body != nullptr) {
        late_shared_ = std::move(answer.shared_body);
    } else {
        late_ = std::move(answer.body);
    }
}

// False: the body is not complete, so the connection must be closed.
task<bool> server_connection::stream_answer(const request_head& head, response& answer, bool keep) {
    framing body{framing::kind::chunked, 0};
    if (answer.stream_size) {
        body = {framing::kind::length, *answer.stream_size};
    } else if (head.version == version::http_1_0) {
        body = {framing::kind::until_close, 0};
        keep = false;
    }
    const std::size_t printed = out_.size();
    const std::uint64_t writes = writes_;
    heads_.print(out_, head, answer, body, keep);
    body_writer writer{*this, answer.stream_size, body.how == framing::kind::chunked};
    std::exception_ptr failure;
    try {
        co_await answer.stream(writer);
    } catch (...) {
        failure = std::current_exception();
    }
    broken_ = failure ? writes != writes_ : !writer.complete();
    cut_ = broken_ && body.how == framing::kind::until_close;
    if (failure) {
        out_.resize(std::min(out_.size(), printed));
        response instead = failed(head, failure);
        if (!broken_) print(head, instead, false);  // nothing of the answer was sent
        co_return false;
    }
    if (body.how == framing::kind::chunked) out_.append(last_chunk);
    co_return !broken_ && keep;
}

// --- sending -------------------------------------------------------------------------------------

// In pieces, each with a limit of time. What fits into a piece leaves in one call of the system:
// the head, and a body that was not copied behind it.
task<std::error_code> server_connection::flush() {
    std::error_code failure;
    const std::string_view shared =
        late_shared_ == nullptr ? std::string_view{} : std::string_view{*late_shared_};
    std::array<std::string_view, 4> all{out_, late_, shared, part_};
    sending_ = true;
    while (!failure) {
        std::array<std::span<const std::byte>, all.size()> piece;
        std::size_t count = 0;
        std::size_t room = options_.write_piece;
        for (std::string_view& text : all) {
            const std::string_view part = text.substr(0, room);
            if (part.empty()) continue;
            piece[count++] = bytes_of(part);
            text.remove_prefix(part.size());
            room -= part.size();
        }
        if (count == 0) break;
        ++writes_;
        const std::span<const std::span<const std::byte>> parts{piece.data(), count};
        const auto sent = co_await shielded(stream_.write_all(parts, write_deadline()));
        if (!sent) failure = sent.error();
    }
    sending_ = false;
    broken_ = broken_ || failure;
    out_.clear();
    if (out_.capacity() > 2 * batch_max) out_.shrink_to_fit();
    if (!late_.empty()) late_ = {};
    late_shared_.reset();
    part_ = {};
    co_return failure;
}

// A part of a stream, behind what is to be sent. A frame of its own would do nothing.
task<std::error_code> server_connection::write(std::string_view text) {
    part_ = text;
    return flush();
}

// A stop does not keep an answer from the client, but all that is sent after it has one limit
// together: else a slow reader could hold up the end.
time_point server_connection::write_deadline() noexcept {
    const time_point deadline = after(clock::now(), options_.write_timeout);
    if (!task_.stop_requested()) return deadline;
    last_deadline_ = std::min(last_deadline_, deadline);
    return last_deadline_;
}

task<> server_connection::linger() {
    const time_point deadline = after(clock::now(), options_.linger_timeout);
    std::array<std::byte, 4096> dropped;
    for (std::uint64_t count = 0; count < options_.linger_max;) {
        const auto size = co_await stream_.read_some(dropped, deadline);
        if (!size || *size == 0) co_return;
        count += *size;
    }
}

}  // namespace fairlead::http
