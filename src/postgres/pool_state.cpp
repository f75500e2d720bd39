#include "postgres/pool_state.hpp"

#include <fairlead/coro/awaits.hpp>
#include <fairlead/detail/io/errors.hpp>

#include <algorithm>
#include <mutex>
#include <utility>

namespace fairlead::postgres::detail {
namespace {

constexpr duration cancel_again = std::chrono::milliseconds{200};

}  // namespace

// --- requests ------------------------------------------------------------------------------------

task<result<void>> request::finish(time_point deadline) {
    const auto ended =
        co_await coro::root_question{[](coro::root& self) noexcept { return self.ends_waits(); }};
    if (ended) co_return std::unexpected{error{io::detail::code_of(*ended)}};
    deadline_ = deadline;
    of_.enqueue(*this);
    const waited<void> done = co_await done_.wait(deadline);
    if (!done) {
        const std::optional<bool> was_sent = withdraw();
        if (was_sent)
            co_return std::unexpected{error{io::detail::code_of(done.error()), *was_sent}};
    }
    if (failure_) co_return std::unexpected{std::move(*failure_)};
    co_return result<void>{};
}

std::optional<bool> request::withdraw() noexcept { return of_.withdraw(*this); }
void request::give_back() noexcept { of_.give_back(*at_); }

pool_state::pool_state(executor where, std::string conninfo, pool_options options)
    : where_{where},
      conninfo_{std::move(conninfo)},
      options_{std::move(options)},
      lots_{options_.seed != 0 ? options_.seed : sync::seed_of_system()},
      pauses_{make_pauses()},
      offline_since_{clock::now()} {}

void pool_state::enqueue(request& asked) {
    std::lock_guard lock{mutex_};
    const auto refuse = [&](error why) { asked.settle(std::move(why)); };
    if (asked.is_bound_) {
        seat& at = *asked.at_;
        if (is_shut_) return refuse(errc::closed);
        if (!at.is_open) return refuse(errc::connection_lost);
        if (at.is_broken) return refuse(errc::transaction_over);
        if (at.is_flowing) return refuse(errc::stream_open);
        at.is_flowing = asked.flow_ != nullptr;
        asked.state_ = request::state::assigned;
        at.assigned.push_back(asked);
        at.more.set();
        return;
    }
    if (is_shut_ || is_draining_) return refuse(errc::closed);
    if (offline_) return refuse(*offline_);
    if (line_.size() >= options_.queue_max) return refuse(errc::queue_full);
    asked.state_ = request::state::queued;
    line_.push_back(asked);
    match();
}

std::optional<bool> pool_state::withdraw(request& gone) noexcept {
    std::lock_guard lock{mutex_};
    std::optional<bool> was_sent;
    if (gone.state_ == request::state::queued) {
        line_.erase(gone);
        was_sent = false;
        match();  // the one behind may go to a connection that this one could not
    } else if (gone.state_ == request::state::assigned) {
        gone.at_->assigned.erase(gone);
        if (gone.flow_ != nullptr) gone.at_->is_flowing = false;
        note_quiet(*gone.at_);
        was_sent = false;
        match();
    } else if (gone.state_ == request::state::sent) {
        seat& at = *gone.at_;
        slot& of = at.in_flight[gone.slot_ - at.first_slot];
        of.of = nullptr;
        of.was_given_up = true;
        ++at.given_up;
        if (--at.live == 0) at.unasked_since = clock::now();
        at.is_broken |= at.is_lent;
        at.more.set();
        was_sent = true;
    }
    if (was_sent) {
        gone.state_ = request::state::out;
        ++counts_.given_up;
        tell_if_drained();
    }
    return was_sent;
}

void pool_state::give_back(seat& of) noexcept {
    std::lock_guard lock{mutex_};
    of.is_returning = true;
    of.more.set();
}

void pool_state::make_unclean(seat& of) noexcept {
    std::lock_guard lock{mutex_};
    of.is_unclean = true;
}

// --- the line ------------------------------------------------------------------------------------

void pool_state::match() noexcept {
    while (request* const next = line_.first()) {
        seat* const best = best_for(*next);
        const bool is_free = best != nullptr && best->load() == 0;
        if (!is_free && !grows_ && seats_.size() < std::max(options_.max, 1U)) {
            grows_ = true;
            work_.set();
        }
        if (best == nullptr) return;
        line_.erase(*next);
        next->at_ = best->shared_from_this();
        if (next->wants_seat()) {
            best->is_lent = true;
            next->settle(std::nullopt);
        } else {
            next->state_ = request::state::assigned;
            best->assigned.push_back(*next);
            best->more.set();
        }
    }
}

// The one with the least to do; for a connection, one with nothing.
seat* pool_state::best_for(const request& next) noexcept {
    const std::size_t bound =
        next.wants_seat() ? 1 : std::max<std::size_t>(options_.pipeline_max, 1);
    seat* best = nullptr;
    for (const auto& each : seats_) {
        if (!each->takes_new() || each->load() >= bound) continue;
        if (best == nullptr || each->load() < best->load()) best = each.get();
    }
    return best;
}

void pool_state::fail_queued(const error& why) noexcept {
    while (request* const next = line_.first()) {
        line_.erase(*next);
        next->settle(why);
    }
    tell_if_drained();
}

void pool_state::tell_if_drained() noexcept {
    const bool is_quiet = line_.empty() && std::ranges::all_of(seats_, [](const auto& each) {
                              return each->load() == 0 && !each->is_lent;
                          });
    if (is_draining_ && is_quiet) drained_.set();
}

void pool_state::tell_if_ended() noexcept {
    if (keeper_ended_ && seats_.empty()) ended_.set();
}

void pool_state::note_quiet(seat& of) noexcept {
    if (of.load() == 0 && !of.is_lent) of.quiet_since = clock::now();
}

task<bool> pool_state::drain(time_point deadline) {
    {
        std::lock_guard lock{mutex_};
        is_draining_ = true;
        if (is_shut_) drained_.set();
        tell_if_drained();
    }
    const waited<void> empty = co_await drained_.wait(deadline);
    co_return empty.has_value();
}

void pool_state::shut() noexcept {
    {
        std::lock_guard lock{mutex_};
        is_shut_ = true;
        fail_queued(error{errc::closed});
        drained_.set();
    }
    for (;;) {
        std::shared_ptr<seat> next;
        {
            std::lock_guard lock{mutex_};
            const auto found = std::ranges::find_if(
                seats_, [](const auto& each) { return !each->stop.stop_requested(); });
            if (found == seats_.end()) break;
            next = *found;
        }
        next->stop.request_stop();
    }
    stop_.request_stop();
}

pool_stats pool_state::stats() {
    std::lock_guard lock{mutex_};
    pool_stats now = counts_;
    now.open = open_;
    now.connecting = seats_.size() - open_;
    now.queued = line_.size();
    for (const auto& each : seats_) {
        now.lent += each->is_lent ? 1 : 0;
        now.queued += each->assigned.size();
        now.in_flight += each->in_flight.size();
    }
    return now;
}

// --- for the owner of a connection ---------------------------------------------------------------

void pool_state::opened(seat& of) {
    std::lock_guard lock{mutex_};
    of.is_open = true;
    of.made_at = of.quiet_since = clock::now();
    ++open_;
    ++counts_.connects;
    pauses_.opened();
    next_attempt_ = immediately;
    offline_.reset();
    match();
    work_.set();
}

void pool_state::attempt_failed(const error& why) noexcept {
    std::lock_guard lock{mutex_};
    note_failed_attempt(clock::now(), why);
}

// Requires mutex_.
void pool_state::note_failed_attempt(time_point now, const error& why) noexcept {
    ++counts_.connect_failures;
    counts_.last_failure = why.code();
    next_attempt_ = after(now, pauses_.after_failure());
    grows_ |= !line_.empty();
    if (open_ != 0) return;
    const bool waits = may_pass(why) && now - offline_since_ < options_.offline_max;
    if (waits) return;
    offline_ = why;
    fail_queued(why);
}

slot* pool_state::take(seat& of) {
    std::lock_guard lock{mutex_};
    request* const next = of.assigned.first();
    if (next == nullptr || of.is_cancelling) return nullptr;
    const bool is_alone = next->flow_ != nullptr && next->flow_->is_copy();
    if (is_alone && !of.in_flight.empty()) return nullptr;
    slot& made = of.in_flight.emplace_back();  // the request is unchanged if there is no memory
    made.of = next;
    made.what = std::move(next->batch_);
    made.into = next->flow_;
    made.deadline = next->deadline_;
    of.assigned.erase(*next);
    ++of.live;
    next->state_ = request::state::sent;
    next->slot_ = of.first_slot + of.in_flight.size() - 1;
    ++counts_.sent;
    return &made;
}

void pool_state::add_rollback(seat& of) {
    std::lock_guard lock{mutex_};
    of.in_flight.emplace_back();
    of.unasked_since = clock::now();
    of.has_rolled_back = true;
}

slot* pool_state::settle(seat& of, batch_end end) {
    std::lock_guard lock{mutex_};
    slot& ended = of.in_flight.front();
    slot* again = nullptr;
    if (ended.was_given_up) --of.given_up;
    if (ended.into != nullptr) of.is_flowing = false;
    if (request* const asked = ended.of) {
        if (end.is_stale && !ended.is_again && !of.is_lent) {
            again = &of.in_flight.emplace_back(std::move(ended));
            again->is_again = true;
            asked->slot_ = of.first_slot + of.in_flight.size() - 1;
        } else {
            --of.live;
            if (!end.failure) asked->results_ = std::move(end.all);
            asked->settle(std::move(end.failure));
        }
    }
    of.in_flight.pop_front();
    ++of.first_slot;
    if (of.live == 0 && !of.in_flight.empty()) of.unasked_since = clock::now();
    note_quiet(of);
    match();
    tell_if_drained();
    return again;
}

void pool_state::lost(seat& of, const error& why) noexcept {
    std::lock_guard lock{mutex_};
    if (!std::exchange(of.is_open, false)) return;
    --open_;
    const time_point now = clock::now();
    if (open_ == 0) offline_since_ = now;
    const errc code = is_shut_ ? errc::closed : errc::connection_lost;
    for (const slot& each : of.in_flight) {
        if (each.of != nullptr) each.of->settle(why.as(code, true));
    }
    of.first_slot += of.in_flight.size();
    of.in_flight.clear();
    of.live = of.given_up = 0;
    // The last one first, so that the line keeps its order.
    while (request* const unsent = of.assigned.pop_back()) {
        if (unsent->is_bound_ || is_shut_ || offline_) {
            unsent->settle(why.as(code, false));
        } else {
            unsent->state_ = request::state::queued;
            line_.push_front(*unsent);
        }
    }
    if (is_shut_) return;
    const bool was_wanted = why.code() == errc::closed;  // idle, too old, unclean
    ++(was_wanted ? counts_.closed : counts_.lost);
    if (!was_wanted) {
        counts_.last_failure = why.code();
        // Those that are lost at the same time count once.
        if (now >= next_attempt_) next_attempt_ = after(now, pauses_.after_loss(now - of.made_at));
    }
    match();
    tell_if_drained();
}

bool pool_state::has_assigned(const seat& of) noexcept {
    std::lock_guard lock{mutex_};
    return !of.assigned.empty();
}

bool pool_state::is_used(const seat& of) noexcept {
    std::lock_guard lock{mutex_};
    return !of.in_flight.empty();
}

void pool_state::cancel_ended(seat& of) noexcept {
    std::lock_guard lock{mutex_};
    of.is_cancelling = false;
    of.more.set();
    match();
}

void pool_state::add_prepared(std::uint64_t count) noexcept {
    std::lock_guard lock{mutex_};
    counts_.prepared += count;
}

void pool_state::leave(const std::shared_ptr<seat>& of) noexcept {
    lost(*of, error{errc::closed});
    std::lock_guard lock{mutex_};
    std::erase(seats_, of);
    grows_ |= !line_.empty();
    work_.set();
    tell_if_drained();
    tell_if_ended();
}

// At most half of the connections are cancelled within a second, and one at least.
bool pool_state::may_cancel(time_point now) noexcept {
    if (now - cancels_since_ >= std::chrono::seconds{1}) {
        cancels_since_ = now;
        cancels_ = 0;
    }
    if (cancels_ >= std::max(options_.max / 2, 1U)) return false;
    ++cancels_;
    return true;
}

pool_state::plan pool_state::plan_of(seat& of, time_point now, bool in_transaction) {
    std::lock_guard lock{mutex_};
    if (!of.in_flight.empty() || of.is_cancelling) {
        if (of.live != 0) return {duty::none, never};
        const time_point first_at = after(of.unasked_since, options_.cancel_after);
        const time_point abandon_at = after(first_at, options_.abandon_after);
        if (now >= abandon_at) return {duty::abandon, never};
        if (of.is_cancelling || of.given_up == 0) return {duty::none, abandon_at};
        const time_point cancel_at = std::max(first_at, of.next_cancel);
        if (now < cancel_at) return {duty::none, std::min(cancel_at, abandon_at)};
        if (!may_cancel(now)) {
            const time_point again = after(cancels_since_, std::chrono::seconds{1});
            return {duty::none, std::min(again, abandon_at)};
        }
        of.is_cancelling = true;
        // The server forgets a cancel that comes before it has read the statement.
        of.next_cancel = after(now, cancel_again);
        ++counts_.cancels;
        return {duty::cancel, now};
    }
    of.next_cancel = immediately;
    if (!of.assigned.empty()) return {duty::none, now};
    if (of.is_lent && !of.is_returning) return {duty::none, never};
    if (of.is_unclean) return {duty::end, never};
    if (in_transaction) {
        // A statement that is shared has begun a transaction, or the rollback was of no use.
        const bool rolls_back = of.is_returning && !of.has_rolled_back;
        return {rolls_back ? duty::roll_back : duty::end, now};
    }
    if (std::exchange(of.is_lent, false)) {
        of.is_returning = of.is_broken = of.has_rolled_back = false;
        note_quiet(of);
        match();
        tell_if_drained();
        work_.set();
        if (!of.assigned.empty()) return {duty::none, now};
        if (of.is_lent) return {duty::none, never};
    }
    return {of.is_retiring ? duty::end : duty::none, never};
}

}  // namespace fairlead::postgres::detail
