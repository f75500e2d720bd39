// Parking: workers that look for work and sleep, threads that have some. The real `idle`, with a small
// worker around it that follows the protocol of sched/worker.cpp, so that all executions can be seen.
#include "model/explore.hpp"

#include "sched/idle.hpp"

#include <fairlead/lockfree/block_queue.hpp>
#include <fairlead/lockfree/front_queue.hpp>
#include <fairlead/lockfree/run_queue.hpp>
#include <fairlead/sched/futex_driver.hpp>

#include <gtest/gtest.h>

#include <optional>

namespace fairlead::sched {
namespace {

using model::plain;
using model::require;
using model::thread;

struct item {
    plain<int> payload{0};
    item* next = nullptr;
};
using queue = lockfree::front_queue<item, &item::next>;

// One queue, which one worker at a time may empty, as with the role.
class yard {
public:
    explicit yard(unsigned workers) : idle{workers, driver_} {}

    // Any thread.
    void post(item& posted) {
        posted.payload = 1;
        if (queue_.push(posted)) idle.announce();
    }
    void stop() {
        stopping_.store(true, sync::release);
        idle.wake_all();
    }

    // Takes items until `wanted` are taken by all workers, or the stop.
    void work(unsigned index, bool in_driver, int wanted) {
        while (!ends(wanted)) {
            idle.begin_search();
            while (!take() && !ends(wanted)) sleep(index, in_driver, wanted);
            // The last searcher looks for those who relied on it.
            if (idle.end_search() && !queue_.empty()) idle.wake_one();
        }
        idle.wake_all();  // the others end as well
    }

    [[nodiscard]] int taken() const { return taken_.newest(); }
    [[nodiscard]] bool empty() const { return queue_.empty(); }

    futex_driver driver_;
    sched::idle idle;

private:
    bool ends(int wanted) const {
        return stopping_.load(sync::acquire) || taken_.load(sync::acquire) == wanted;
    }

    bool try_acquire() { return !role_.exchange(true, sync::acq_rel); }
    void release() {
        role_.exchange(false, sync::acq_rel);
        if (!queue_.empty()) idle.wake_one();  // after the release [RL1]
    }

    bool take() {
        if (!try_acquire()) return false;
        auto all = queue_.take_all();
        release();
        if (all.empty()) return false;
        while (item* const each = all.pop_front()) {
            require(each->payload == 1, "the item is as it was posted, and taken once");
            each->payload = 2;
            taken_.fetch_add(1, sync::acq_rel);
        }
        return true;
    }

    void sleep(unsigned index, bool in_driver, int wanted) {
        if (!in_driver || !sleep_in_driver(wanted)) park(index, wanted);
    }

    bool sleep_in_driver(int wanted) {
        if (!try_acquire()) return false;
        const bool entered = idle.enter_driver();
        if (entered) static_cast<void>(driver_.set_deadline(never));
        release();
        if (!entered) return false;
        if (queue_.empty() && !ends(wanted)) driver_.wait();
        idle.leave_driver();
        return true;
    }

    void park(unsigned index, int wanted) {
        idle.prepare_park(index);
        bool stay = !ends(wanted);
        // What is there is for who has the role; if that is another, it looks after its release [RL1].
        if (stay && !queue_.empty() && try_acquire()) {
            role_.exchange(false, sync::acq_rel);
            stay = false;
        }
        if (!stay || !idle.park_until(index, never)) idle.cancel_park(index);
    }

