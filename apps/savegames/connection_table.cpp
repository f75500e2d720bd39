#include "savegames/connection_table.hpp"

#include <fairlead/sched/scheduler.hpp>

#include <utility>

namespace savegames {

void connection_table::seat::sit(fairlead::basic_task& task) {
    const std::lock_guard lock{table_->mutex_};
    place_->task = &task;
}

bool connection_table::seat::become_idle(time_point now) {
    const std::lock_guard lock{table_->mutex_};
    if (table_->draining_) return false;
    place_->idle = true;
    place_->idle_since = now;
    table_->idle_.splice(table_->idle_.end(), table_->busy_, place_);
    // Whoever waits for room does not know when this one may be ended, unless another is before it.
    if (table_->idle_.size() == 1) table_->wake_acceptor();
    return true;
}

bool connection_table::seat::become_busy() {
    const std::lock_guard lock{table_->mutex_};
    if (!std::exchange(place_->idle, false)) return false;
    table_->busy_.splice(table_->busy_.end(), table_->idle_, place_);
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
            oldest->idle = false;
            busy_.splice(busy_.end(), idle_, oldest);
            ++evicted_;
            oldest->task->request_stop();
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

void connection_table::drain() {
    const std::lock_guard lock{mutex_};
    draining_ = true;
    for (entry& each : idle_) {
        each.idle = false;
        each.task->request_stop();
    }
    busy_.splice(busy_.end(), idle_);
}

std::size_t connection_table::wait_until_empty(time_point deadline) {
    std::unique_lock lock{mutex_};
    emptied_.wait_until(lock, deadline, [this] { return busy_.empty() && idle_.empty(); });
    return busy_.size() + idle_.size();
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
    (place->idle ? idle_ : busy_).erase(place);
    wake_acceptor();
    if (busy_.empty() && idle_.empty()) emptied_.notify_all();
}

void connection_table::wake_acceptor() {
    if (acceptor_ != nullptr) acceptor_->signal();
}

}  // namespace savegames
