// Mutexes, events and semaphores under whole schedulers: tasks and threads wait, while deadlines
// pass and a stop comes.
#include "model/interruption.hpp"
#include "model/tasks.hpp"

#include <fairlead/coro/adapted_wait.hpp>
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/wait/event.hpp>
#include <fairlead/wait/mutex.hpp>
#include <fairlead/wait/semaphore.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <memory>

namespace fairlead::wait_tests {
namespace {

using namespace std::chrono_literals;
using model::interruption;
using model::plain;
using model::require;
using model::stops;

constexpr time_point soon{1us};

// Each has the mutex alone, also over a sleep that ends when the deadline of the other task passes.
TEST(ModelWait, AMutexIsLeftUnlocked) {
    model::expect_passes_though_stopped([](stops how) {
        plain<int> guarded{0};
        mutex one;
        int had = 0;
        {
            scheduler scheduler{{.workers = 2}};
            const interruption stop{scheduler, how};
            const auto locks = [&](time_point deadline) -> task<int> {
                int locked = 0;
                for (int i = 0; i != 2; ++i) {
                    const waited<mutex_lock> lock = co_await one.lock(deadline);
                    if (!lock) continue;  // a stop or the deadline ended the wait
                    ++locked;
                    guarded = guarded + 1;
                    if (i == 0) co_await as_result(sleep_until(soon));
                }
                co_return locked;
            };
            auto first = spawn(scheduler, locks(never));
            auto second = spawn(scheduler, locks(soon));
            had = model::result_of(first) + model::result_of(second);
            if (how == stops::none) require(had >= 2, "the first task waits without a deadline");
        }
        require(guarded == had, "each had the mutex alone");
        require(static_cast<bool>(one.try_lock()), "it is unlocked");
    });
}

// The owner of a task asks it to stop while a thread unlocks.
TEST(ModelWait, AStopOfATaskRacesWithAnUnlock) {
    model::expect_passes_by_priorities([] {
        mutex one;
        bool had = false;
        {
            scheduler scheduler{{.workers = 1}};
            mutex_lock held = one.try_lock();
            const auto locks = [&]() -> task<bool> {
                const waited<mutex_lock> lock = co_await one.lock();
                require(lock || lock.error() == wait_error::stopped, "nothing else ends it");
                co_return lock.has_value();
            };
            auto handle = spawn(scheduler, locks());
            {
                const model::thread stops{[&] { handle.request_stop(); }};
                held.unlock();
            }
            had = model::result_of(handle);
        }
        require(static_cast<bool>(one.try_lock()), had ? "it was unlocked" : "nothing has it");
    });
}

// dotnet#37671, dotnet#129796: the stop comes while the wait begins, and nothing else ends it.
TEST(ModelWait, AStopThatComesWhileAWaitBeginsIsHeard) {
    model::expect_passes_by_priorities([] {
        mutex one;
        const mutex_lock held = one.try_lock();
        scheduler scheduler{{.workers = 1}};
        const auto locks = [&]() -> task<bool> {
            const waited<mutex_lock> lock = co_await one.lock();
            co_return !lock && lock.error() == wait_error::stopped;
        };
        auto handle = spawn(scheduler, locks());
        const model::thread stops{[&] { handle.request_stop(); }};
        require(model::result_of(handle), "it was stopped");
    });
}

TEST(ModelWait, AThreadLocksBesideATask) {
    for (const time_point deadline : {immediately, soon}) {
        model::expect_passes_though_stopped([deadline](stops how) {
            plain<int> guarded{0};
            mutex one;
            int had = 0;
            {
                scheduler scheduler{{.workers = 1}};
                const interruption stop{scheduler, how};
                const auto locks = [&]() -> task<int> {
                    const waited<mutex_lock> lock = co_await one.lock();
                    if (!lock) co_return 0;
                    guarded = guarded + 1;
                    co_await as_result(sleep_until(soon));
                    co_return 1;
                };
                auto handle = spawn(scheduler, locks());
                if (const waited<mutex_lock> lock = one.lock_blocking(deadline)) {
                    guarded = guarded + 1;
                    ++had;
                } else {
                    require(lock.error() == wait_error::expired, "nothing else ends it");
                }
                had += model::result_of(handle);
            }
            require(guarded == had, "each had the mutex alone");
            require(static_cast<bool>(one.try_lock()), "it is unlocked");
        });
    }
}

// A task that goes on destroys the event, though the thread that set it may not have returned.
TEST(ModelWait, AThreadSetsAnEvent) {
    for (const time_point deadline : {immediately, soon, never}) {
        model::expect_passes_though_stopped([deadline](stops how) {
            plain<int> written{0};
            auto ready = std::make_unique<event>();
            event& sets = *ready;
            scheduler scheduler{{.workers = 1}};
            const interruption stop{scheduler, how};
            const auto waits = [&]() -> task<bool> {
                const waited<void> came = co_await ready->wait(deadline);
                if (!came) {
                    const wait_error why = came.error();
                    require(why == wait_error::expired || how != stops::none, "or a stop");
                    co_return false;
                }
                ready.reset();
                require(written == 1, "what was written before is seen");
                co_return true;
            };
            auto handle = spawn(scheduler, waits());
            written = 1;
            sets.set();
            const bool came = model::result_of(handle);
            require(came || how != stops::none || deadline != never, "it came");
            require(came == (ready == nullptr), "it is gone");
            if (ready) require(ready->is_set(), "it is set");
        });
    }
}

// A grant that a destroyed scheduler has not collected returns, and so does one of a task that a
// deadline has taken out of the line.
TEST(ModelWait, ASemaphoreGetsAllUnitsBack) {
    model::expect_passes_by_priorities([] {
        semaphore all{2};
        {
            scheduler scheduler{{.workers = 2, .stop_limit = 0ms}};
            semaphore_units both = all.try_acquire(2);
            const auto asks = [&](std::uint32_t count, time_point deadline) -> task<> {
                const waited<semaphore_units> units = co_await all.acquire(count, deadline);
            };
            spawn(scheduler, asks(2, soon)).detach();
            spawn(scheduler, asks(1, never)).detach();
            const semaphore_units one = both.split(1);
            both.release();
        }
        require(all.waiting() == 0 && all.available() == 2, "no unit is lost");
    });
}

}  // namespace
}  // namespace fairlead::wait_tests
