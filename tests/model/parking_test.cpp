// Parking: workers look for work and sleep, while threads post work. The tests use the real `idle`,
// with a small worker around it that follows the protocol of sched/worker/worker.cpp. So a search
// can see all executions.
#include "model/explore.hpp"

#include "sched/round/role_lock.hpp"
#include "sched/runtime/core.hpp"
#include "sched/sleep/idle.hpp"

#include <fairlead/detail/lockfree/block_queue.hpp>
#include <fairlead/detail/lockfree/fork_deque.hpp>
#include <fairlead/detail/lockfree/front_queue.hpp>
#include <fairlead/detail/lockfree/run_queue.hpp>
#include <fairlead/sched/futex_driver.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <utility>

namespace fairlead::sched::parking_tests {
namespace {

using model::plain;
using model::require;
using model::thread;

struct item {
    plain<int> payload{0};
    item* next = nullptr;
};
using queue = lockfree::front_queue<item, &item::next>;

// A queue that one worker at a time may empty, as with the role.
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
            // The last searcher looks for posts whose posters relied on it.
            if (idle.end_search() && !queue_.empty()) idle.wake_one();
        }
        idle.wake_all();  // the other workers end, too
    }

    // When all threads have ended.
    void check(int posted, bool stop) {
        const int left = static_cast<int>(queue_.take_all().size());
        require(stop || left == 0, "only a stop leaves something");
        require(taken_.newest() + left == posted, "each is taken, or is there");
        require(!idle.seems_asleep(), "nobody counts as asleep");
    }

    futex_driver driver_;
    sched::idle idle;

private:
    bool ends(int wanted) const {
        return stopping_.load(sync::acquire) || taken_.load(sync::acquire) == wanted;
    }

    void release() {
        role_.release();
        if (!queue_.empty()) idle.wake_one();  // after the release [RL1]
    }

    bool take() {
        if (!role_.try_acquire()) return false;
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
        if (!in_driver || !sleep_in_driver(index, wanted)) park(index, wanted);
    }

    bool sleep_in_driver(unsigned index, int wanted) {
        if (!role_.try_acquire()) return false;
        const bool entered = idle.enter_driver(index);
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
        // The holder of the role takes the posts. If another thread holds the role, it looks again
        // after its release [RL1].
        if (stay && !queue_.empty() && role_.try_acquire()) {
            role_.release();
            stay = false;
        }
        if (!stay || !idle.park_until(index, never)) idle.cancel_park(index);
    }

    queue queue_;
    role_lock role_;
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
    yard.check(posts, stop);
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

void two_workers(int posts, int posters, bool stop) {
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
        std::optional<thread> stopper;
        if (stop) stopper.emplace([&] { yard.stop(); });
        for (int i = 0; i != posts; ++i) yard.post(items[i]);
    }
    yard.check(posts * posters, stop);
}