    queue queue_;
    sync::atomic<bool> role_{false};
    sync::atomic<bool> stopping_{false};
    sync::atomic<int> taken_{0};
};

void one_worker(bool in_driver, int posts, bool stop) {
    yard yard{1};
    item items[2];
    {
        thread worker{[&] { yard.work(0, in_driver, posts); }};
        std::optional<thread> stopper;
        if (stop) stopper.emplace([&] { yard.stop(); });
        for (int i = 0; i != posts; ++i) yard.post(items[i]);
    }
    if (!stop) require(yard.taken() == posts, "each is taken");
}

TEST(ModelParking, AParkedWorkerIsWokenByAPost) {
    model::expect_passes({.stale_reads = 1}, [] { one_worker(false, 1, false); });
    model::expect_passes({.preemptions = 3, .stale_reads = 1}, [] { one_worker(false, 2, false); });
}

TEST(ModelParking, TheSleeperInTheDriverIsWokenByAPost) {
    model::expect_passes({.stale_reads = 1}, [] { one_worker(true, 1, false); });
    model::expect_passes({.preemptions = 3, .stale_reads = 1}, [] { one_worker(true, 2, false); });
}

TEST(ModelParking, AStopEndsASleep) {
    for (const bool in_driver : {false, true}) {
        model::expect_passes({.preemptions = 2, .stale_reads = 1},
                             [=] { one_worker(in_driver, 1, true); });
    }
}

void two_workers(int posts, int posters) {
    yard yard{2};
    item items[4];
    {
        thread first{[&] { yard.work(0, true, posts * posters); }};
        thread second{[&] { yard.work(1, true, posts * posters); }};
        std::optional<thread> other;
        if (posters == 2) {
            other.emplace([&] {
                for (int i = 0; i != posts; ++i) yard.post(items[2 + i]);
            });
        }
        for (int i = 0; i != posts; ++i) yard.post(items[i]);
    }
    require(yard.taken() == posts * posters, "each is taken");
}

TEST(ModelParking, TwoWorkersAndPosters) {
    model::expect_passes({.preemptions = 1, .stale_reads = 1}, [] { two_workers(1, 1); });
    for (const unsigned depth : {2U, 4U, 8U}) {
        const model::options wanted{
            .how = model::search::pct, .executions_max = 30'000, .depth = depth};
        model::expect_passes(wanted, [] { two_workers(2, 1); });
        model::expect_passes(wanted, [] { two_workers(2, 2); });
    }
}

// The destructor waits until every announced push has left; then nobody touches `idle` any more.
TEST(ModelParking, MayBeDestroyedOnceAllPostersHaveLeft) {
    model::expect_passes({.preemptions = 3, .stale_reads = 1}, [] {
        futex_driver driver;
        auto* const idle = new sched::idle{1, driver};
        sync::atomic<int> pushes{0};
        thread poster{[&, idle] {
            pushes.fetch_add(1, sync::acq_rel);
            idle->announce();
        }};
        // A worker that parks until the push, or sees it.
        idle->begin_search();
        idle->prepare_park(0);
        if (pushes.load(sync::acquire) == 0) {
            idle->park_until(0, never) ? void() : idle->cancel_park(0);
        } else {
            idle->cancel_park(0);
        }
        static_cast<void>(idle->end_search());
        while (!idle->all_left(1)) model::explorer::running()->yield();
        delete idle;
    });
}

// Who has dealt tasks changes the word after it, and a sleeper looks for tasks after it has changed the word
// [ID1]. Otherwise nobody comes for what was dealt.
void deal_against_a_sleeper(bool in_driver) {
    model::expect_passes({.stale_reads = 1}, [=] {
        futex_driver driver;
        sched::idle idle{2, driver};
        using block_queue = lockfree::block_queue<item, 2>;
        block_queue ready;
        const block_queue::consumer mine{ready};
        item dealt;
        const thread dealer{[&] {
            item* const batch[]{&dealt};
            require(ready.push(batch) == 1, "there is memory");
            idle.wake_one();
        }};
        idle.begin_search();
        if (in_driver) {
            require(idle.enter_driver(), "nobody is there");
            static_cast<void>(driver.set_deadline(never));
            if (mine.empty()) driver.wait();
            idle.leave_driver();
        } else {
            idle.prepare_park(1);
            if (!mine.empty() || !idle.park_until(1, never)) idle.cancel_park(1);
        }
    });
}

TEST(ModelParking, WhatWasDealtIsSeenOrWakesWhoIsParked) { deal_against_a_sleeper(false); }
TEST(ModelParking, WhatWasDealtIsSeenOrWakesWhoIsInTheDriver) { deal_against_a_sleeper(true); }

// Who has work looks at the word after it has added it, and a sleeper at the work after it has become one
// [ID2]. `add` returns whether somebody must be woken.
template <class Work>
void work_against_a_sleeper(bool (*add)(Work&, item&, const sched::idle&)) {
    model::expect_passes({.stale_reads = 1}, [=] {
        futex_driver driver;
        sched::idle idle{2, driver};
        Work work;
        item added;
        bool seen = false;
        bool woke = false;
        {
            thread owner{[&] {
                woke = add(work, added, idle);
                if (woke) idle.wake_one();
            }};
            // The other worker goes to sleep.
            idle.begin_search();
            idle.prepare_park(1);
            seen = !work.empty();
            if (!seen) static_cast<void>(idle.park_until(1, never));
            if (seen) idle.cancel_park(1);
        }
        require(seen || woke, "somebody sees to it");
    });
}

TEST(ModelParking, AKeptPostIsWatchedOrSeen) {
    work_against_a_sleeper<queue>([](queue& kept, item& posted, const sched::idle& idle) {
        static_cast<void>(kept.push(posted));
        return idle.needs_watcher();
    });
}

TEST(ModelParking, AFilledRunIsSeenOrWakes) {
    using run = lockfree::run_queue<item, 2>;
    work_against_a_sleeper<run>([](run& filled, item& task, const sched::idle& idle) {
        item* const tasks[]{&task};
        filled.push(tasks);
        return idle.seems_asleep();
    });
}

TEST(ModelParking, WhoStopsWatchingSeesWhatWasKeptMeanwhile) {
    model::expect_passes({.stale_reads = 1}, [] {
        futex_driver driver;
        sched::idle idle{2, driver};
        queue kept;
        item posted;
        bool seen = false;
        bool unwatched = false;
        require(idle.begin_watch(), "nobody watched");
        {
            thread owner{[&] {
                static_cast<void>(kept.push(posted));
                unwatched = !idle.is_watched();
            }};
            idle.end_watch();
            seen = !kept.empty();
        }
        require(seen || unwatched,
                "the owner knows that nobody watches, or the watcher has seen it");
    });
}

}  // namespace
}  // namespace fairlead::sched
