// The thread of a worker: how it starts and ends.
#include "sched/core.hpp"
#include "sched/worker.hpp"

#include <fairlead/detail/os/thread.hpp>

#include <string>
#include <system_error>
#include <utility>

namespace fairlead::sched {

worker::worker(core& owner, slot& own, unsigned index, bool is_spare)
    : core_{owner},
      slot_{own},
      index_{index},
      is_spare_{is_spare},
      alone_{owner.options.workers == 1},
      keeps_slot_{!own.outbox.is_shared() && !own.outbox.steals() &&
                  *owner.options.blocked_after == duration::zero()},
      watched_finished_(owner.options.workers),
      seen_finished_(owner.options.workers) {}

void worker::take_slot() noexcept {
    away_ = false;
    lost_ = false;
    at_slot_.store(false, sync::relaxed);  // the thread does not run yet, as for the next
    forked_in_.publish(0);
    relieved_.store(false, sync::relaxed);
    slot_.holder.store(this, sync::release);
}

void worker::start() {
    ended_.store(false, sync::relaxed);                 // the thread does not run yet
    slot_.held.store(true, sync::relaxed);              // likewise
    core_.running_workers.fetch_add(1, sync::relaxed);  // likewise
    try {
        auto started =
            os::start_thread(core_.options.name + "/" + std::to_string(index_), [this] { run(); });
        if (!started) {
            throw std::system_error{started.error(), "fairlead: cannot start a worker thread"};
        }
        thread_ = std::move(*started);
    } catch (...) {
        ended_.store(true, sync::relaxed);
        slot_.held.store(false, sync::relaxed);
        core_.running_workers.fetch_sub(1, sync::relaxed);  // the caller joins the others
        throw;
    }
}

void worker::join() {
    if (thread_.joinable()) thread_.join();
}

}  // namespace fairlead::sched
