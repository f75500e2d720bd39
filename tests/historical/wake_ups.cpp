// Wake-ups that were lost: a thread with work and a thread that falls asleep miss each other.
#include "historical/condition.hpp"
#include "historical/corpus.hpp"
#include "model/bell.hpp"

namespace fairlead::model::historical {
namespace {

using namespace sync;  // the memory orders
using cell = sync::atomic<int>;

// 1. The poster pushes. 2. The last searcher lowers the count of searchers. 3. The poster loads the
// count from before 2 and wakes no thread. 4. The searcher looks once more, does not see 1, and
// sleeps. Both accesses of the count are sequentially consistent, but that does not order the push
// and the last look.
void posts_while_the_last_searcher_leaves(bool fixed) {
    cell queue{0};
    cell searching{1};
    bell woken;
    thread poster{[&] {
        queue.store(1, release);
        const int now = fixed ? searching.fetch_add(0, seq_cst) : searching.load(seq_cst);
        if (now == 0) woken.ring();
    }};
    searching.fetch_sub(1, seq_cst);
    if (queue.load(acquire) == 0) woken.wait();
}

// 1. There is a notification that no worker has consumed yet. 2. A poster loads it and leaves: a
// worker is about to look. 3. The worker consumes the notification, looks at the queue without
// seeing the post, and sleeps.
void posts_while_a_notification_is_pending(bool fixed) {
    cell queue{0};
    cell notified{1};
    bell idle;
    thread poster{[&] {
        queue.fetch_or(1, release);
        const int before = fixed ? notified.fetch_or(0, release) : notified.load(relaxed);
        if (before == 1) return;
        notified.exchange(1, release);
        idle.ring();
    }};
    while (queue.load(relaxed) == 0) {
        int expected = 1;
        if (!notified.compare_exchange_strong(expected, 0, acquire, relaxed)) idle.wait();
    }
}

// The unlocking exchange is a read-modify-write, which is no fence: the look at the list of
// waiters may come before it. The waiter's side has its fence.
void unlocks_and_looks_for_waiters(bool fixed) {
    cell locked{1};
    cell waiters{0};
    bell woken;
    thread owner{[&] {
        locked.exchange(0, seq_cst);
        if (fixed) fence(seq_cst);
        if (waiters.load(relaxed) != 0) woken.ring();
    }};
    waiters.store(1, relaxed);
    fence(seq_cst);
    if (locked.load(acquire) == 1) woken.wait();
}

// The sleeper announces itself and looks; the poster pushes and looks. Without fences each may miss
// the other.
void parks_without_fences(bool fixed) {
    cell ready{0};
    cell sleeping{0};
    bell doorbell;
    thread waker{[&] {
        ready.store(1, release);
        if (fixed) fence(seq_cst);
        if (sleeping.load(relaxed) == 1) doorbell.ring();
    }};
    sleeping.store(1, relaxed);
    if (fixed) fence(seq_cst);
    if (ready.load(acquire) == 0) doorbell.wait();
}

// The fences are right, but after its announcement the processor looks only for work. 1. The
// processor sees neither work nor a stop. 2. A thread sets the stop and finds no sleeper. 3. The
// processor announces its sleep, sees no work, and sleeps.
void parks_without_looking_for_a_stop(bool fixed) {
    cell stopping{0};
    cell sleeping{0};
    bell doorbell;
    thread processor{[&] {
        if (stopping.load(relaxed) == 1) return;
        sleeping.store(1, relaxed);
        fence(seq_cst);
        if (fixed && stopping.load(relaxed) == 1) return;
        doorbell.wait();
    }};
    stopping.store(1, release);
    fence(seq_cst);
    if (sleeping.load(relaxed) == 1) doorbell.ring();
}

// 1. The signal has been sent already. 2. Stop sets the flag, and its send finds the signal sent:
// a load, which orders nothing. 3. The worker consumes the signal, reads the flag from before, and
// waits.
void stops_while_the_signal_is_sent(bool fixed) {
    cell stop{0};
    cell sent{1};
    bell woken;
    thread worker{[&] {
        while (stop.load(acquire) == 0) {
            int expected = 1;
            if (!sent.compare_exchange_strong(expected, 0, acquire, relaxed)) woken.wait();
        }
    }};
    stop.store(1, release);
    int expected = 0;
    const bool is_first = fixed ? sent.exchange(1, release) == 0
                                : sent.compare_exchange_strong(expected, 1, release, relaxed);
    if (is_first) woken.ring();
}

// 1. The task is ready: it will run. 2. A waker writes its data, loads the state, and leaves,
// because the task will run. 3. The run begins and reads the old data, and the task sleeps.
void wakes_a_task_that_is_ready(bool fixed) {
    enum : int { running, ready, waiting };
    cell data{0};
    cell state{ready};
    bell pushed;
    thread waker{[&] {
        data.store(1, relaxed);
        if (!fixed && state.load(acquire) == ready) return;
        if (state.exchange(ready, acq_rel) == waiting) pushed.ring();
    }};
    for (;;) {
        state.exchange(running, acq_rel);
        if (data.load(relaxed) == 1) return;
        int expected = running;
        if (state.compare_exchange_strong(expected, waiting, acq_rel, acquire)) pushed.wait();
    }
}

// The task registers its waker with a read-modify-write, looks whether it is ready, and sleeps. The
// other thread makes it ready and looks for a waker. Its load is sequentially consistent, but no
// other access is.
void registers_a_waker(bool fixed) {
    enum : int { empty, waiting, waking };
    cell ready{0};
    cell state{empty};
    bell task;
    thread waker{[&] {
        ready.store(1, release);
        const int before = fixed ? state.fetch_or(waking, acq_rel) : state.load(seq_cst);
        if (before == waiting) task.ring();
    }};
    state.fetch_or(waiting, acq_rel);
    if (ready.load(acquire) == 0) task.wait();
}

// A signal without the mutex comes between the look at the flag and the wait. No thread waits, so
// the signal is lost. The project's specification modelled the condition variable as a boolean that
// stays set, and did not show the bug.
void signals_between_the_look_and_the_wait(bool fixed) {
    sync::mutex mutex;
    condition condition;
    cell signaled{0};
    thread notifier{[&] {
        signaled.store(1, seq_cst);
        if (fixed) mutex.lock();
        condition.notify_one();
        if (fixed) mutex.unlock();
    }};
    if (!fixed && signaled.load(seq_cst) == 1) return;
    mutex.lock();
    if (!fixed || signaled.load(seq_cst) == 0) condition.wait(mutex);
    mutex.unlock();
}

// 1. A worker sees, with the mutex, that the pool runs. 2. The destructor clears the flag and
// notifies, without the mutex. 3. The worker waits, and the destructor joins it.
void destroys_a_pool(bool fixed) {
    sync::mutex mutex;
    condition available;
    cell is_running{1};
    thread worker{[&] {
        mutex.lock();
        while (is_running.load(seq_cst) == 1) available.wait(mutex);
        mutex.unlock();
    }};
    is_running.store(0, seq_cst);
    if (fixed) mutex.lock();
    available.notify_all();
    if (fixed) mutex.unlock();
}

// A latch with room for one sleeper, shared by two.
class one_sleeper_latch {
public:
    void wait() {
        int before = unset;
        if (state_.compare_exchange_strong(before, sleeping, acq_rel, acquire) || before != set) {
            sleeper_.wait();
        }
    }
    void release_it() {
        if (state_.exchange(set, acq_rel) == sleeping) sleeper_.ring();
    }

private:
    enum : int { unset, sleeping, set };
    cell state_{unset};
    bell sleeper_;  // wakes one
};

void terminates_two_workers_with_one_latch(bool fixed) {
    one_sleeper_latch latches[2];
    thread one{[&] { latches[0].wait(); }};
    thread two{[&] { latches[fixed ? 1 : 0].wait(); }};
    latches[0].release_it();
    if (fixed) latches[1].release_it();
}

constexpr const char* lost = "nobody can go on";

}  // namespace

std::vector<bug> wake_ups() {
    return {
        {"tokio_1788", "Tokio, PR #1788",
         "A poster asks with a sequentially consistent load whether a worker searches; the last "
         "searcher "
         "leaves and does not see the post",
         "the load becomes an addition of nothing", posts_while_the_last_searcher_leaves, lost},
        {"bun_28907", "Bun, PR #28907",
         "`notify` returns early after a relaxed load that finds a notification pending, which is "
         "being "
         "consumed by a worker that does not see the post",
         "the load becomes an `or` with nothing, release", posts_while_a_notification_is_pending,
         lost},
        {"onetbb_2136", "oneTBB, PR #2136",
         "`notify_by_address` takes the exchange before it for a fence, and looks too early "
         "whether "
         "a thread waits",
         "a sequentially consistent fence before the look", unlocks_and_looks_for_waiters, lost},
        {"silk_76", "ClickHouse silk, PR #76",
         "Parking and waking have no fence between the store and the look at the other's",
         "a sequentially consistent fence on both sides", parks_without_fences, lost},
        {"silk_152", "ClickHouse silk, PR #152",
         "A processor that parks looks once more for work, but not for a stop, after it has "
         "announced "
         "its sleep",
         "the second look is for both", parks_without_looking_for_a_stop, lost},
        {"serverbox_stop", "serverbox, `Thread::Stop`",
         "The send after the stop flag finds the signal sent already: a failed compare-exchange, "
         "which "
         "publishes nothing",
         "the send is a read-modify-write in any case", stops_while_the_signal_is_sent, lost},
        {"tokio_7622", "Tokio, issue #7589, PR #7622; the same in serverbox, `Task::PostWakeup`",
         "A wake-up that finds the task notified returns after a load; the run that was about to "
         "begin misses its data",
         "the wake-up is a read-modify-write in any case", wakes_a_task_that_is_ready, lost},
        {"futures_rs_1335", "futures-rs, PR #1316, issue #1335",
         "`AtomicWaker::wake` skips its read-modify-write after a sequentially consistent load, "
         "against a registration that is acquire and release",
         "the read-modify-write in any case", registers_a_waker, lost},
        {"weave_56", "Weave, issue #56",
         "A condition variable is signalled without its mutex after the sleeper has looked at the "
         "flag; "
         "the specification, where a signal stays set, had no deadlock",
         "flag and signal with the mutex held", signals_between_the_look_and_the_wait, lost},
        {"bs_thread_pool_108", "BS::thread_pool, issues #93 and #100, PR #108",
         "The destructor notifies without the mutex, between a worker's look at the flag and its "
         "wait",
         "notify with the mutex held", destroys_a_pool, lost},
        {"rayon_945", "Rayon, PRs #943 and #945",
         "Several threads wait for one latch, which keeps the state of one sleeper: one of them is "
         "woken",
         "a latch for each thread", terminates_two_workers_with_one_latch, lost},
    };
}

}  // namespace fairlead::model::historical
