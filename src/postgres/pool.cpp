#include <fairlead/postgres/pool.hpp>

#include "postgres/flowing.hpp"
#include "postgres/lease.hpp"
#include "postgres/pool_state.hpp"
#include "postgres/statement_kind.hpp"
#include "postgres/subscriber.hpp"

#include <fairlead/coro/spawn.hpp>

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

namespace fairlead::postgres {
namespace {

[[nodiscard]] std::optional<error> refusal_of(const detail::statements& all) noexcept {
    for (const statement& each : all) {
        if (!each.is_valid()) return error{errc::invalid_parameter};
        if (detail::kind_of(each.sql()) != detail::statement_kind::plain) {
            return error{errc::not_shared};
        }
    }
    return {};
}

}  // namespace

pool::pool(executor where, std::string conninfo, pool_options options)
    : state_{std::make_shared<detail::pool_state>(where, std::move(conninfo), std::move(options))} {
    // The keeper works for no request.
    static_cast<void>(
        spawn(where, detail::pool_state::keep(state_),
              {.name = "postgres keeper", .stop = state_->keeper_stop(), .detached = true}));
}

pool::~pool() { state_->shut(); }

// Each is a coroutine of its own: to await a common one would take one more frame.

task<result<std::vector<rows>>> pool::query_all(std::vector<statement> all, time_point deadline) {
    if (all.empty()) co_return std::vector<rows>{};
    detail::statements batch = detail::moved(std::move(all));
    std::optional<error> refused = refusal_of(batch);
    if (refused) co_return std::unexpected{std::move(*refused)};
    const std::shared_ptr<detail::pool_state> state = state_;
    std::vector<rows> found;
    found.reserve(batch.size());  // before anything is sent: later a failure would tell a lie
    detail::request asked{*state, std::move(batch)};
    result<void> done = co_await asked.finish(deadline);
    if (!done) co_return std::unexpected{std::move(done.error())};
    std::ranges::move(asked.results(), std::back_inserter(found));
    co_return found;
}

task<result<rows>> pool::query(statement what, time_point deadline) {
    detail::statements one = detail::alone(std::move(what));
    std::optional<error> refused = refusal_of(one);
    if (refused) co_return std::unexpected{std::move(*refused)};
    const std::shared_ptr<detail::pool_state> state = state_;
    detail::request asked{*state, std::move(one)};
    result<void> done = co_await asked.finish(deadline);
    if (!done) co_return std::unexpected{std::move(done.error())};
    co_return std::move(asked.results().front());
}

task<result<transaction>> pool::begin(transaction_options how, time_point deadline) {
    const std::shared_ptr<detail::pool_state> state = state_;
    for (;;) {
        auto own = co_await detail::lease::take(state, deadline);
        if (!own) co_return std::unexpected{std::move(own.error())};
        auto begun =
            co_await detail::lease::ask(*own, detail::alone(detail::begin_of(how)), deadline);
        if (begun) co_return transaction{std::move(*own)};
        // A connection that has just ended: nothing was done.
        if (begun.error().code() != errc::connection_lost) {
            co_return std::unexpected{std::move(begun.error())};
        }
    }
}

task<result<row_stream>> pool::stream(statement what, time_point deadline) {
    auto made = co_await detail::flowing::begin_alone(state_, detail::flow::kind::rows,
                                                      std::move(what), deadline);
    if (!made) co_return std::unexpected{std::move(made.error())};
    co_return row_stream{std::move(*made)};
}

task<result<copy_reader>> pool::copy_out(std::string sql, time_point deadline) {
    auto made = co_await detail::flowing::begin_alone(state_, detail::flow::kind::copy_out,
                                                      statement{sql}, deadline);
    if (!made) co_return std::unexpected{std::move(made.error())};
    co_return copy_reader{std::move(*made)};
}

task<result<copy_writer>> pool::copy_in(std::string sql, time_point deadline) {
    auto made = co_await detail::flowing::begin_alone(state_, detail::flow::kind::copy_in,
                                                      statement{sql}, deadline);
    if (!made) co_return std::unexpected{std::move(made.error())};
    co_return copy_writer{std::move(*made)};
}

duration pool::drawn(duration longest) const noexcept {
    const auto count = static_cast<std::uint64_t>(std::max<std::int64_t>(longest.count(), 1));
    return duration{static_cast<std::int64_t>(state_->draw() % count)};
}

task<result<subscription>> pool::listen(std::string channel, time_point deadline) {
    return listen_all(std::vector<std::string>{std::move(channel)}, deadline);
}

task<result<subscription>> pool::listen_all(std::vector<std::string> channels,
                                            time_point deadline) {
    return detail::subscriber::listen(state_, std::move(channels), deadline);
}

task<bool> pool::close(time_point deadline) {
    const std::shared_ptr<detail::pool_state> state = state_;
    const bool is_whole = co_await state->drain(deadline);
    state->shut();
    static_cast<void>(co_await state->ended().wait());
    co_return is_whole;
}

pool_stats pool::stats() const { return state_->stats(); }

}  // namespace fairlead::postgres
