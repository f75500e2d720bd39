#include "postgres/session.hpp"

#include <fairlead/coro/adapted_wait.hpp>
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/blocking.hpp>
#include <fairlead/coro/select.hpp>
#include <fairlead/coro/spawn.hpp>

#include <poll.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <new>
#include <string>
#include <string_view>
#include <utility>

namespace fairlead::postgres::detail {
namespace {

constexpr short what_to_read = POLLIN | POLLHUP | POLLERR;

}  // namespace

session::session(std::shared_ptr<pool_state> pool, std::shared_ptr<seat> at)
    : pool_{std::move(pool)}, at_{std::move(at)} {}

task<> session::run(std::shared_ptr<pool_state> pool, std::shared_ptr<seat> at) {
    const struct last {
        pool_state& pool;
        const std::shared_ptr<seat>& at;
        ~last() { pool.leave(at); }
    } at_the_end{*pool, at};
    bool is_open = false;
    session self{pool, at};
    try {
        const result<void> opened = co_await self.open();
        is_open = opened.has_value();
        if (is_open) {
            co_await self.serve();
        } else if (!at->stop.stop_requested()) {
            pool->attempt_failed(opened.error().as_unsent());
        }
        co_return;
    } catch (const stopped_error&) {
        co_return;
    } catch (...) {
        // No memory: told below.
    }
    const error why{std::make_error_code(std::errc::not_enough_memory)};
    if (is_open) {
        pool->lost(*at, why);
    } else {
        pool->attempt_failed(why);  // so that there is a pause before the next one
    }
}

task<result<void>> session::open() {
    const time_point deadline = after(clock::now(), pool_->options().connect_limit);
    result<void> opened =
        co_await link_.open(pool_->conninfo(), pool_->options().resolve, deadline);
    if (!opened) co_return opened;
    if (PQenterPipelineMode(&link_.get()) == 0) co_return std::unexpected{link_.failure()};
    const pool_options& options = pool_->options();
    pipeline_.emplace(link_, options.prepare ? options.statements_max : 0);
    pool_->opened(*at_);
    co_return result<void>{};
}

task<> session::serve() {
    const executor where = co_await current_executor();
    // Points in time are read in this form.
    const char* const style = PQparameterStatus(&link_.get(), "DateStyle");
    const bool is_iso = style != nullptr && std::string_view{style}.starts_with("ISO");
    loss why;
    if (!is_iso && !pipeline_->send_own("set datestyle to iso")) why = pipeline_->loss();
    while (!why) {
        at_->more.try_wait();
        why = send_all();
        has_told_ = false;
        if (!why) why = take_answers();
        if (why) break;
        if (has_told_) {
            // Those that have their answers may ask again at once: that saves a wait.
            const auto turn = co_await as_result(yield());
            if (turn && pool_->has_assigned(*at_)) continue;
        }
        const auto [duty, next] =
            pool_->plan_of(*at_, clock::now(), pipeline_->is_in_transaction());
        if (duty == pool_state::duty::end) co_return;
        if (duty != pool_state::duty::none) {
            why = do_duty(duty, where);
            continue;
        }
        why = co_await wait(next);
        const bool is_stopped = co_await stop_requested();
        if (!is_stopped) continue;
        // The server would go on with what nothing waits for.
        if (pool_->is_used(*at_)) begin_cancel(where);
        co_return;
    }
    pool_->lost(*at_, *why);
}

session::loss session::send_all() {
    while (const slot* const next = pool_->take(*at_)) {
        if (!send(*next)) return pipeline_->loss();
    }
    const std::uint64_t made =
        pipeline_->prepared() - std::exchange(prepared_, pipeline_->prepared());
    if (made != 0) pool_->add_prepared(made);
    return {};
}

bool session::send(const slot& next) {
    const bool is_shared = !at_->is_lent;
    // Inside a transaction the server would take it back with the transaction.
    const bool may_set = is_shared || pipeline_->is_idle();
    if (may_set && !set_server_deadline(is_shared ? next.deadline : never)) return false;
    if (next.into != nullptr && next.into->is_copy()) {
        copying_.emplace(link_, next.what.front().sql(), next.into);
        return true;
    }
    return pipeline_->send(next.what, is_shared, next.into);
}

// Milliseconds, as a power of two that is not less: so it changes seldom.
bool session::set_server_deadline(time_point deadline) {
    if (!pool_->options().server_deadlines) return true;
    std::int64_t limit = 0;
    if (deadline != never) {
        using std::chrono::milliseconds;
        const auto left = std::chrono::ceil<milliseconds>(deadline - clock::now()).count();
        constexpr std::int64_t least = 16;
        constexpr std::int64_t most = std::int64_t{1} << 30;
        const auto bounded = static_cast<std::uint64_t>(std::clamp(left, least, most));
        limit = static_cast<std::int64_t>(std::bit_ceil(bounded));
    }
    if (limit == server_deadline_ms_) return true;
    server_deadline_ms_ = limit;
    return pipeline_->send_own(limit == 0 ? "reset statement_timeout"
                                          : "set statement_timeout to " + std::to_string(limit));
}

session::loss session::take_answers() {
    for (;;) {
        std::optional<batch_end> end;
        if (!pipeline_->next(end)) return pipeline_->loss();
        if (!end && copying_ && pipeline_->is_empty()) {
            if (!copying_->advance(end)) return copying_->loss();
            if (end) copying_.reset();
        }
        if (!end) return {};
        has_told_ = true;
        const slot* const again = pool_->settle(*at_, std::move(*end));
        if (again != nullptr && !send(*again)) return pipeline_->loss();
    }
}

session::loss session::do_duty(pool_state::duty what, executor where) {
    switch (what) {
        case pool_state::duty::roll_back: {
            pool_->add_rollback(*at_);
            const statement back = std::move(statement{"rollback"}.unprepared());
            if (!pipeline_->send({&back, 1}, false)) return pipeline_->loss();
            return {};
        }
        case pool_state::duty::cancel:
            begin_cancel(where);
            return {};
        default:
            return error{errc::connection_lost, "a statement was given up and did not end", true};
    }
}

void session::begin_cancel(executor where) {
    const std::shared_ptr<PGcancel> how{PQgetCancel(&link_.get()), &PQfreeCancel};
    static_cast<void>(
        spawn(where, cancel(pool_, at_, how), {.name = "postgres cancel", .detached = true}));
}

// The server ends the connection of the cancel when the statement has been told. So what is sent
// afterwards is not hit.
task<> session::cancel(std::shared_ptr<pool_state> pool, std::shared_ptr<seat> at,
                       std::shared_ptr<PGcancel> how) {
    const struct last {
        pool_state& pool;
        seat& at;
        ~last() { pool.cancel_ended(at); }
    } at_the_end{*pool, *at};
    const auto call = [&] {
        char text[256];
        PQcancel(how.get(), text, sizeof(text));
    };
    co_await blocking(call);
}

task<session::loss> session::wait(time_point limit) {
    const int left = link_.flush();
    if (left < 0) co_return link_.failure();
    const bool reads = copying_ ? copying_->reads() : !pipeline_->is_paused();
    if (!reads && left == 0) {
        static_cast<void>(co_await at_->more.wait(limit));
        co_return loss{};
    }
    const int events = (reads ? POLLIN : 0) | (left == 0 ? 0 : POLLOUT);
    short found = 0;
    std::error_code failure;
    const auto on_socket = [&](const std::expected<short, std::error_code>& there) {
        if (there) {
            found = *there;
        } else if (there.error() != std::errc::timed_out) {
            failure = there.error();
        }
    };
    const auto on_more = [](const waited<void>&) {};
    const waited<void> selected =
        co_await select(on(link_.until(static_cast<short>(events), limit), on_socket),
                        on(at_->more.wait(), on_more));
    if (!selected) co_return loss{};  // a stop, which the caller sees
    if (failure) co_return error{failure, true};
    if ((found & what_to_read) == 0) co_return loss{};
    if (link_.consume()) co_return loss{};
    // What came before the end.
    loss why = take_answers();
    co_return why ? std::move(why) : link_.failure();
}

}  // namespace fairlead::postgres::detail
