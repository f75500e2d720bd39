// Who sleeps, and who is woken: one word, and a list of the parked workers.
//
// Question it answers: when work appears, must a thread be woken, and which one?
//
// A worker that finds nothing becomes a *searcher*, looks again, and then goes to sleep in one of two
// ways: one of them sleeps in the driver, on deadlines and events; all others park. Neither holds the
// role, so that whoever is awake can run rounds.
//
//     bits of the word
//       parked       10   workers in the list
//       searching    10   awake without a task; they will look everywhere before they sleep
//       waking       10   threads inside announce that wake somebody
//       occupied      1   somebody is in the driver: asleep, or woken and not out yet
//       in_driver     1   somebody sleeps in the driver, and nobody woke it yet
//       watched       1   a sleeper wakes up in time to look after posts that are kept, see below
//       announced    31   pushes that found the front empty, ever (modulo 2^31)
//
// The pattern of every hand-over, read-modify-writes of this word on both sides [ID1]:
//     who has work                        who goes to sleep
//     1. make it visible                  1. count itself as parked / in_driver   (RMW)
//     2. RMW of the word; wake if needed  2. look everywhere once more
// In the order of the word one of the two comes first: if the sleeper does, step 2 on the left sees
// it; if the worker does, step 2 on the right sees the work.
//
// What one worker alone can do, as it is bound to it, it is woken for whoever else searches, in the same way; it
// counts as a searcher then, and looks at everything.
//
// At most one searcher is needed: with one about, nobody is woken. It is safe to rely on it because
// the last searcher looks at the word again (end_search) when it leaves with a task, and wakes the
// next if there is more to do; if it goes to sleep instead, it looks everywhere after its own RMW.
//
// A step that posts one task keeps it for its own worker: waking another for it would cost more than
// most steps, and take the task out of the cache. In case the step takes long, one of the sleepers
// *watches*: it wakes up after a while and takes what a step that still runs has kept. So a poster
// only looks at the word, after its push, and wakes somebody if nobody watches. All accesses that
// order it with the sleepers are sequentially consistent instead [ID2]:
//     who keeps a post                    who goes to sleep, or stops watching
//     1. push                             1. RMW of the word
//     2. load of the word                 2. look at the posts once more
// So is the duty to sleep in the driver, between the round from which there are deadlines or events, and
// the last searcher, which may just have left the driver: see core::nobody_waits.
//
// `announced` and `waking` let a destructor wait until every thread has left: see core::await_posters.
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

    // --- who has work ----------------------------------------------------------------------------

    static constexpr unsigned anybody = workers_max;

    // A push found the front empty. Any thread. Counts the push, and wakes a thread if all sleep: that worker, if it does.
    // When nobody is to be woken the counting is the last touch.
    void announce(unsigned rather = anybody) noexcept;

    // There is more work than the calling worker will do now: wakes a thread unless one searches. Likewise.
    void wake_one(unsigned rather = anybody) noexcept;

    // There is work that this worker alone can do: wakes it if it sleeps.
    void wake(unsigned index) noexcept;

    // Whether somebody could be woken. After a push: nobody goes to sleep without seeing it if not.
    [[nodiscard]] bool seems_asleep() const noexcept {
        return somebody_to_wake(word_.load(sync::seq_cst));  // [ID2]
    }

    // Whether a worker is parked or sleeps in the driver. After a push, or after the release of the role
    // [RL1]: a worker that is not seen goes to sleep later, and sees what the caller did.
    [[nodiscard]] bool has_sleepers() const noexcept {
        const std::uint64_t word = word_.load(sync::seq_cst);  // [ID2]
        return parked_of(word) != 0 || (word & in_driver) != 0;
    }

    // Whether somebody must be woken to watch a post that was just kept.
    [[nodiscard]] bool needs_watcher() const noexcept {
        const std::uint64_t word = word_.load(sync::seq_cst);  // [ID2]
        return (word & watched) == 0 && somebody_to_wake(word);
    }

    // Whether somebody watches. Who stops looks at the posts after it.
    [[nodiscard]] bool is_watched() const noexcept {
        return (word_.load(sync::seq_cst) & watched) != 0;  // [ID2]
    }

    // Whether somebody is in the driver: asleep, or a searcher in a moment. A hint unless ordered by [ID2].
    [[nodiscard]] bool driver_taken() const noexcept {
        return (word_.load(sync::seq_cst) & occupied) != 0;
    }

    // Whether every worker is parked or sleeps in the driver. A hint.
    [[nodiscard]] bool all_asleep() const noexcept {
        const std::uint64_t word = word_.load(sync::relaxed);
        return parked_of(word) + ((word & in_driver) != 0 ? 1 : 0) == signals_.size();
    }

    // Wakes everybody: the workers are to end.
    void wake_all() noexcept;

    // --- who goes to sleep: the worker `index` -------------------------------------------------------

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
    // It must look at them after this.
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

    // Sleeping in the driver; between them the worker looks everywhere once more, and waits. False:
    // somebody else is there, and its next wait is not over.
    [[nodiscard]] bool enter_driver(unsigned index) noexcept;
    void leave_driver() noexcept;

    // --- for the destructor --------------------------------------------------------------------------

    // Whether `pushes` pushes have been counted and all their threads have left.
    [[nodiscard]] bool all_left(std::uint32_t pushes) const noexcept {
        // acquire: what they did happened before what the destructor does next.
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
    // Under the mutex, under which alone it changes.
    [[nodiscard]] bool sleeps_in_driver() const noexcept {
        return (word_.load(sync::relaxed) & in_driver) != 0;
    }
    [[nodiscard]] bool take_parked(unsigned index) noexcept;
    void take_from_driver() noexcept;

    alignas(base::cache_line) sync::atomic<std::uint64_t> word_{0};

    // `parked`, `occupied`, `in_driver` and the list change together under the mutex; the word alone is read
    // without it.
    sync::mutex mutex_;
    std::vector<unsigned> parked_;       // guarded by mutex_; the last to park is woken first
    unsigned in_driver_ = anybody;       // guarded by mutex_; who has entered it last
    std::vector<sync::signal> signals_;  // one a worker
    driver& driver_;
};

}  // namespace fairlead::sched
