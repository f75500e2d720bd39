#include "redis/connection.hpp"

#include "redis/handshake.hpp"
#include "redis/message_words.hpp"

#include <fairlead/coro/adapted_wait.hpp>
#include <fairlead/coro/awaits.hpp>
#include <fairlead/detail/io/errors.hpp>

#include <algorithm>
#include <mutex>
#include <new>
#include <utility>

namespace fairlead::redis::detail {
namespace {

// Errors of a connection that is made that go away by themselves.
[[nodiscard]] bool may_pass(const error& why) noexcept {
    return !why.is_of_server() || why.code() == errc::loading || why.code() == errc::busy ||
           why.code() == errc::master_down;
}

constexpr std::size_t write_piece = 256UL << 10;  // each has the limit of time
constexpr std::size_t read_piece_min = 16UL << 10;
constexpr std::size_t read_piece_max = 256UL << 10;
constexpr std::size_t kept_buffer = 256UL << 10;

}  // namespace

// --- requests ------------------------------------------------------------------------------------

task<result<void>> request::finish(time_point deadline) {
    const auto ended =
        co_await coro::root_question{[](coro::root& self) noexcept { return self.ends_waits(); }};
    if (ended) co_return std::unexpected{error{io::detail::code_of(*ended)}};
    to_.enqueue(*this);
    const waited<void> done = co_await done_.wait(deadline);
    if (!done) {
        const std::optional<bool> was_sent = withdraw();
        if (was_sent)
            co_return std::unexpected{error{io::detail::code_of(done.error()), *was_sent}};
    }
    if (failure_) co_return std::unexpected{std::move(*failure_)};
    co_return result<void>{};
}

std::optional<bool> request::withdraw() noexcept { return to_.withdraw(*this); }

connection::connection(connector connect, client_options options)
    : options_{std::move(options)},
      connect_{std::move(connect)},
      lots_{options_.seed != 0 ? options_.seed : sync::seed_of_system()},
      parser_{options_.limits},
      offline_since_{clock::now()} {}

void connection::enqueue(request& asked) {
    std::lock_guard lock{mutex_};
    const auto refuse = [&](error why) { settle(asked, std::move(why)); };
    if (has_ended_ || is_draining_) return refuse(errc::closed);
    if (offline_) return refuse(*offline_);
    const bool is_bound_to_another =
        asked.generation != 0 && (asked.generation != generation_ || !is_connected_);
    if (is_bound_to_another) return refuse(errc::connection_lost);
    if (queued_ + in_flight_.size() >= options_.queue_max) return refuse(errc::queue_full);
    asked.previous_ = last_;
    (last_ == nullptr ? first_ : last_->following_) = &asked;
    last_ = &asked;
    ++queued_;
    asked.state_ = request::state::queued;
    more_.set();
}

std::optional<bool> connection::withdraw(request& gone) noexcept {
    std::lock_guard lock{mutex_};
    std::optional<bool> was_sent;
    if (gone.state_ == request::state::queued) {
        unlink(gone);
        was_sent = false;
    } else if (gone.state_ == request::state::sent) {
        in_flight_[gone.slot_ - first_slot_].of = nullptr;
        was_sent = true;
    }
    if (was_sent) {
        ++counts_.given_up;
        gone.state_ = request::state::out;
        tell_if_drained();
    }
    return was_sent;
}

void connection::unlink(request& queued) noexcept {
    (queued.previous_ == nullptr ? first_ : queued.previous_->following_) = queued.following_;
    (queued.following_ == nullptr ? last_ : queued.following_->previous_) = queued.previous_;
    queued.previous_ = queued.following_ = nullptr;
    --queued_;
}

void connection::settle(request& done, std::optional<error> failure) noexcept {
    done.failure_ = std::move(failure);
    done.state_ = request::state::done;
    done.done_.set();
}

void connection::fail_queued(const error& why, bool only_bound) noexcept {
    for (request* each = first_; each != nullptr;) {
        request& now = *std::exchange(each, each->following_);
        if (only_bound && now.generation == 0) continue;
        unlink(now);
        settle(now, why);
    }
}

void connection::fail_in_flight(const error& why) noexcept {
    for (const slot& each : in_flight_) {
        if (each.of != nullptr) settle(*each.of, why);
    }
    first_slot_ += in_flight_.size();
    in_flight_.clear();
    written_ = 0;
}

void connection::tell_if_drained() noexcept {
    if (is_draining_ && queued_ == 0 && in_flight_.empty()) drained_.set();
}

bool connection::is_quiet() {
    std::lock_guard lock{mutex_};
    return queued_ == 0 && in_flight_.empty();
}

connection::counts connection::count() {
    std::lock_guard lock{mutex_};
    counts now = counts_;
    now.queued = queued_;
    now.in_flight = in_flight_.size();
    return now;
}

void connection::dropped() {
    std::lock_guard lock{mutex_};
    ++counts_.pushes_dropped;
}

task<bool> connection::drain(time_point deadline) {
    {
        std::lock_guard lock{mutex_};
        is_draining_ = true;
        tell_if_drained();
        if (has_ended_) drained_.set();
    }
    const waited<void> empty = co_await drained_.wait(deadline);
    co_return empty.has_value();
}

// --- the owner -----------------------------------------------------------------------------------

task<> connection::run(std::shared_ptr<connection> self) {
    const struct last {
        connection& of;
        ~last() { of.end(); }
    } at_the_end{*self};
    const client_options& options = self->options_;
    io::detail::reconnect_pauses pauses{options.reconnect_min, options.reconnect_max, self->lots_};
    for (;;) {
        const result<void> opened = co_await self->open();
        const time_point opened_at = clock::now();
        if (opened) {
            pauses.opened();
            co_await self->serve();
        }
        self->stream_.reset();
        const bool is_stopped = co_await stop_requested();
        if (is_stopped) co_return;
        if (!opened) self->note_failed_attempt(opened.error().as_unsent());
        const duration pause =
            opened ? pauses.after_loss(clock::now() - opened_at) : pauses.after_failure();
        const auto slept = co_await as_result(sleep_for(pause));
        if (!slept) co_return;
    }
}

task<result<void>> connection::open() {
    // An exception, of a connector or for lack of memory, is a failed attempt.
    std::error_code thrown;
    try {
        const time_point deadline = after(clock::now(), options_.connect_limit);
        connected made = co_await connect_(deadline);
        if (!made) co_return std::unexpected{error{made.error()}};
        stream_.emplace(std::move(*made));
        parser_ = parser{options_.limits};
        const result<bool> greeted = co_await greet(*stream_, parser_, options_, deadline);
        if (!greeted) co_return std::unexpected{greeted.error()};
        resp3_ = *greeted;
        begin_generation();
        co_return result<void>{};
    } catch (const std::bad_alloc&) {
        thrown = std::make_error_code(std::errc::not_enough_memory);
    } catch (const stopped_error&) {
        thrown = std::make_error_code(std::errc::operation_canceled);
    } catch (...) {
        thrown = errc::connection_lost;
    }
    co_return std::unexpected{error{thrown}};
}

void connection::begin_generation() {
    openings_ = openings();
    std::lock_guard lock{mutex_};
    ++generation_;
    ++counts_.connects;
    openings_left_ = openings_.size();
    is_connected_ = true;
    ping_wanted_ = false;
    received_at_ = clock::now();
    offline_.reset();
    lost_by_.clear();
    more_.set();
}

void connection::end_generation() {
    stream_.reset();
    {
        std::lock_guard lock{mutex_};
        is_connected_ = false;
        offline_since_ = clock::now();
        if (lost_by_) counts_.last_failure = lost_by_;
        const errc why = lost_by_ ? errc::connection_lost : errc::closed;  // a stop of the owner
        fail_in_flight(error{why, true});
        fail_queued(error{why}, true);
        tell_if_drained();
    }
    on_lost();
}

void connection::note_failed_attempt(const error& why) {
    {
        std::lock_guard lock{mutex_};
        counts_.last_failure = why.code();
        const bool waits = may_pass(why) && clock::now() - offline_since_ < options_.offline_max;
        if (waits) return;
        offline_ = why;
        fail_queued(why, false);
        tell_if_drained();
    }
    on_offline(why);
}

void connection::end() noexcept {
    {
        std::lock_guard lock{mutex_};
        has_ended_ = true;
        is_connected_ = false;
        fail_in_flight(error{errc::closed, true});
        fail_queued(error{errc::closed}, false);
        drained_.set();
    }
    on_offline(error{errc::closed});
    ended_.set();
}

// --- the children --------------------------------------------------------------------------------

task<> connection::serve() {
    const executor where = co_await current_executor();
    {
        scope both{where};
        both.spawn(write_loop(both), {.name = "redis writer"});
        both.spawn(read_loop(both), {.name = "redis reader"});
        static_cast<void>(co_await as_result(both.join()));
    }
    end_generation();
}

// Each child ends the other one.
task<> connection::write_loop(scope& both) {
    try {
        co_await write_until_lost();
    } catch (const stopped_error&) {
    } catch (...) {
        lose(std::make_error_code(std::errc::not_enough_memory));
    }
    both.request_stop();
}

task<> connection::read_loop(scope& both) {
    try {
        co_await read_until_lost();
    } catch (const stopped_error&) {
    } catch (...) {
        lose(std::make_error_code(std::errc::not_enough_memory));
    }
    both.request_stop();
}

void connection::lose(std::error_code why) noexcept {
    std::lock_guard lock{mutex_};
    const bool is_a_stop = why == std::errc::operation_canceled;
    if (!lost_by_ && !is_a_stop) lost_by_ = why;
}

task<> connection::write_until_lost() {
    std::string out;
    for (const opening& each : openings_) {
        each.what.write(out);
        std::lock_guard lock{mutex_};
        add_slot(nullptr, 1, each.confirmations, true, duration::zero());
    }
    for (;;) {
        take_queued(out);
        if (out.empty()) {
            const waited<void> more = co_await more_.wait();
            if (!more) co_return;
            continue;
        }
        for (std::span<const std::byte> left = std::as_bytes(std::span{out}); !left.empty();) {
            const auto piece = left.first(std::min(left.size(), write_piece));
            const auto sent =
                co_await stream_->write_all(piece, after(clock::now(), options_.stall));
            if (!sent) {
                const bool is_late = sent.error() == std::errc::timed_out;
                lose(is_late ? make_error_code(errc::stalled) : sent.error());
                co_return;
            }
            left = left.subspan(piece.size());
        }
        note_written();
        if (out.capacity() > kept_buffer) {
            out = {};
        } else {
            out.clear();
        }
    }
}

void connection::take_queued(std::string& out) {
    std::lock_guard lock{mutex_};
    if (std::exchange(ping_wanted_, false)) {
        add_slot(nullptr, 1, 0, false, duration::zero());
        command{"PING"}.write(out);
    }
    while (first_ != nullptr && out.size() < options_.batch_bytes) {
        request& next = *first_;
        add_slot(&next, next.into_.size(), next.confirmations, false, next.blocks_for);
        unlink(next);
        next.state_ = request::state::sent;
        next.slot_ = first_slot_ + in_flight_.size() - 1;
        next.generation = generation_;
        for (const command& each : next.commands_) each.write(out);
        counts_.sent += next.commands_.size();
    }
}

void connection::add_slot(request* of, std::size_t replies, std::size_t confirmations,
                          bool is_opening, duration blocks_for) {
    in_flight_.push_back({of, confirmations == 0 ? replies : confirmations, confirmations != 0,
                          is_opening, blocks_for, never});
}

// A reply may come before the writer has noted that its command is written.
void connection::pop_slot() noexcept {
    in_flight_.pop_front();
    ++first_slot_;
    if (written_ != 0) --written_;
    tell_if_drained();
}

void connection::note_written() {
    const time_point now = clock::now();
    std::lock_guard lock{mutex_};
    for (; written_ < in_flight_.size(); ++written_) in_flight_[written_].sent_at = now;
}

// When the reader should look again, if nothing comes.
time_point connection::read_limit(time_point now) {
    std::lock_guard lock{mutex_};
    if (in_flight_.empty()) {
        return std::max(now, after(now, std::min(options_.stall, options_.ping_after)));
    }
    const slot& oldest = in_flight_.front();
    if (oldest.sent_at == never) return after(now, options_.stall);  // the writer has a limit
    return after(after(std::max(oldest.sent_at, received_at_), options_.stall), oldest.blocks_for);
}

bool connection::has_stalled(time_point now) {
    std::lock_guard lock{mutex_};
    if (in_flight_.empty()) {
        if (now - received_at_ >= options_.ping_after) {
            ping_wanted_ = true;
            more_.set();
        }
        return false;
    }
    const slot& oldest = in_flight_.front();
    if (oldest.sent_at == never) return false;
    return now >=
           after(after(std::max(oldest.sent_at, received_at_), options_.stall), oldest.blocks_for);
}

task<> connection::read_until_lost() {
    std::size_t piece = read_piece_min;
    for (;;) {
        if (!deliver()) co_return;  // also what came behind the first answers
        const time_point limit = read_limit(clock::now());
        const auto count = co_await stream_->read_some(parser_.room(piece), limit);
        if (!count && count.error() == std::errc::timed_out) {
            if (!has_stalled(clock::now())) continue;
            lose(errc::stalled);
            co_return;
        }
        if (!count || *count == 0) {
            lose(count ? make_error_code(errc::connection_lost) : count.error());
            co_return;
        }
        parser_.filled(*count);
        if (*count == piece) piece = std::min(piece * 2, read_piece_max);
        const time_point now = clock::now();
        std::lock_guard lock{mutex_};
        received_at_ = now;
    }
}

// Takes all that has come. False: it is no use to go on.
bool connection::deliver() {
    for (;;) {
        auto next = parser_.next();
        if (!next) {
            lose(next.error());
            return false;
        }
        if (!*next) return true;
        value& came = **next;
        const bool is_array_message = is_subscriber() && !resp3_ && came.type() == kind::array &&
                                      is_message(first_word(came));
        if (came.type() == kind::push || is_array_message) {
            take_push(std::move(came));
        } else if (!take_reply(std::move(came))) {
            lose(errc::protocol);
            return false;
        }
    }
}

bool connection::take_reply(value reply) {
    bool was_last_opening = false;
    bool was_refused = false;
    {
        std::lock_guard lock{mutex_};
        if (in_flight_.empty()) return false;
        slot& oldest = in_flight_.front();
        if (oldest.by_push && !reply.is_error()) return false;
        if (oldest.by_push) oldest.left = 1;
        was_refused = oldest.is_opening && reply.is_error();
        if (oldest.of != nullptr) {
            request& asked = *oldest.of;
            asked.into_[asked.got_++] = std::move(reply);
        }
        if (--oldest.left == 0) {
            if (oldest.of != nullptr) settle(*oldest.of, std::nullopt);
            was_last_opening = oldest.is_opening && --openings_left_ == 0;
            pop_slot();
        }
    }
    // What a refused opening has said is in `reply` still: it has no request.
    if (was_refused || was_last_opening) on_opened(was_refused ? &reply : nullptr);
    return true;
}

void connection::take_push(value message) {
    if (!is_confirmation(first_word(message))) return on_push(std::move(message));
    bool was_last_opening = false;
    {
        std::lock_guard lock{mutex_};
        if (in_flight_.empty() || !in_flight_.front().by_push) return;  // of the server's own
        slot& oldest = in_flight_.front();
        if (--oldest.left != 0) return;
        if (oldest.of != nullptr) {
            oldest.of->into_[0] = std::move(message);
            settle(*oldest.of, std::nullopt);
        }
        was_last_opening = oldest.is_opening && --openings_left_ == 0;
        pop_slot();
    }
    if (was_last_opening) on_opened(nullptr);
}

}  // namespace fairlead::redis::detail
