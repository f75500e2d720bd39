// Mutexes, semaphores, events and permits: without contenders, and a mutex that goes from task to
// task.
#include "counts/meter.hpp"

#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/sched/group.hpp>
#include <fairlead/wait/event.hpp>
#include <fairlead/wait/mutex.hpp>
#include <fairlead/wait/semaphore.hpp>

namespace fl = fairlead;

namespace bench::counts {
namespace {

fl::task<> lock(fl::mutex& one, std::uint64_t operations) {
    for (; operations != 0; --operations) static_cast<void>(co_await one.lock());
}

fl::task<> lock_alone(fl::scheduler&, std::uint64_t operations) {
    fl::mutex one;
    co_await lock(one, operations);
}

// Each unlocks while the other waits, and then waits itself.
fl::task<> lock_in_turn(fl::scheduler& home, std::uint64_t operations) {
    fl::mutex one;
    fl::mutex_lock first = one.try_lock();
    auto partner = fl::spawn(home, lock(one, operations / 2));
    while (one.waiting() == 0) co_await fl::yield();
    first.unlock();
    co_await lock(one, operations / 2);
    co_await partner;
}

void try_lock(std::uint64_t operations) {
    fl::mutex one;
    for (; operations != 0; --operations) static_cast<void>(one.try_lock());
}

void try_acquire(std::uint64_t operations) {
    fl::semaphore all{8};
    for (; operations != 0; --operations) static_cast<void>(all.try_acquire(3));
}

void set_and_reset(std::uint64_t operations) {
    fl::event one;
    for (; operations != 0; --operations) {
        one.set();
        one.reset();
    }
}

void try_permit(std::uint64_t operations) {
    fl::scheduler home{{.run_on_caller = true}};
    fl::group bounded{home, {.queue_max = 8}};
    for (; operations != 0; --operations) static_cast<void>(bounded.try_permit());
}

}  // namespace

void measure_waits(meter& to) {
    to.section("waits");
    to.measure("mutex: try_lock and unlock", try_lock);
    to.measure("mutex: lock in a task, and unlock", lock_alone);
    to.measure("mutex: hand it from task to task", lock_in_turn);
    to.measure("semaphore: try_acquire and release", try_acquire);
    to.measure("event: set and reset, without waits", set_and_reset);
    to.measure("group: try_permit, and give it back", try_permit);
}

}  // namespace bench::counts
