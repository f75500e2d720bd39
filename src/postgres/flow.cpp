#include "postgres/flow.hpp"

#include "postgres/seat.hpp"

#include <fairlead/detail/io/errors.hpp>

#include <algorithm>
#include <mutex>
#include <utility>

namespace fairlead::postgres::detail {
namespace {

// Of the portions that are put together out of what is smaller.
constexpr std::size_t chunk_max = std::size_t{64} * 1024;

}  // namespace

flow::flow(kind what, std::shared_ptr<seat> at, std::size_t bytes_max)
    : what_{what}, at_{std::move(at)}, bytes_max_{std::max<std::size_t>(bytes_max, 1)} {}

// --- the user ------------------------------------------------------------------------------------

task<result<std::optional<flow::portion>>> flow::take(time_point deadline) {
    for (;;) {
        std::optional<result<std::optional<portion>>> there = try_take();
        if (there) co_return std::move(*there);
        const waited<void> more = co_await news_.wait(deadline);
        if (!more) co_return std::unexpected{error{io::detail::code_of(more.error()), true}};
    }
}

std::optional<result<std::optional<flow::portion>>> flow::try_take() {
    std::lock_guard lock{mutex_};
    if (!portions_.empty()) {
        portion first = take_first();
        if (is_paused_ && bytes_ <= bytes_max_ / 2) {
            is_paused_ = false;
            at_->more.set();
        }
        return result<std::optional<portion>>{std::move(first)};
    }
    const std::optional<result<void>> over = ended();
    if (!over) return {};
    if (!*over) return result<std::optional<portion>>{std::unexpect, over->error()};
    return result<std::optional<portion>>{std::nullopt};
}

task<result<void>> flow::put(std::string_view bytes, time_point deadline) {
    for (;;) {
        std::optional<result<void>> done = try_put(bytes);
        if (done) co_return std::move(*done);
        const waited<void> room = co_await news_.wait(deadline);
        if (!room) co_return std::unexpected{error{io::detail::code_of(room.error()), true}};
    }
}

std::optional<result<void>> flow::try_put(std::string_view bytes) {
    std::lock_guard lock{mutex_};
    if (is_over_ && failure_) return ended();
    if (is_over_ || is_finished_) {
        return result<void>{std::unexpect, error{errc::transaction_over}};
    }
    if (bytes.empty()) return result<void>{};
    if (bytes_ >= bytes_max_) is_paused_ = true;
    if (is_paused_) return {};
    const bool joins = !portions_.empty() && portions_.back().size + bytes.size() <= chunk_max;
    portion& into = joins ? portions_.back() : portions_.emplace_back();
    into.bytes.append(bytes);
    into.size = into.bytes.size();
    bytes_ += bytes.size();
    at_->more.set();
    return result<void>{};
}

task<result<void>> flow::finish(time_point deadline) {
    {
        std::lock_guard lock{mutex_};
        is_finished_ = true;
        at_->more.set();
    }
    for (;;) {
        {
            std::lock_guard lock{mutex_};
            std::optional<result<void>> over = ended();
            if (over) co_return std::move(*over);
        }
        const waited<void> more = co_await news_.wait(deadline);
        if (!more) co_return std::unexpected{error{io::detail::code_of(more.error()), true}};
    }
}

void flow::abandon() noexcept {
    std::lock_guard lock{mutex_};
    is_abandoned_ = true;
    portions_.clear();
    bytes_ = 0;
    at_->more.set();
}

rows flow::last() const {
    std::lock_guard lock{mutex_};
    return last_;
}

std::optional<error> flow::failure() const {
    std::lock_guard lock{mutex_};
    return failure_;
}

std::size_t flow::buffered() const noexcept {
    std::lock_guard lock{mutex_};
    return bytes_;
}

// --- the owner -----------------------------------------------------------------------------------

bool flow::may_push() noexcept {
    std::lock_guard lock{mutex_};
    if (is_abandoned_) return true;
    is_paused_ |= bytes_ >= bytes_max_;
    return !is_paused_;
}

void flow::push(rows some, std::size_t size) {
    std::lock_guard lock{mutex_};
    if (is_abandoned_) return;
    portions_.push_back({std::move(some), {}, size});
    bytes_ += size;
    news_.set();
}

void flow::push(std::string_view bytes) {
    std::lock_guard lock{mutex_};
    if (is_abandoned_) return;
    const bool joins = !portions_.empty() && portions_.back().size + bytes.size() <= chunk_max;
    portion& into = joins ? portions_.back() : portions_.emplace_back();
    into.bytes.append(bytes);
    into.size = into.bytes.size();
    bytes_ += bytes.size();
    news_.set();
}

std::optional<std::string> flow::take_chunk() {
    std::lock_guard lock{mutex_};
    if (portions_.empty()) return {};
    portion first = take_first();
    if (is_paused_ && bytes_ <= bytes_max_ / 2) {
        is_paused_ = false;
        news_.set();
    }
    return std::move(first.bytes);
}

bool flow::is_finished() const noexcept {
    std::lock_guard lock{mutex_};
    return is_finished_ && portions_.empty();
}

bool flow::is_abandoned() const noexcept {
    std::lock_guard lock{mutex_};
    return is_abandoned_;
}

void flow::end(const std::optional<error>& failure, rows last) noexcept {
    std::lock_guard lock{mutex_};
    is_over_ = true;
    failure_ = failure;
    last_ = std::move(last);
    news_.set();
}

// --- both: requires mutex_ -----------------------------------------------------------------------

std::optional<result<void>> flow::ended() const {
    if (!is_over_) return {};
    if (failure_) return result<void>{std::unexpect, *failure_};
    return result<void>{};
}

flow::portion flow::take_first() {
    portion first = std::move(portions_.front());
    portions_.pop_front();
    bytes_ -= first.size;
    return first;
}

}  // namespace fairlead::postgres::detail
