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
    place_->at = activity::idle;
    place_->idle_since = now;
    table_->idle_.splice(table_->idle_.end(), table_->busy_, place_);
    // Whoever waits for room does not know when this one may be ended, unless another is before it.
    if (table_->idle_.size() != 1) return;
    table_->wake_acceptor();
    if (table_->draining_) table_->changed_.notify_all();
}

bool connection_table::seat::become_reading() {
    const std::lock_guard lock{table_->mutex_};
    if (place_->at == activity::stopped || table_->draining_) return false;
    place_->at = activity::reading;
    return true;
}

bool connection_table::seat::become_busy() {
    const std::lock_guard lock{table_->mutex_};
    if (place_->at == activity::stopped) return false;
    if (place_->at == activity::idle)
        table_->busy_.splice(table_->busy_.end(), table_->idle_, place_);
    place_->at = activity::busy;
    return true;
}

std::optional<connection_table::seat> connection_table::enter(fairlead::basic_task& acceptor,
                                                              time_point now, time_point* retry) {
    const std::lock_guard lock{mutex_};
    if (busy_.size() + idle_.size() < limit_) {
        acceptor_ = nullptr;
        busy_.emplace_back();
        ++accepted_;
        return seat{*this, std::prev(busy_.end())};
    }
    if (acceptor_ == nullptr) ++waited_;
    acceptor_ = &acceptor;
    *retry = time_point::max();
    if (!idle_.empty()) {
        const auto oldest = idle_.begin();
        *retry = oldest->idle_since + idle_grace;
        if (*retry <= now) {
            *retry = time_point::max();  // its end signals
            ++evicted_;
            stop_task(oldest);
        }
    }
    return std::nullopt;
}

void connection_table::forget_acceptor() {
    const std::lock_guard lock{mutex_};
    acceptor_ = nullptr;
}

bool connection_table::crowded() const {
    const std::lock_guard lock{mutex_};
    return draining_ || acceptor_ != nullptr;
}

void connection_table::drain(time_point now) {
    const std::lock_guard lock{mutex_};
    draining_ = true;
    for (auto each = busy_.begin(); each != busy_.end(); ++each) {
        if (each->at == activity::reading) stop_task(each);
    }
    end_idle(now);
}

std::size_t connection_table::wait_until_empty(time_point deadline) {
    std::unique_lock lock{mutex_};
    const auto open = [this] { return busy_.size() + idle_.size(); };
    for (time_point now = clock::now(); open() != 0 && now < deadline; now = clock::now()) {
        changed_.wait_until(lock, std::min(end_idle(now), deadline));
    }
    return open();
}

connection_table::counters connection_table::count() const {
    const std::lock_guard lock{mutex_};
    return {.open = busy_.size() + idle_.size(),
            .idle = idle_.size(),
            .limit = limit_,
            .accepted = accepted_,
            .evicted = evicted_,
            .waited = waited_};
}

void connection_table::leave(std::list<entry>::iterator place) {
    const std::lock_guard lock{mutex_};
    (place->at == activity::idle ? idle_ : busy_).erase(place);
    wake_acceptor();
    if (busy_.empty() && idle_.empty()) changed_.notify_all();
}

void connection_table::wake_acceptor() {
    if (acceptor_ != nullptr) acceptor_->signal();
}

void connection_table::stop_task(std::list<entry>::iterator place) {
    if (place->at == activity::idle) busy_.splice(busy_.end(), idle_, place);
    place->at = activity::stopped;
    place->task->request_stop();
}

// Returns when the next one is due.
time_point connection_table::end_idle(time_point now) {
    while (!idle_.empty()) {
        const time_point due = idle_.front().idle_since + idle_grace;
        if (due > now) return due;
        stop_task(idle_.begin());
    }
    return time_point::max();
}

}  // namespace savegames
