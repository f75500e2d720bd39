// The task of a pool that makes connections and ends those that are not needed.
#include "postgres/pool_state.hpp"
#include "postgres/session.hpp"

#include <fairlead/coro/spawn.hpp>

#include <algorithm>
#include <mutex>
#include <new>
#include <system_error>
#include <utility>

namespace fairlead::postgres::detail {
namespace {

[[nodiscard]] error no_memory() noexcept {
    return error{std::make_error_code(std::errc::not_enough_memory)};
}

}  // namespace

task<> pool_state::keep(std::shared_ptr<pool_state> self) {
    const struct last {
        pool_state& of;
        ~last() {
            of.shut();
            std::lock_guard lock{of.mutex_};
            of.keeper_ended_ = true;
            of.tell_if_ended();
        }
    } at_the_end{*self};
    for (;;) {
        const chores now = self->chores_at(clock::now());
        for (const std::shared_ptr<seat>& each : now.begin) {
            try {
                static_cast<void>(spawn(
                    self->where_, session::run(self, each),
                    {.name = "postgres owner", .stop = each->stop.get_token(), .detached = true}));
            } catch (...) {
                self->attempt_failed(no_memory());  // before the keeper is woken: it makes a pause
                self->leave(each);
            }
        }
        const waited<void> more = co_await self->work_.wait(now.next);
        if (!more && more.error() != wait_error::expired) co_return;
    }
}

// The keeper must not end for want of memory: nothing would ever make a connection again. What has
// no memory is an attempt that has failed.
pool_state::chores pool_state::chores_at(time_point now) noexcept {
    std::lock_guard lock{mutex_};
    chores made{{}, retire(now)};
    const std::size_t count = wanted();
    if (count != 0 && now < next_attempt_) {
        made.next = std::min(made.next, next_attempt_);
        return made;
    }
    // It begins to look for a server: what waits now has not waited before.
    const bool was_at_rest =
        !pauses_.are_failing() || now >= after(next_attempt_, options_.reconnect_max);
    if (count != 0 && seats_.empty() && !offline_ && was_at_rest) offline_since_ = now;
    grows_ = false;
    try {
        made.begin.reserve(count);
        seats_.reserve(seats_.size() + count);
        for (std::size_t i = 0; i != count; ++i) {
            made.begin.push_back(seats_.emplace_back(std::make_shared<seat>()));
        }
    } catch (const std::bad_alloc&) {
        note_failed_attempt(now, no_memory());
        made.next = std::min(made.next, next_attempt_);
    }
    return made;
}

// How many connections are to be made, so far as that is allowed.
std::size_t pool_state::wanted() const noexcept {
    if (is_shut_) return 0;
    const std::size_t connecting = seats_.size() - open_;
    std::size_t wish = options_.min > seats_.size() ? options_.min - seats_.size() : 0;
    if (grows_) {
        const std::size_t missing = std::max<std::size_t>(line_.size(), 1);
        wish = std::max(wish, missing - std::min(missing, connecting));
    }
    if (offline_ && connecting == 0) wish = std::max<std::size_t>(wish, 1);
    const std::size_t max = std::max(options_.max, 1U);
    const std::size_t at_once = pauses_.are_failing() ? 1 : std::max(options_.connecting_max, 1U);
    wish = std::min(wish, max - std::min(max, seats_.size()));
    return std::min(wish, at_once - std::min(at_once, connecting));
}

// Ends what was idle for long, or is old. Gives when to look again.
time_point pool_state::retire(time_point now) noexcept {
    time_point next = never;
    std::size_t kept = std::ranges::count_if(
        seats_, [](const auto& each) { return each->is_open && !each->is_retiring; });
    for (std::size_t i = seats_.size(); i-- != 0;) {  // the last ones are used least
        seat& each = *seats_[i];
        if (!each.is_open || each.is_retiring) continue;
        const time_point old_at = after(each.made_at, options_.age_max);
        const bool is_free = each.load() == 0 && !each.is_lent;
        const time_point idle_at = after(is_free ? each.quiet_since : now, options_.idle);
        const bool is_beyond = kept > options_.min;
        if (now >= old_at || (is_beyond && now >= idle_at)) {
            each.is_retiring = true;
            each.more.set();
            --kept;
            continue;
        }
        next = std::min({next, old_at, is_beyond ? idle_at : never});
    }
    return next;
}

}  // namespace fairlead::postgres::detail
