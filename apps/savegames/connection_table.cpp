#include "savegames/connection_table.hpp"

#include <fairlead/sched/scheduler.hpp>

#include <algorithm>
#include <utility>

namespace savegames {

void connection_table::seat::sit(fairlead::basic_task& task) {
    const std::lock_guard lock{table_->mutex_};
    place_->task = &task;
}

void connection_table::seat::become_idle(time_point now) {
    const std::lock_guard lock{table_->mutex_};
    place_->since = now;
    table_->put(place_, activity::idle);
    if (table_->draining_ && table_->idle_.size() == 1) table_->changed_.notify_all();
}

bool connection_table::seat::become_reading_head(time_point since) {
    const std::lock_guard lock{table_->mutex_};
    if (place_->at == activity::stopped || table_->draining_) return false;
    if (place_->at == activity::reading_head) return true;
    place_->since = since;
    table_->put(place_, activity::reading_head);
    return true;
}

bool connection_table::seat::become_reading_body() {
    const std::lock_guard lock{table_->mutex_};
    if (place_->at == activity::stopped || table_->draining_) return false;
    table_->put(place_, activity::reading_body);
    return true;
}

bool connection_table::seat::become_busy() {
    const std::lock_guard lock{table_->mutex_};
    if (place_->at == activity::stopped) return false;
    table_->put(place_, activity::busy);
    return true;
}

bool connection_table::admits(const network& from, time_point now) {
    const std::lock_guard lock{mutex_};
    const auto known = of_networks_.find(from);
    if (of_network_ == 0 || known == of_networks_.end() || known->second < of_network_) return true;
    for (std::list<entry>* const waiting : {&idle_, &reading_}) {
        for (auto each = waiting->begin(); each != waiting->end() && each->since + grace <= now;
             ++each) {
            if (each->from != from) continue;
            ++evicted_;
            stop_task(each);
            return true;
        }
    }
    ++refused_;
    return false;
}

std::optional<connection_table::seat> connection_table::enter(time_point now, time_point* retry,
                                                              const network& from) {
    const std::lock_guard lock{mutex_};
    if (open() < limit_) {
        std::size_t& known = of_networks_[from];
        entered_.emplace_back().from = from;
        ++known;
        newcomer_waits_ = false;
        ++accepted_;
        return seat{*this, std::prev(entered_.end())};
    }
    if (!std::exchange(newcomer_waits_, true)) ++waited_;
    *retry = time_point::max();
    if (const auto first = first_to_go(now)) {
        *retry = (*first)->since + grace;
        if (*retry <= now) {
            *retry = time_point::max();  // the end of that connection makes room
            ++evicted_;
            stop_task(*first);
        }
    }
    return std::nullopt;
}

// The longest idle connection or the slowest head. If both have waited for `grace`, the one whose
// network has more connections; else the connection that has waited longer.
std::optional<connection_table::place> connection_table::first_to_go(time_point now) {
    if (idle_.empty() && reading_.empty()) return std::nullopt;
    if (idle_.empty()) return reading_.begin();
    if (reading_.empty()) return idle_.begin();
    const place idle = idle_.begin();
    const place slow = reading_.begin();
    const std::size_t of_idle = of_networks_[idle->from];
    const std::size_t of_slow = of_networks_[slow->from];
    const bool both_may_go = std::max(idle->since, slow->since) + grace <= now;
    if (both_may_go && of_idle != of_slow) return of_idle > of_slow ? idle : slow;
    return idle->since < slow->since ? idle : slow;
}

std::list<connection_table::entry>& connection_table::list_of(activity at) {
    if (at == activity::entered) return entered_;
    if (at == activity::idle) return idle_;
    return at == activity::reading_head ? reading_ : busy_;
}

void connection_table::put(place where, activity at) {
    std::list<entry>& to = list_of(at);
    to.splice(to.end(), list_of(where->at), where);
    where->at = at;
    // The waiting acceptor must learn when this connection may be ended. If the list has an earlier
    // connection, the acceptor already waits for that one.
    if ((at == activity::idle || at == activity::reading_head) && to.size() == 1) wake_acceptor();
}

std::size_t connection_table::open() const {
    return entered_.size() + busy_.size() + reading_.size() + idle_.size();
}

void connection_table::forget_acceptor() {
    const std::lock_guard lock{mutex_};
    newcomer_waits_ = false;
}

bool connection_table::crowded() const {
    const std::lock_guard lock{mutex_};
    return draining_ || newcomer_waits_;
}

bool connection_table::draining() const {
    const std::lock_guard lock{mutex_};
    return draining_;
}

void connection_table::drain(time_point now) {
    const std::lock_guard lock{mutex_};
    draining_ = true;
    while (!reading_.empty()) stop_task(reading_.begin());
    for (auto each = busy_.begin(); each != busy_.end();) {
        const auto next = std::next(each);
        if (each->at == activity::reading_body) stop_task(each);
        each = next;
    }
    end_idle(now);
}

std::size_t connection_table::wait_until_empty(time_point deadline) {
    std::unique_lock lock{mutex_};
    for (time_point now = clock::now(); open() != 0 && now < deadline; now = clock::now()) {
        changed_.wait_until(lock, std::min(end_idle(now), deadline));
    }
    return open();
}

connection_table::counters connection_table::count() const {
    const std::lock_guard lock{mutex_};
    return {.open = open(),
            .idle = entered_.size() + idle_.size(),
            .limit = limit_,
            .accepted = accepted_,
            .evicted = evicted_,
            .refused = refused_,
            .waited = waited_};
}

void connection_table::leave(place where) {
    const std::lock_guard lock{mutex_};
    const auto known = of_networks_.find(where->from);
    if (--known->second == 0) of_networks_.erase(known);
    list_of(where->at).erase(where);
    wake_acceptor();
    if (open() == 0) changed_.notify_all();
}

void connection_table::wake_acceptor() {
    if (newcomer_waits_) room_.set();
}

void connection_table::stop_task(place where) {
    put(where, activity::stopped);
    where->task->request_stop();
}

// Ends connections that have been idle for `grace`. Returns when the next one is due.
time_point connection_table::end_idle(time_point now) {
    while (!idle_.empty()) {
        const time_point due = idle_.front().since + grace;
        if (due > now) return due;
        stop_task(idle_.begin());
    }
    return time_point::max();
}

}  // namespace savegames