TEST(ModelParking, TwoWorkersAndPosters) {
    model::expect_passes({.preemptions = 1, .stale_reads = 1}, [] { two_workers(1, 1, false); });
    for (const unsigned depth : {2U, 4U, 8U}) {
        model::options wanted{.how = model::search::pct, .executions_max = 30'000, .depth = depth};
        model::expect_passes(wanted, [] { two_workers(2, 1, false); });
        model::expect_passes(wanted, [] { two_workers(2, 2, false); });
        wanted.executions_max = 10'000;
        model::expect_passes(wanted, [] { two_workers(2, 1, true); });
        model::expect_passes(wanted, [] { two_workers(2, 2, true); });
    }
}

// The destructor waits until every announced push has left. After that no thread touches `idle`.
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

// Worker 1 sleeps in one of the two ways, unless after its change of the word there is a reason to
// stay awake.
template <class Condition>
void sleep_unless(sched::idle& idle, futex_driver& driver, bool in_driver, const Condition& awake) {
    if (in_driver) {
        require(idle.enter_driver(1), "nobody is there");
        static_cast<void>(driver.set_deadline(never));
        if (!awake()) driver.wait();
        idle.leave_driver();
    } else {
        idle.prepare_park(1);
        if (awake() || !idle.park_until(1, never)) idle.cancel_park(1);
    }
}

// The two actions of a stop, in order.
void stop_all(sync::atomic<bool>& stopping, sched::idle& idle) {
    stopping.store(true, sync::release);
    idle.wake_all();
}

// A stop wakes the workers wherever they are on their way to sleep, while another thread posts. The
// stop and the post each find the workers, asleep or woken by the other. After the workers have
// ended and the poster has left, no thread touches `idle`.
void stop_against_a_sleeper_and_a_poster(bool in_driver) {
    futex_driver driver;
    auto* const idle = new sched::idle{2, driver};
    queue front;
    item posted;
    sync::atomic<bool> stopping{false};
    const thread poster{[&, idle] {
        if (front.push(posted)) idle->announce();
    }};
    {
        const thread worker{[&, idle] {
            idle->begin_search();
            while (!stopping.load(sync::acquire)) {
                static_cast<void>(front.take_all());
                sleep_unless(*idle, driver, in_driver,
                             [&] { return !front.empty() || stopping.load(sync::acquire); });
            }
            static_cast<void>(idle->end_search());
        }};
        stop_all(stopping, *idle);
    }
    require(!idle->seems_asleep(), "nobody counts as asleep");
    while (!idle->all_left(1)) model::explorer::running()->yield();
    delete idle;
}

TEST(ModelParking, AStopWakesWhoIsParkedThoughSomebodyPosts) {
    model::expect_passes({.preemptions = 2, .stale_reads = 1},
                         [] { stop_against_a_sleeper_and_a_poster(false); });
}
TEST(ModelParking, AStopWakesWhoIsInTheDriverThoughSomebodyPosts) {
    model::expect_passes({.preemptions = 2, .stale_reads = 1},
                         [] { stop_against_a_sleeper_and_a_poster(true); });
}

// One worker is parked, the other sleeps in the driver.
TEST(ModelParking, AStopWakesBothThoughSomebodyPosts) {
    const auto scenario = [] {
        futex_driver driver;
        sched::idle idle{2, driver};
        sync::atomic<bool> stopping{false};
        sync::atomic<int> posted{0};
        {
            const auto work = [&](bool in_driver) {
                return [&, in_driver] {
                    idle.begin_search();
                    while (!stopping.load(sync::acquire)) {
                        sleep_unless(idle, driver, in_driver,
                                     [&] { return stopping.load(sync::acquire); });
                    }
                    static_cast<void>(idle.end_search());
                };
            };
            const thread parks{work(false)};
            const thread waits{work(true)};
            const thread poster{[&] {
                posted.fetch_add(1, sync::acq_rel);
                idle.announce();
            }};
            stop_all(stopping, idle);
        }
        require(!idle.seems_asleep(), "nobody counts as asleep");
        require(idle.all_left(1), "the poster has left");
    };
    model::expect_passes({.preemptions = 1, .stale_reads = 1}, scenario);
    model::expect_passes({.how = model::search::pct, .executions_max = 20'000, .depth = 6},
                         scenario);
}

// The dealer changes the word after it has dealt tasks. A sleeper looks for tasks after it has
// changed the word [ID1]. With another order a dealt task could wait for ever. After a stop the
// sleeper ends and may leave dealt tasks behind.
void deal_against_a_sleeper(bool in_driver, bool stop) {
    futex_driver driver;
    sched::idle idle{2, driver};
    using block_queue = lockfree::block_queue<item, 2>;
    block_queue ready;
    block_queue::consumer mine{ready};
    item dealt;
    sync::atomic<bool> stopping{false};
    item* taken[1] = {};
    std::size_t count = 0;
    {
        const thread dealer{[&] {
            item* const batch[]{&dealt};
            require(ready.push(batch) == 1, "there is memory");
            idle.wake_one();
        }};
        std::optional<thread> stopper;
        if (stop) stopper.emplace([&] { stop_all(stopping, idle); });
        const auto ends = [&] { return stop ? stopping.load(sync::acquire) : count != 0; };
        idle.begin_search();
        while (!ends()) {
            count += mine.claim(taken);
            sleep_unless(idle, driver, in_driver, [&] { return !mine.empty() || ends(); });
        }
        static_cast<void>(idle.end_search());
    }
    require(count + mine.claim(taken) == 1, "it is taken, or left");
}

TEST(ModelParking, WhatWasDealtIsSeenOrWakesWhoIsParked) {
    model::expect_passes({.stale_reads = 1}, [] { deal_against_a_sleeper(false, false); });
    model::expect_passes({.preemptions = 2, .stale_reads = 1},
                         [] { deal_against_a_sleeper(false, true); });
}
TEST(ModelParking, WhatWasDealtIsSeenOrWakesWhoIsInTheDriver) {
    model::expect_passes({.stale_reads = 1}, [] { deal_against_a_sleeper(true, false); });
    model::expect_passes({.preemptions = 2, .stale_reads = 1},
                         [] { deal_against_a_sleeper(true, true); });
}

// A driver whose events may come at any time. A poll sees the events that have come.
class event_driver final : public driver {
public:
    [[nodiscard]] bool set_deadline(time_point) noexcept override { return true; }
    void wait() noexcept override {}
    void poll(event_sink&) noexcept override {
        for (const auto& each : came) seen += each.load(sync::relaxed);
    }
    void wake() noexcept override {}
    [[nodiscard]] bool has_sources() const noexcept override { return true; }

    sync::atomic<int> came[2];
    int seen = 0;
};

// A scheduler whose workers are the threads of the scenario.
struct without_threads {
    explicit without_threads(unsigned workers)
        : core{owner, {.workers = workers, .driver = std::make_unique<event_driver>()}} {}

    void run_round() {
        require(core.role.try_acquire(), "nobody has it");
        core.role.round(*core.slots[0]);
        core.role.release();
    }

    scheduler owner{{.run_on_caller = true}};
    sched::core core;
};

// A round finds that a worker must sleep in the driver, while a worker leaves the driver for a
// task. The third worker is parked: one of the two must wake it [ID2].
TEST(ModelParking, TheDutyToSleepInTheDriverIsLeftToNobody) {
    model::expect_passes([] {
        without_threads scheduler{3};
        core& core = scheduler.core;
        core.idle.begin_search();
        core.idle.prepare_park(2);
        core.idle.begin_search();
        require(core.idle.enter_driver(0), "nobody is there");
        bool seen = false;
        bool seen_by_holder = false;
        {
            const thread leaves{[&] {
                core.idle.leave_driver();
                require(core.idle.end_search(), "the other one is parked");
                seen = core.nobody_waits();
            }};
            scheduler.run_round();
            seen_by_holder = core.nobody_waits();
        }
        require(seen || seen_by_holder, "one of the two wakes the third");
    });
}

// Two wishes at the same time: for example that of a stop, and that of a worker that returns from
// the driver with events.
TEST(ModelParking, ARoundSeesWhatEveryWishIsAbout) {
    model::expect_passes([] {
        without_threads scheduler{2};
        core& core = scheduler.core;
        auto& driver = static_cast<event_driver&>(*core.options.driver);
        {
            const auto wish = [&](int i) {
                return [&, i] {
                    driver.came[i].store(1, sync::relaxed);
                    core.role.want_round();
                };
            };
            const thread one{wish(0)};
            const thread two{wish(1)};
            scheduler.run_round();
        }
        require(core.role.has_backlog() || driver.seen == 2, "a wish is left, or was seen to");
    });
}

// A worker with work looks at the word after it has added the work. A sleeper looks at the work
// after it has announced its sleep [ID2]. `add` returns whether a sleeper must be woken. A worker
// that a stop wakes ends.
template <class Work>
void work_against_a_sleeper(bool (*add)(Work&, item&, const sched::idle&)) {
    const auto scenario = [=](bool stop) {
        futex_driver driver;
        sched::idle idle{2, driver};
        Work work;
        item added;
        sync::atomic<bool> stopping{false};
        bool seen = false;
        bool woke = false;
        bool stopped = false;
        {
            thread owner{[&] {
                woke = add(work, added, idle);
                if (woke) idle.wake_one();
            }};
            std::optional<thread> stopper;
            if (stop) stopper.emplace([&] { stop_all(stopping, idle); });
            // The other worker goes to sleep.
            idle.begin_search();
            sleep_unless(idle, driver, false, [&] {
                seen = !work.empty();
                return seen || stopping.load(sync::acquire);
            });
            stopped = stopping.load(sync::acquire);
        }
        require(seen || woke || stopped, "somebody sees to it");
        require(!idle.seems_asleep(), "nobody counts as asleep");
    };
    model::expect_passes({.stale_reads = 1}, [&] { scenario(false); });
    model::expect_passes({.preemptions = 3, .stale_reads = 1}, [&] { scenario(true); });
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

// worker::release_after_own_posts: after the release of the role a load says whether a worker
// sleeps. A worker that sees what was admitted stays awake, and so does a worker that gets the role
// [RL1].
TEST(ModelParking, AnAdmittedPostIsSeenOrWakes) {
    using run = lockfree::run_queue<item, 2>;
    work_against_a_sleeper<run>([](run& filled, item& task, const sched::idle& idle) {
        item* const tasks[]{&task};
        filled.push(tasks);
        return idle.has_sleepers();
    });
}
TEST(ModelParking, WhoFailsToGetTheRoleIsWokenAfterItsRelease) {
    struct held_role {
        held_role() { require(lock.try_acquire(), "it is free"); }
        bool empty() { return !lock.try_acquire(); }
        role_lock lock;
    };
    work_against_a_sleeper<held_role>([](held_role& role, item&, const sched::idle& idle) {
        role.lock.release();
        return idle.has_sleepers();
    });
}

TEST(ModelParking, AnOpenForkIsSeenOrWakes) {
    struct forks : lockfree::fork_deque<item, 2> {
        forks() : fork_deque{1} {}
    };
    work_against_a_sleeper<forks>([](forks& offered, item& work, const sched::idle& idle) {
        return offered.push(work) && offered.open() && idle.seems_asleep();
    });
    work_against_a_sleeper<forks>([](forks& offered, item& work, const sched::idle& idle) {
        return offered.push(work) && offered.open_all() && idle.seems_asleep();
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
}  // namespace fairlead::sched::parking_tests
