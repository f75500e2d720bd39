#include "postgres/copying.hpp"

#include "postgres/answer.hpp"

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

namespace fairlead::postgres::detail {
namespace {

// Of one message to the server: the buffer of the library stays small.
constexpr std::size_t message_max = std::size_t{64} * 1024;

}  // namespace

bool copying::advance(std::optional<batch_end>& end) {
    for (;;) {
        next done = next::lost;
        switch (step_) {
            case step::begin:
                done = begin();
                break;
            case step::results:
                done = take_result();
                break;
            case step::out:
                done = take_data();
                break;
            case step::in:
                done = put_data();
                break;
        }
        if (done == next::goes_on) continue;
        if (done == next::ended) end = std::move(end_);
        return done != next::lost;
    }
}

copying::next copying::lose(error why) {
    loss_ = std::move(why);
    return next::lost;
}

copying::next copying::begin() {
    PGconn& connection = link_.get();
    if (PQexitPipelineMode(&connection) == 0 || PQsendQuery(&connection, sql_.c_str()) == 0) {
        return lose(link_.failure());
    }
    step_ = step::results;
    return next::goes_on;
}

copying::next copying::take_result() {
    PGconn& connection = link_.get();
    if (PQisBusy(&connection) != 0) return next::waits;
    answer got{PQgetResult(&connection)};
    if (got == nullptr) {
        const bool is_whole = PQenterPipelineMode(&connection) != 0;
        return is_whole ? next::ended : lose(link_.failure());
    }
    switch (PQresultStatus(got.get())) {
        case PGRES_COPY_OUT:
            begin_data(flow::kind::copy_out);
            return next::goes_on;
        case PGRES_COPY_IN:
            begin_data(flow::kind::copy_in);
            return next::goes_on;
        case PGRES_FATAL_ERROR:
            if (ends_connection(*got)) return lose(error_of(*got).as(errc::connection_lost, true));
            if (!end_.failure) end_.failure = error_of(*got);
            return next::goes_on;
        default:
            end_.all.clear();
            end_.all.push_back(rows_of(std::move(got)));
            return next::goes_on;
    }
}

void copying::begin_data(flow::kind direction) {
    step_ = direction == flow::kind::copy_out ? step::out : step::in;
    if (direction == flow_->what()) return;
    is_other_direction_ = true;
    if (!end_.failure) {
        end_.failure =
            error{errc::invalid_parameter, "the statement copies in the other direction", true};
    }
}

copying::next copying::take_data() {
    if (!is_other_direction_ && !flow_->may_push()) return next::waits;
    char* data = nullptr;
    const int size = PQgetCopyData(&link_.get(), &data, 1);
    if (size == 0) return next::waits;
    if (size < 0) {
        step_ = step::results;  // the end, or an error
        return next::goes_on;
    }
    const std::unique_ptr<char, decltype(&PQfreemem)> owned{data, &PQfreemem};
    if (!is_other_direction_) flow_->push(std::string_view{data, static_cast<std::size_t>(size)});
    return next::goes_on;
}

copying::next copying::put_data() {
    if (is_other_direction_) return end_data("the statement copies in the other direction");
    if (flow_->is_abandoned()) return end_data("given up by the client");
    // The library would keep any number of bytes.
    const int left = link_.flush();
    if (left < 0) return lose(link_.failure());
    if (left > 0) return next::waits;
    if (sent_ == chunk_.size()) {
        std::optional<std::string> more = flow_->take_chunk();
        if (!more) return flow_->is_finished() ? end_data(nullptr) : next::waits;
        chunk_ = std::move(*more);
        sent_ = 0;
    }
    const std::size_t count = std::min(chunk_.size() - sent_, message_max);
    const int done = PQputCopyData(&link_.get(), chunk_.data() + sent_, static_cast<int>(count));
    if (done < 0) return lose(link_.failure());
    if (done == 0) return next::waits;
    sent_ += count;
    return next::goes_on;
}

copying::next copying::end_data(const char* why_not) {
    if (PQputCopyEnd(&link_.get(), why_not) <= 0) return lose(link_.failure());
    step_ = step::results;
    return next::goes_on;
}

}  // namespace fairlead::postgres::detail
