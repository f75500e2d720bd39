#include <fairlead/detail/sched/halt_watch.hpp>

#include <mutex>

namespace fairlead::sched {

bool halt_watch::enlist(halt_watcher& who) noexcept {
    std::lock_guard lock{mutex_};
    if (ended_) return false;
    watchers_.push_back(who);
    return true;
}

void halt_watch::leave(halt_watcher& who) noexcept {
    std::lock_guard lock{mutex_};
    if (decltype(watchers_)::has(who)) watchers_.erase(who);
}

void halt_watch::end_workers() noexcept {
    std::lock_guard lock{mutex_};
    ended_ = true;
    while (halt_watcher* const each = watchers_.pop_front()) each->workers_ended();
}

void halt_watch::begin_workers() noexcept {
    std::lock_guard lock{mutex_};
    ended_ = false;
}

halt_watch_owner halt_watch_owner::make() {
    halt_watch_owner first;
    first.of_ = new halt_watch;
    first.of_->owners_.store(1, sync::relaxed);  // no other thread knows the object
    return first;
}

halt_watch_owner::halt_watch_owner(const halt_watch_owner& other) noexcept : of_{other.of_} {
    // Relaxed: `other` keeps the object.
    if (of_ != nullptr) of_->owners_.fetch_add(1, sync::relaxed);
}

halt_watch_owner::~halt_watch_owner() {
    if (of_ == nullptr) return;
    // release: what this owner did; acquire: the last owner has seen what all owners did.
    if (of_->owners_.fetch_sub(1, sync::acq_rel) == 1) delete of_;
}

}  // namespace fairlead::sched
