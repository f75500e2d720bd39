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
      seen_kept_(in.options.workers) {}

bool post_watch::begin() noexcept {
    if (core_.width() == 1) return false;
    const bool on = goes_on();
    if ((!on && !core_.watcher_wanted()) || !core_.idle.begin_watch()) return false;
    for (unsigned i = 0; i != core_.width(); ++i) finished_[i] = core_.slots[i]->finished.read();
    return true;
}

// Whether the worker watches although no post is kept now: steps on other slots have kept some
// since it last went to sleep, or not long before. Otherwise each such step would have to wake a
// worker: in a chain of steps of 1 ms no post is kept while a step runs.
bool post_watch::goes_on() noexcept {
    bool news = false;
    for (unsigned i = 0; i != core_.width(); ++i) {
        if (i == slot_.index) continue;
        const slot& each = *core_.slots[i];
        // Both only grow: the first for posts in a front, the second for those in a local deque.
        const std::uint64_t kept = each.outbox.kept_after() + each.direct.read();
        news |= std::exchange(seen_kept_[i], kept) != kept;
    }
    if (news) {
        quiet_left_ = quiet_max;
    } else if (quiet_left_ != 0) {
        --quiet_left_;
    }
    return quiet_left_ != 0;
}

// If the steps turn out to be short, the next watch can be longer.
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
    interval_ = stuck ? interval_min : std::min(interval_ * 2, interval_max);
    return stuck;
}

}  // namespace fairlead::sched
