#include "sched/worker/post_watch.hpp"

#include "sched/runtime/core.hpp"
#include "sched/worker/thief.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace fairlead::sched {

post_watch::post_watch(core& in, slot& own, thief& thief)
    : core_{in},
      slot_{own},
      thief_{thief},
      finished_(in.options.workers),
      seen_posts_(in.options.workers) {}

time_point post_watch::begin() noexcept {
    if (core_.width() == 1 || core_.idle.is_watched()) return never;
    is_due_ = core_.watcher_wanted();
    if ((!is_due_ && !lingers()) || !core_.idle.begin_watch()) return never;
    for (unsigned i = 0; i != core_.width(); ++i) finished_[i] = core_.slots[i]->finished.read();
    return is_due_ ? clock::now() + interval_ : lingers_until_;
}

// A sleep that was cut short goes on with the same limit: so the driver keeps its timer.
bool post_watch::lingers() noexcept {
    if (quiet_left_ != 0 && clock::now() + interval_min < lingers_until_) return true;
    bool news = false;
    for (unsigned i = 0; i != core_.width(); ++i) {
        const std::uint64_t posts = core_.slots[i]->kept_posts.read();
        news |= std::exchange(seen_posts_[i], posts) != posts && i != slot_.index;
    }
    if (news) {
        quiet_left_ = quiet_max;
    } else if (quiet_left_ != 0) {
        --quiet_left_;
    }
    if (quiet_left_ == 0) return false;
    lingers_until_ = clock::now() + interval_max;
    return true;
}

// If the steps turn out to be short, the next watch that is due can be longer.
bool post_watch::end() noexcept {
    core_.idle.end_watch();
    bool stuck = false;
    for (unsigned i = 0; i != core_.width(); ++i) {
        slot& each = *core_.slots[i];
        if (!each.outbox.keeps_some() || each.finished.read() != finished_[i]) continue;
        stuck = true;
        if (slot_.next == nullptr) slot_.next = thief_.steal_posts(each);
    }
    trace("rescue", stuck);
    if (stuck) {
        interval_ = interval_min;
    } else if (is_due_) {
        interval_ = std::min(interval_ * 2, interval_max);
    }
    return stuck;
}

}  // namespace fairlead::sched
