#include "postgres/pipeline.hpp"

#include <algorithm>
#include <memory>
#include <utility>

namespace fairlead::postgres::detail {
namespace {

constexpr int text_format = 0;

}  // namespace

pipeline::pipeline(link& over, std::size_t statements_max)
    : link_{over}, cache_{statements_max}, prepares_{statements_max != 0} {}

bool pipeline::is_idle() const noexcept {
    return batches_.empty() && PQtransactionStatus(&link_.get()) == PQTRANS_IDLE;
}

void pipeline::set_loss(error why) {
    if (!loss_) loss_ = std::move(why);
}

// --- sending -------------------------------------------------------------------------------------

bool pipeline::send(std::span<const statement> batch_of, bool may_evict,
                    std::shared_ptr<flow> into) {
    batch made;
    made.into = std::move(into);
    bool is_sent = true;
    for (const statement& each : batch_of) is_sent = is_sent && send(each, may_evict, made);
    is_sent = is_sent && PQpipelineSync(&link_.get()) != 0;
    batches_.push_back(std::move(made));
    if (!is_sent) set_loss(link_.failure());
    return is_sent;
}

bool pipeline::send(const statement& what, bool may_evict, batch& of) {
    values_.clear();
    lengths_.clear();
    formats_.clear();
    for (const statement::value& each : what.values()) {
        values_.push_back(each.is_null ? nullptr : what.bytes() + each.at);
        lengths_.push_back(static_cast<int>(each.size));
        formats_.push_back(each.is_binary ? 1 : 0);
    }
    if (!prepares_ || !what.is_prepared()) {
        of.steps.push_back({});
        return send_unprepared(what);
    }
    PGconn& connection = link_.get();
    statement_cache::entry known = cache_.find(what.sql());
    if (known != nullptr && !known->is_ready) {
        // The server may refuse to prepare it: that must not be the failure of this one.
        of.steps.push_back({});
        return send_unprepared(what);
    }
    if (known == nullptr) {
        // What is sent for the eviction is a batch of its own, so it goes before this one.
        const bool has_begun = !of.steps.empty();
        const bool has_room = cache_.has_room() || (may_evict && !has_begun);
        if (!has_room) {
            of.steps.push_back({});
            return send_unprepared(what);
        }
        if (!cache_.has_room()) {
            const statement_cache::entry gone = cache_.evict();
            if (!send_own("deallocate " + gone->name)) return false;
        }
        known = cache_.add(what.sql());
        of.steps.push_back({known, nullptr});
        ++prepared_;
        if (PQsendPrepare(&connection, known->name.c_str(), known->sql.c_str(), 0, nullptr) == 0) {
            return false;
        }
    }
    of.steps.push_back({nullptr, known});
    return PQsendQueryPrepared(&connection, known->name.c_str(), static_cast<int>(values_.size()),
                               values_.data(), lengths_.data(), formats_.data(), text_format) != 0;
}

bool pipeline::send_unprepared(const statement& what) {
    return PQsendQueryParams(&link_.get(), what.sql_with_zero(), static_cast<int>(values_.size()),
                             nullptr, values_.data(), lengths_.data(), formats_.data(),
                             text_format) != 0;
}

bool pipeline::send_own(const std::string& sql) {
    const int is_sent = PQsendQueryParams(&link_.get(), sql.c_str(), 0, nullptr, nullptr, nullptr,
                                          nullptr, text_format);
    if (is_sent == 0 || PQpipelineSync(&link_.get()) == 0) {
        set_loss(link_.failure());
        return false;
    }
    batch& made = batches_.emplace_back();
    made.steps.push_back({});
    made.is_own = true;
    return true;
}

// --- answers -------------------------------------------------------------------------------------

bool pipeline::next(std::optional<batch_end>& into) {
    PGconn& connection = link_.get();
    std::size_t nothings = 0;
    while (!batches_.empty()) {
        if (flow* const flows = batches_.front().into.get()) {
            if (!flows->may_push()) return true;
            // Of use when the library has come to this statement and has read nothing of it.
            PQsetSingleRowMode(&connection);
        }
        if (PQisBusy(&connection) != 0) return true;
        answer got{PQgetResult(&connection)};
        if (got == nullptr) {
            // The end of the results of a statement. More of them: there is no statement.
            if (++nothings > 2) {
                set_loss(PQstatus(&connection) == CONNECTION_BAD ? link_.failure()
                                                                 : error{errc::protocol, true});
                return false;
            }
            continue;
        }
        nothings = 0;
        if (PQresultStatus(got.get()) != PGRES_PIPELINE_SYNC) {
            if (!take(std::move(got))) return false;
            continue;
        }
        batch ended = std::move(batches_.front());
        batches_.pop_front();
        // The server may refuse a batch at its end.
        if (!ended.end.failure && ended.done != ended.steps.size()) {
            set_loss(error{errc::protocol, true});
            return false;
        }
        if (ended.is_own) continue;
        into = std::move(ended.end);
        return true;
    }
    return true;
}

// False: the connection is lost.
bool pipeline::take(answer got) {
    batch& of = batches_.front();
    switch (PQresultStatus(got.get())) {
        case PGRES_SINGLE_TUPLE: {
            if (of.into == nullptr) break;
            const std::size_t size = PQresultMemorySize(got.get());
            of.into->push(rows_of(std::move(got)), size);
            return true;
        }
        case PGRES_TUPLES_OK:
        case PGRES_COMMAND_OK:
        case PGRES_EMPTY_QUERY: {
            if (of.done == of.steps.size()) break;
            const step& now = of.steps[of.done++];
            if (now.prepares != nullptr) {
                now.prepares->is_ready = true;
                return true;
            }
            if (!of.is_own) {
                of.end.all.push_back(rows_of(std::move(got)));
            }
            return true;
        }
        case PGRES_FATAL_ERROR:
            if (ends_connection(*got)) {
                set_loss(error_of(*got).as(errc::connection_lost, true));
                return false;
            }
            take_failure(of, *got);
            return true;
        case PGRES_PIPELINE_ABORTED: {
            if (of.done == of.steps.size()) return true;
            const step& now = of.steps[of.done++];
            if (now.prepares != nullptr) cache_.forget(now.prepares);
            return true;
        }
        default:  // COPY: the library cannot go on in pipeline mode
            set_loss(error{errc::not_shared, true});
            return false;
    }
    set_loss(error{errc::protocol, true});
    return false;
}

void pipeline::take_failure(batch& of, const PGresult& said) {
    error why = error_of(said);
    if (of.done != of.steps.size()) {  // else at the end of all
        const step& now = of.steps[of.done++];
        if (now.prepares != nullptr) cache_.forget(now.prepares);
        const bool is_unknown = why.sqlstate() == "26000";
        const bool is_other_plan = why.sqlstate() == "0A000" && now.uses != nullptr &&
                                   why.report().message.starts_with("cached plan");
        if (now.uses != nullptr && (is_unknown || is_other_plan)) {
            cache_.forget(now.uses);
            of.end.is_stale = true;
        }
    }
    if (!of.end.failure) of.end.failure = std::move(why);
}

}  // namespace fairlead::postgres::detail
