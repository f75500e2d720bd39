// Timers: a thread that cancels a timer races with the thread that fires it.
#include "historical/condition.hpp"
#include "historical/corpus.hpp"

#include <utility>
#include <vector>

namespace fairlead::model::historical {
namespace {

using namespace sync;  // the memory orders
using cell = sync::atomic<int>;

// Holds a mutex for the length of a block.
class guard {
public:
    explicit guard(sync::mutex& held) : held_{held} { held_.lock(); }
    guard(const guard&) = delete;
    guard& operator=(const guard&) = delete;
    ~guard() { held_.unlock(); }

private:
    sync::mutex& held_;
};

// 1. A periodic timer fires, and its callback runs without the lock. 2. Its user cancels it and
// starts it anew. 3. The callback returns, and the timer is armed for the next period of the
// cancelled timer.
void starts_anew_during_the_callback(bool fixed) {
    sync::mutex mutex;
    int deadline = 1;
    unsigned starts = 0;
    {
        thread fires{[&] {
            unsigned started = 0;
            {
                guard held{mutex};
                if (deadline != 1) return;
                started = starts;
            }
            guard held{mutex};
            if (!fixed || starts == started) deadline = 2;
        }};
        guard held{mutex};
        ++starts;
        deadline = 100;
    }
    require(deadline == 100, "what was started last is armed");
}

// 1. A timer expires, and its memory is free. 2. A second timer gets the memory. 3. The user of the
// first timer cancels by the pointer, so the second timer never fires.
void cancels_by_a_pointer(bool fixed) {
    struct timer {
        unsigned id;
        bool is_armed;
    };
    sync::mutex mutex;
    timer memory{1, true};  // the only memory of the allocator
    {
        thread expires{[&] {
            {
                guard held{mutex};
                memory.is_armed = false;
            }
            guard held{mutex};
            memory = {2, true};
        }};
        guard held{mutex};
        if (!fixed || memory.id == 1) memory.is_armed = false;
    }
    require(memory.id == 2 && memory.is_armed, "the other timer is armed");
}

// 1. The event loop takes a due timer from the heap. 2. The timer's owner, on another thread, finds
//    that
// the timer is in no heap, cancels nothing, and frees it. 3. The loop runs the timer.
void frees_what_has_fired_but_not_run(bool fixed) {
    struct timer {
        cell references{1};
        cell runs{0};
    };
    sync::mutex mutex;
    auto* const shared = new timer;
    bool is_in_heap = true;
    const auto release_it = [=] {
        if (shared->references.fetch_sub(1, acq_rel) == 1) delete shared;
    };
    thread loop{[&, shared] {
        {
            guard held{mutex};
            if (!is_in_heap) return;
            is_in_heap = false;
            if (fixed) shared->references.fetch_add(1, relaxed);
        }
        shared->runs.store(1, relaxed);
        if (fixed) release_it();
    }};
    {
        guard held{mutex};
        is_in_heap = false;
    }
    release_it();
}

// 1. A timer fires, and its callback runs. 2. Another thread cancels it, and frees what the
// callback works on. The fix: a cancellation waits for the callback, unless it is called from
// there.
void cancels_while_the_callback_runs(bool fixed) {
    sync::mutex mutex;
    condition has_run;
    bool is_due = true;
    bool is_running = false;
    auto* const connection = new cell{0};
    thread fires{[&, connection] {
        {
            guard held{mutex};
            if (!is_due) return;
            is_due = false;
            is_running = true;
        }
        connection->store(1, relaxed);
        guard held{mutex};
        is_running = false;
        has_run.notify_all();
    }};
    {
        guard held{mutex};
        is_due = false;
        while (fixed && is_running) has_run.wait(mutex);
    }
    delete connection;
}

// Timers whose callbacks may cancel another timer. The mistake: all due timers leave the list
// before they are fired one by one, so a cancellation no longer finds them.
class timer_list {
public:
    struct timer {
        timer* cancels = nullptr;
        bool is_pending = true;
        bool was_cancelled = false;
    };

    timer_list(std::vector<timer*> timers, bool fixed)
        : timers_{std::move(timers)}, fixed_{fixed} {}

    void fire_all() {
        const std::vector<timer*> due = fixed_ ? timers_ : std::exchange(timers_, {});
        for (timer* const each : due) {
            if (fixed_ && !each->is_pending) continue;
            require(!each->was_cancelled, "what was cancelled does not fire");
            each->is_pending = false;
            if (each->cancels != nullptr) cancel(*each->cancels);
        }
    }

private:
    void cancel(timer& which) {
        which.was_cancelled = true;
        for (timer* const each : timers_) {
            if (each == &which) each->is_pending = false;
        }
    }

    std::vector<timer*> timers_;
    const bool fixed_;
};

void cancels_what_was_collected(bool fixed) {
    timer_list::timer second;
    timer_list::timer first{.cancels = &second};
    timer_list timers{{&first, &second}, fixed};
    timers.fire_all();
}

// 1. A queue has handed out its last delayed entry and reports that no timer is needed. 2. Another
// thread adds an entry and starts the timer for it. 3. The first thread cancels the timer. The fix
// here: the first thread does not touch the timer. A timer that fires without need does no harm.
void cancels_the_timer_of_another(bool fixed) {
    constexpr int none = 1000;
    cell due{1};
    cell armed{none};
    {
        thread adds{[&] {
            int before = due.load(acquire);
            if (before == none && due.compare_exchange_strong(before, 5, acq_rel, relaxed)) {
                armed.store(5, release);
            }
        }};
        int before = 1;
        due.compare_exchange_strong(before, none, acq_rel, relaxed);
        if (!fixed) armed.store(none, release);
    }
    require(due.newest() == armed.newest(), "what is due has a timer");
}

}  // namespace

std::vector<bug> timers() {
    return {
        {"nuttx_17675", "NuttX, PR #17675 (a comment), PR #18131",
         "A periodic timer that is cancelled and started anew while its callback runs is armed "
         "again for "
         "the old period",
         "here: a count of starts tells that it is another one", starts_anew_during_the_callback,
         "required: what was started last is armed"},
        {"picotcp_308", "picoTCP, issue #308",
         "Timers are cancelled by pointer, and the allocator gives the pointer of an expired one "
         "to another",
         "timers have numbers", cancels_by_a_pointer, "required: the other timer is armed"},
        {"bun_33131", "Bun, PR #33131 (in review)",
         "A timer that is marked as fired, but has not run yet, is freed by an owner that finds "
         "nothing to "
         "cancel",
         "a reference that is taken under the lock and released after the run",
         frees_what_has_fired_but_not_run, "destroyed"},
        {"qpid_dispatch_1170", "Apache Qpid Dispatch, DISPATCH-1679, PR #1170",
         "A cancellation returns while the callback runs on another thread, and what it works on "
         "is "
         "freed",
         "cancelling and freeing wait for the callback", cancels_while_the_callback_runs,
         "destroyed"},
        {"connectedhomeip_22375", "Matter (connectedhomeip), PR #22375; the same in upg-vpp #7",
         "The timers that are due are collected before they fire, and a callback cannot cancel one "
         "of them",
         "a cancellation looks among the collected, too", cancels_what_was_collected,
         "required: what was cancelled does not fire"},
        {"lib_http_client_945", "libHttpClient, issue #945",
         "Between saying that no timer is due and cancelling it another thread has started it for "
         "its own "
         "entry, which is stranded",
         "here: no cancellation", cancels_the_timer_of_another,
         "required: what is due has a timer"},
    };
}

}  // namespace fairlead::model::historical
