// Which workers sleep, and which worker is woken: one word, and a list of the parked workers.
//
// Question it answers: when work appears, must a thread be woken, and which one?
//
// A worker that finds nothing becomes a *searcher*, looks again, and then goes to sleep in one of
// two ways: one worker sleeps in the driver, on deadlines and events; all other workers park. No
// sleeper holds the role, so that any worker that is awake can run rounds.
//
//     bits of the word
//       parked       10   workers in the list
//       searching    10   awake without a task; they will look everywhere before they sleep
//       waking       10   threads inside announce that wake a worker
//       occupied      1   a worker is in the driver: asleep, or woken and not out yet
//       in_driver     1   a worker sleeps in the driver, and no thread has woken it yet
//       watched       1   a sleeper wakes up in time to look after posts that are kept, see below
//       announced    31   pushes that found a front empty, ever (modulo 2^31)
//
// The pattern of work that meets a sleeper, read-modify-writes of this word on both sides [ID1]:
//     the thread that has work            the worker that goes to sleep
//     1. make it visible                  1. count itself as parked / in_driver   (RMW)
//     2. RMW of the word; wake if needed  2. look everywhere once more
// One of the two RMWs comes first in the order of the word. If it is that of the sleeper, the RMW
// on the left sees the sleeper; if it is that of the thread with work, step 2 on the right sees the
// work.
//
// For work that is bound to one worker a thread wakes that worker in the same way, even if another
// worker searches. The woken worker counts as a searcher, and looks at everything.
//
// One searcher is enough: while a worker searches, no worker is woken. This is safe because the
// last searcher changes the word (end_search) when it leaves with a task, then looks whether there
// is more to do, and wakes the next worker if so; if it goes to sleep instead, it looks everywhere
// after its own RMW.
//
// A step that posts one task keeps it for its own worker: to wake another worker would cost more
// than most steps, and take the task out of the cache. In case the step takes long, one of the
// sleepers *watches*: it wakes up after a while and takes what a step that still runs has kept. So
// the worker that keeps a post only loads the word, after its push, and wakes a sleeper if no
// worker watches. This load is no RMW, so all accesses that order it with the sleepers are
// sequentially consistent instead [ID2]:
//     the worker that keeps a post        the worker that goes to sleep, or stops watching
//     1. push                             1. RMW of the word
//     2. load of the word                 2. look at the posts once more
// [ID2] also orders the duty to sleep in the driver, between the round that first sees deadlines or
// events, and the last searcher, which may just have left the driver: see core::nobody_waits.
//
// `announced` and `waking` let a destructor wait until every thread has left: see
// core::await_posters.
//
// The sleeping protocols of Go and Tokio are the models. Specs: Parking, KeptPosts in spec/MAP.md.
#pragma once

#include "sched/task/trace.hpp"

#include <fairlead/detail/base/cache_line.hpp>
#include <fairlead/detail/sync/atomic.hpp>
#include <fairlead/detail/sync/mutex.hpp>
#include <fairlead/detail/sync/signal.hpp>
#include <fairlead/sched/driver.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace fairlead::sched {

class idle {
public:
    static constexpr unsigned workers_max = 1000;

    idle(unsigned workers, driver& waker) : signals_(workers), driver_{waker} {
        parked_.reserve(workers);
    }

    // --- the thread that has work ----------------------------------------------------------------

    static constexpr unsigned anybody = workers_max;

    // A push found the front empty. Any thread. Counts the push, and wakes a sleeper unless a
    // worker searches: the worker `rather`, if it sleeps. If no worker is to be woken the counting
    // is the last touch.
    void announce(unsigned rather = anybody) noexcept;

    // There is more work than the calling worker will do now: wakes a sleeper unless a worker
    // searches: the worker `rather`, if it sleeps.
    void wake_one(unsigned rather = anybody) noexcept;

    // There is work that this worker alone can do: wakes it if it sleeps.
    void wake(unsigned index) noexcept;

    // Whether a worker sleeps and none searches. After a push: if the answer is no, every worker
    // that goes to sleep later sees the push.
    [[nodiscard]] bool seems_asleep() const noexcept {
        return somebody_to_wake(word_.load(sync::seq_cst));  // [ID2]
    }

    // Whether a worker is parked or sleeps in the driver. After a push, or after the release of the
    // role [RL1]: a worker that is not seen goes to sleep later, and sees what the caller did.
    [[nodiscard]] bool has_sleepers() const noexcept {
        const std::uint64_t word = word_.load(sync::seq_cst);  // [ID2]
        return parked_of(word) != 0 || (word & in_driver) != 0;
    }

    // Whether a worker must be woken to watch a post that was just kept.
    [[nodiscard]] bool needs_watcher() const noexcept {
        const std::uint64_t word = word_.load(sync::seq_cst);  // [ID2]
        return (word & watched) == 0 && somebody_to_wake(word);
    }

