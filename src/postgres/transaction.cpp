#include <fairlead/postgres/transaction.hpp>

#include "postgres/flowing.hpp"
#include "postgres/lease.hpp"
#include "postgres/statement_kind.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

namespace fairlead::postgres {
namespace detail {

task<result<row_sets>> lease::ask(std::shared_ptr<lease> of, statements all, time_point deadline) {
    request asked{*of->pool_, std::move(all), of->at_};
    result<void> done = co_await asked.finish(deadline);
    if (!done) co_return std::unexpected{std::move(done.error())};
    co_return std::move(asked.results());
}

task<result<std::shared_ptr<lease>>> lease::take(std::shared_ptr<pool_state> of,
                                                 time_point deadline) {
    auto own = std::make_shared<lease>(of);
    request asked{*of};
    result<void> done = co_await asked.finish(deadline);
    if (!done) co_return std::unexpected{std::move(done.error())};
    own->hold(asked.take_seat());
    co_return std::move(own);
}

statement begin_of(const transaction_options& how) {
    std::string sql = "begin";
    switch (how.level) {
        case isolation::server_default:
            break;
        case isolation::read_committed:
            sql += " isolation level read committed";
            break;
        case isolation::repeatable_read:
            sql += " isolation level repeatable read";
            break;
        case isolation::serializable:
            sql += " isolation level serializable";
            break;
    }
    if (how.read_only) sql += " read only";
    if (how.deferrable) sql += " deferrable";
    return std::move(statement{sql}.unprepared());
}

}  // namespace detail

namespace {

// `of`: null after the end of the transaction.
task<result<detail::row_sets>> ask_of_user(std::shared_ptr<detail::lease> of,
                                           detail::statements all, time_point deadline) {
    using detail::statement_kind;
    if (of == nullptr) co_return std::unexpected{error{errc::transaction_over}};
    if (all.empty()) co_return detail::row_sets{};
    if (!std::ranges::all_of(all, &statement::is_valid)) {
        co_return std::unexpected{error{errc::invalid_parameter}};
    }
    for (const statement& each : all) {
        const statement_kind kind = detail::kind_of(each.sql());
        if (kind == statement_kind::transaction || kind == statement_kind::copy) {
            co_return std::unexpected{error{errc::not_shared}};
        }
        if (kind == statement_kind::session) of->make_unclean();
    }
    co_return co_await detail::lease::ask(of, std::move(all), deadline);
}

}  // namespace

transaction::transaction(std::shared_ptr<detail::lease> of) noexcept : of_{std::move(of)} {}
transaction::transaction(transaction&& other) noexcept = default;
transaction& transaction::operator=(transaction&& other) noexcept = default;
transaction::~transaction() = default;

task<result<std::vector<rows>>> transaction::query_all(std::vector<statement> all,
                                                       time_point deadline) {
    std::vector<rows> found;
    found.reserve(all.size());  // before anything is sent: later a failure would tell a lie
    auto done = co_await ask_of_user(of_, detail::moved(std::move(all)), deadline);
    if (!done) co_return std::unexpected{std::move(done.error())};
    std::ranges::move(*done, std::back_inserter(found));
    co_return found;
}

task<result<rows>> transaction::query(statement what, time_point deadline) {
    auto done = co_await ask_of_user(of_, detail::alone(std::move(what)), deadline);
    if (!done) co_return std::unexpected{std::move(done.error())};
    co_return std::move(done->front());
}

result<row_stream> transaction::stream(statement what) {
    if (of_ == nullptr) return std::unexpected{error{errc::transaction_over}};
    auto made = detail::flowing::begin(of_, detail::flow::kind::rows, std::move(what));
    if (!made) return std::unexpected{std::move(made.error())};
    return row_stream{std::move(*made)};
}

result<copy_reader> transaction::copy_out(std::string_view sql) {
    if (of_ == nullptr) return std::unexpected{error{errc::transaction_over}};
    auto made = detail::flowing::begin(of_, detail::flow::kind::copy_out, sql);
    if (!made) return std::unexpected{std::move(made.error())};
    return copy_reader{std::move(*made)};
}

result<copy_writer> transaction::copy_in(std::string_view sql) {
    if (of_ == nullptr) return std::unexpected{error{errc::transaction_over}};
    auto made = detail::flowing::begin(of_, detail::flow::kind::copy_in, sql);
    if (!made) return std::unexpected{std::move(made.error())};
    return copy_writer{std::move(*made)};
}

task<result<void>> transaction::commit(time_point deadline) {
    const std::shared_ptr<detail::lease> of = of_;
    if (of == nullptr) co_return std::unexpected{error{errc::transaction_over}};
    auto all = detail::alone(std::move(statement{"commit"}.unprepared()));
    auto done = co_await detail::lease::ask(of, std::move(all), deadline);
    const bool was_sent = done || done.error().was_sent();
    if (was_sent) of_.reset();
    if (!done) {
        const error& why = done.error();
        const bool is_lost = why.code() == errc::connection_lost || why.code() == errc::closed;
        co_return std::unexpected{is_lost && was_sent ? why.as(errc::outcome_unknown, true) : why};
    }
    // The answer to the commit of a transaction that has failed.
    if (done->front().command() == "ROLLBACK") {
        co_return std::unexpected{error{errc::rolled_back, true}};
    }
    co_return result<void>{};
}

task<result<void>> transaction::rollback(time_point deadline) {
    const std::shared_ptr<detail::lease> of = std::exchange(of_, nullptr);
    if (of == nullptr) co_return result<void>{};
    auto all = detail::alone(std::move(statement{"rollback"}.unprepared()));
    const auto done = co_await detail::lease::ask(of, std::move(all), deadline);
    // Without a connection the server rolls back; else the owner of the connection does it later.
    const bool is_wait = !done && done.error().code().category() != category();
    if (is_wait) co_return std::unexpected{done.error()};
    co_return result<void>{};
}

}  // namespace fairlead::postgres
