// Objects that are freed while another thread is still in one of their functions, twice, or never.
#include "historical/condition.hpp"
#include "historical/corpus.hpp"

namespace fairlead::model::historical {
namespace {

using namespace sync;  // the memory orders
using cell = sync::atomic<int>;

void wait_for(const cell& flag) {
    while (flag.load(acquire) == 0) explorer::running()->yield();
}

// 1. A poster adds a task and releases the mutex. 2. The task is run, the pool is joined and
// destroyed. 3. The poster notifies the pool's condition variable.
void notifies_after_the_mutex(bool fixed) {
    struct pool {
        sync::mutex mutex;
        condition available;
        bool has_task = false;
    };
    auto* const shared = new pool;
    thread poster{[=] {
        shared->mutex.lock();
        shared->has_task = true;
        if (fixed) shared->available.notify_one();
        shared->mutex.unlock();
        if (!fixed) shared->available.notify_one();
    }};
    shared->mutex.lock();
    while (!shared->has_task) shared->available.wait(shared->mutex);
    shared->mutex.unlock();
    delete shared;
}

// 1. The task's thread sets the flag that finishes the loop. 2. The waiter sees it and returns, and
//    its
// loop is destroyed. 3. The task's thread wakes the loop with an empty task. The fix here: the
// waiter waits until the task's thread has left.
void finishes_a_loop_on_another_stack(bool fixed) {
    struct run_loop {
        cell finishing{0};
        cell tasks{0};
    };
    auto* const loop = new run_loop;
    cell has_left{0};
    thread completes{[&, loop] {
        loop->finishing.store(1, release);
        loop->tasks.fetch_add(1, release);
        has_left.store(1, release);
    }};
    wait_for(loop->finishing);
    if (fixed) wait_for(has_left);
    delete loop;
}

// A latch in a job on the stack of the waiting thread. 1. A setter sets the latch. 2. The waiter
// sees that and returns, so its stack is gone. 3. The setter reads from the latch which thread to
// wake.
void sets_a_latch_on_another_stack(bool fixed) {
    struct registry {
        cell tickled{0};
    };
    struct job {
        cell done{0};
        sync::atomic<registry*> waiter;
    };
    registry pool;
    auto* const waits_for = new job;
    waits_for->waiter.store(&pool, relaxed);
    thread setter{[=] {
        registry* const before = waits_for->waiter.load(relaxed);
        waits_for->done.store(1, release);
        registry* const to_wake = fixed ? before : waits_for->waiter.load(relaxed);
        to_wake->tickled.store(1, relaxed);
    }};
    wait_for(waits_for->done);
    delete waits_for;
}

// There are two counts: for the value, and for the block that holds the counts. Each owner lowers
// both. The second subtraction depends on the result of the first, so each of two owners may think
// that the other is the last.
void releases_two_counts(bool fixed) {
    struct counts {
        cell strong{2};
        cell weak{2};
    };
    auto* const block = new counts;
    const auto release_it = [=] {
        const bool frees_value = block->strong.fetch_sub(1, acq_rel) == 1;
        if (fixed || frees_value) {
            if (block->weak.fetch_sub(1, acq_rel) == 1) delete block;
        } else {
            block->weak.fetch_sub(1, acq_rel);
        }
    };
    thread other{release_it};
    release_it();
}

// There are two owners; the count is one less. Each owner looks whether it is the last and, if not,
// subtracts: both see the other.
void looks_before_it_counts(bool fixed) {
    auto* const others = new cell{1};
    const auto release_it = [=] {
        const int left = fixed ? others->fetch_sub(1, acq_rel) : others->load(acquire);
        if (left == 0) {
            delete others;
        } else if (!fixed) {
            others->fetch_sub(1, release);
        }
    };
    thread other{release_it};
    release_it();
}

// The count is right, but the last owner frees the object without having seen the other owners'
// writes to it.
void counts_relaxed(bool fixed) {
    struct object {
        cell owners{2};
        cell uses{0};
    };
    auto* const shared = new object;
    const auto release_it = [=] {
        shared->uses.fetch_add(1, relaxed);
        if (shared->owners.fetch_sub(1, fixed ? acq_rel : relaxed) == 1) delete shared;
    };
    thread other{release_it};
    release_it();
}

// A start takes the pointer to the timer behind the wrapper. A termination frees that timer. In the
// fixed version they exclude each other. The project's fix also allows a callback to terminate its
// own timer.
void starts_while_it_terminates(bool fixed) {
    struct timer {
        cell due{0};
    };
    sync::atomic<timer*> implementation{new timer};
    sync::mutex mutex;
    thread starts{[&] {
        if (fixed) mutex.lock();
        timer* const now = implementation.load(acquire);
        if (now != nullptr) now->due.store(1, relaxed);
        if (fixed) mutex.unlock();
    }};
    if (fixed) mutex.lock();
    delete implementation.exchange(nullptr, acq_rel);
    if (fixed) mutex.unlock();
}

}  // namespace

std::vector<bug> lifetimes() {
    return {
        {"capy_372",
         "Boost.Capy, PR #372; the same in sdbus-cpp #109, PhotonLibOS #97, ClickHouse #44308",
         "A post notifies after it has released the mutex: by then the pool may be joined and "
         "destroyed",
         "notify with the mutex held", notifies_after_the_mutex, "destroyed"},
        {"stdexec_1742", "stdexec, PRs #1742 and #1746",
         "`run_loop::finish` sets its flag and then wakes the loop, which was on the stack of a "
         "`sync_wait` "
         "that has returned",
         "the waiter waits until `finish` has left", finishes_a_loop_on_another_stack, "destroyed"},
        {"rayon_740", "Rayon, issues #739 and #768, PR #740",
         "Setting a latch of another pool reads the latch after it was set, when the waiter's "
         "stack is gone",
         "read before it is set", sets_a_latch_on_another_stack, "destroyed"},
        {"eastl_378", "EASTL, PR #378",
         "Two owners that release a `shared_ptr` at the same time may both leave its counts to the "
         "other",
         "each count is subtracted and looked at by itself", releases_two_counts, "a leak"},
        {"nim_threading_45", "Nim threading, issue #45, PR #46",
         "`SharedPtr` loads its count and subtracts in two steps: neither owner is the last",
         "one subtraction, which answers", looks_before_it_counts, "a leak"},
        {"serverbox_ref_count", "serverbox, `RefCount::Dec`; the same in CGAL #6227 and EASTL #543",
         "The last owner's subtraction does not acquire what the other owners did before theirs",
         "release and acquire", counts_relaxed, "destroyed"},
        {"lib_http_client_1004", "libHttpClient, issue #1004, PR #1005",
         "`Start` and `Cancel` use the timer behind the wrapper while `Terminate` frees it",
         "here: a mutex", starts_while_it_terminates, "destroyed"},
    };
}

}  // namespace fairlead::model::historical