    // Whether a worker watches. A worker that stops watching looks at the posts afterwards.
    [[nodiscard]] bool is_watched() const noexcept {
        return (word_.load(sync::seq_cst) & watched) != 0;  // [ID2]
    }

    // Whether a worker is in the driver: asleep, or about to search. A hint unless ordered by
    // [ID2].
    [[nodiscard]] bool driver_taken() const noexcept {
        return (word_.load(sync::seq_cst) & occupied) != 0;
    }

    // Whether every worker is parked or sleeps in the driver. A hint.
    [[nodiscard]] bool all_asleep() const noexcept {
        const std::uint64_t word = word_.load(sync::relaxed);
        return parked_of(word) + ((word & in_driver) != 0 ? 1 : 0) == signals_.size();
    }

    // Wakes all workers: they end, or look everywhere before they sleep again.
    void wake_all() noexcept;

    // --- the worker that goes to sleep: `index` --------------------------------------------------

    void begin_search() noexcept {
        word_.fetch_add(one_searching, sync::acq_rel);
        trace("begin_search");
    }

    // The calling searcher watches the posts that are kept. False: another does.
    [[nodiscard]] bool begin_watch() noexcept {
        const bool mine = (word_.fetch_or(watched, sync::seq_cst) & watched) == 0;
        trace("begin_watch", mine);
        return mine;
    }
    // The worker must look at the kept posts after this.
    void end_watch() noexcept {
        word_.fetch_and(~watched, sync::seq_cst);  // [ID2]
        trace("end_watch");
    }

    // Leaves the search with a task. True: it was the last searcher, so it must look whether there
    // is more to do.
    [[nodiscard]] bool end_search() noexcept {
        const std::uint64_t before = word_.fetch_sub(one_searching, sync::seq_cst);  // [ID1] [ID2]
        const bool last = searching_of(before) == 1;
        trace("end_search", last);
        return last;
    }

    // Parking in two steps; between them the worker looks everywhere once more.
    void prepare_park(unsigned index) noexcept;
    [[nodiscard]] bool park_until(unsigned index, time_point limit) noexcept;  // false: cancel
    void cancel_park(unsigned index) noexcept;

    // Sleeping in the driver; between the two calls the worker looks everywhere once more, and
    // waits. False: another worker is in the driver.
    [[nodiscard]] bool enter_driver(unsigned index) noexcept;
    void leave_driver() noexcept;

    // --- for the destructor ----------------------------------------------------------------------

    // Whether `pushes` pushes have been counted and all their threads have left.
    [[nodiscard]] bool all_left(std::uint32_t pushes) const noexcept {
        // acquire: what these threads did happened before what the destructor does next.
        const std::uint64_t word = word_.load(sync::acquire);
        return word >> announced_shift == (pushes & announced_mask) && waking_of(word) == 0;
    }

private:
    static constexpr unsigned searching_shift = 10;
    static constexpr unsigned waking_shift = 20;
    static constexpr unsigned announced_shift = 33;
    static constexpr std::uint32_t announced_mask = 0x7fff'ffff;
    static constexpr std::uint64_t one_parked = 1;
    static constexpr std::uint64_t one_searching = std::uint64_t{1} << searching_shift;
    static constexpr std::uint64_t one_waking = std::uint64_t{1} << waking_shift;
    static constexpr std::uint64_t occupied = std::uint64_t{1} << 30;
    static constexpr std::uint64_t in_driver = std::uint64_t{1} << 31;
    static constexpr std::uint64_t watched = std::uint64_t{1} << 32;
    static constexpr std::uint64_t one_announced = std::uint64_t{1} << announced_shift;

    static std::uint64_t parked_of(std::uint64_t word) noexcept { return word & 0x3ff; }
    static std::uint64_t searching_of(std::uint64_t word) noexcept {
        return word >> searching_shift & 0x3ff;
    }
    static std::uint64_t waking_of(std::uint64_t word) noexcept {
        return word >> waking_shift & 0x3ff;
    }
    static bool somebody_to_wake(std::uint64_t word) noexcept {
        return searching_of(word) == 0 && (parked_of(word) != 0 || (word & in_driver) != 0);
    }

    void wake_sleeper(unsigned rather) noexcept;
    // Requires the mutex: the bit changes only under it.
    [[nodiscard]] bool sleeps_in_driver() const noexcept {
        return (word_.load(sync::relaxed) & in_driver) != 0;
    }
    [[nodiscard]] bool take_parked(unsigned index) noexcept;
    void take_from_driver() noexcept;

    alignas(base::cache_line) sync::atomic<std::uint64_t> word_{0};

    // `parked`, `occupied`, `in_driver` and the list change together under the mutex; only the word
    // is read without it.
    sync::mutex mutex_;
    std::vector<unsigned> parked_;       // guarded by mutex_; the last to park is woken first
    unsigned in_driver_ = anybody;       // guarded by mutex_; the worker that entered last
    std::vector<sync::signal> signals_;  // one for each worker
    driver& driver_;
};

}  // namespace fairlead::sched
