#include <fairlead/io/connect.hpp>

#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/with_scope.hpp>
#include <fairlead/detail/io/errors.hpp>
#include <fairlead/sched/scheduler.hpp>

#include <algorithm>
#include <iterator>
#include <list>
#include <mutex>
#include <new>
#include <optional>

namespace fairlead::io {

std::string connect_error::to_string() const {
    std::string text = code_.message();
    const char* before = " (";
    for (const failed_attempt& each : attempts_) {
        text.append(before).append(each.to.to_string()).append(": ").append(each.why.message());
        before = "; ";
    }
    if (!attempts_.empty()) text.append(1, ')');
    return text;
}

void address_feed::set(std::vector<address> all, bool complete) {
    {
        const std::lock_guard lock{mutex_};
        all_ = std::move(all);
        is_news_ = true;
        is_complete_ = is_complete_ || complete;
    }
    changed_.set();
}

void address_feed::end() noexcept {
    {
        const std::lock_guard lock{mutex_};
        is_complete_ = true;
    }
    changed_.set();
}

namespace detail {

// One race. The racing task decides; each attempt is a child that reports its end. Both sides meet
// under the mutex of the feed, and a child wakes the racing task by the event of the feed.
class connection_race {
public:
    connection_race(address_feed& from, time_point deadline, connect_options options) noexcept
        : from_{from}, deadline_{deadline}, options_{options} {}

    [[nodiscard]] task<> run(scope& attempts) {
        const scheduler& home = co_await current_scheduler();
        const bool stopping = co_await stop_requested();
        if (stopping) ended_by_ = std::make_error_code(std::errc::operation_canceled);
        while (!ended_by_) {
            const time_point now = home.now();
            const move next = decide(now);
            if (next.what == move::ends) break;
            if (next.what == move::begins) {
                begin_on(attempts, now);
                continue;
            }
            const auto told = co_await from_.changed_.wait(next.until);
            const bool goes_on =
                told || (told.error() == wait_error::expired && next.until < deadline_);
            if (!goes_on) ended_by_ = code_of(told.error());
        }
        attempts.request_stop(stopped_by::lost_race);
    }

    // After all attempts have ended.
    [[nodiscard]] connect_result result() {
        if (winner_) return std::move(*winner_);
        std::vector<failed_attempt> failures;
        failures.reserve(tried_.size());
        for (attempt& each : tried_) {
            // The stop of an attempt is how the end of the race reaches it.
            const bool was_ended = ended_by_ && each.why == std::errc::operation_canceled;
            failures.push_back({each.to, was_ended ? ended_by_ : each.why});
        }
        std::error_code code = ended_by_;
        if (!code && !failures.empty()) code = failures.front().why;
        if (!code) code = std::make_error_code(std::errc::address_not_available);
        return std::unexpected{connect_error{code, std::move(failures)}};
    }

private:
    struct attempt {
        address to;
        std::error_code why;
    };
    struct move {
        enum { waits, begins, ends } what;
        time_point until = never;
    };

    [[nodiscard]] move decide(time_point now) {
        const std::lock_guard lock{from_.mutex_};
        if (winner_) return {move::ends};
        if (std::exchange(from_.is_news_, false)) take_news(now);
        if (now >= deadline_) {
            ended_by_ = std::make_error_code(std::errc::timed_out);
            return {move::ends};
        }
        if (left_.empty()) {
            if (running_ == 0 && from_.is_complete_) return {move::ends};
            return {move::waits, deadline_};
        }
        const time_point begins_at =
            from_.is_complete_ || has_v6_ ? next_at_ : std::max(next_at_, held_to_);
        if (now >= begins_at) return {move::begins};
        return {move::waits, std::min(deadline_, begins_at)};
    }

    // Requires the mutex of the feed.
    void take_news(time_point now) {
        left_.clear();
        for (const address& each : from_.all_) {
            const auto is_same = [&each](const attempt& other) { return other.to == each; };
            if (std::ranges::any_of(tried_, is_same)) continue;
            if (std::ranges::find(left_, each) == left_.end()) left_.push_back(each);
        }
        has_v6_ = std::ranges::any_of(from_.all_, &address::is_v6);
        if (!left_.empty() && held_to_ == never) held_to_ = after(now, options_.resolution_delay);
    }

    void begin_on(scope& attempts, time_point now) {
        auto next = left_.begin();
        if (!tried_.empty()) {
            const bool last_was_v6 = tried_.back().to.is_v6();
            const auto is_other = [last_was_v6](const address& each) {
                return each.is_v6() != last_was_v6;
            };
            const auto other = std::ranges::find_if(left_, is_other);
            if (other != left_.end()) next = other;
        }
        attempt& begun = tried_.emplace_back(*next);
        left_.erase(next);
        {
            const std::lock_guard lock{from_.mutex_};
            next_at_ = after(now, options_.attempt_delay);
            ++running_;
        }
        attempts.spawn(connect(begun), {.name = "connect"});
    }

    [[nodiscard]] task<> connect(attempt& self) {
        const scheduler& home = co_await current_scheduler();
        std::expected<tcp_stream, std::error_code> stream = std::unexpected{std::error_code{}};
        try {
            stream = co_await tcp_stream::connect(self.to, deadline_, options_.stream);
        } catch (const std::bad_alloc&) {
            // The racing task must hear of each end.
            stream = std::unexpected{std::make_error_code(std::errc::not_enough_memory)};
        }
        {
            const std::lock_guard lock{from_.mutex_};
            --running_;
            if (!stream) {
                self.why = stream.error();
                next_at_ = std::min(next_at_, home.now());
            } else if (!winner_) {
                winner_ = std::move(*stream);
            }
        }
        // A stream that has lost is closed here.
        from_.changed_.set();
    }

    address_feed& from_;
    const time_point deadline_;
    const connect_options options_;
    // Of the racing task alone; but an attempt writes its own error, which is read after the join.
    std::list<attempt> tried_;
    std::vector<address> left_;  // known, and not tried
    bool has_v6_ = false;
    time_point held_to_ = never;
    std::error_code ended_by_;  // the deadline or a stop
    // Guarded by the mutex of the feed.
    time_point next_at_ = immediately;
    std::size_t running_ = 0;
    std::optional<tcp_stream> winner_;
};

}  // namespace detail

task<connect_result> connect_any(address_feed& from, time_point deadline, connect_options options) {
    detail::connection_race race{from, deadline, options};
    co_await with_scope([&race](scope& attempts) { return race.run(attempts); });
    co_return race.result();
}

task<connect_result> connect_any(std::vector<address> to, time_point deadline,
                                 connect_options options) {
    address_feed all;
    all.set(std::move(to), true);
    co_return co_await connect_any(all, deadline, options);
}

}  // namespace fairlead::io
