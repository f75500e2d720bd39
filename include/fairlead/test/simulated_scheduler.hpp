// A scheduler in virtual time, for tests of code that waits: an hour passes in microseconds, and
// each run is the same.
//
//     fl::test::simulated_scheduler simulated;
//     EXPECT_EQ(simulated.run(retries_three_times(service)), outcome::gave_up);
//     EXPECT_EQ(simulated.clock().now() - begin, 7s);  // exactly
//
// Everything runs on the thread that made it, and `clock::now()` is virtual there as long as it
// lives. `blocking` and `block_in_place` run their function on the spot. Real threads and sockets
// do not know of virtual time: code under test must not wait for them.
#pragma once

#include <fairlead/coro/spawn.hpp>
#include <fairlead/sched/scheduler.hpp>
#include <fairlead/test/jumping_driver.hpp>
#include <fairlead/test/manual_clock.hpp>

#include <chrono>
#include <concepts>
#include <memory>
#include <stdexcept>
#include <utility>

namespace fairlead::test {

/// A scheduler on its caller, with a clock that jumps. One thread, which made it. Its destructor
/// ends the virtual time of that thread.
class simulated_scheduler {
public:
    /// `run_on_caller` is set. The driver is a `jumping_driver` unless the options have one. Throws
    /// like the constructor of `scheduler`.
    explicit simulated_scheduler(scheduler_options options = {})
        : scheduler_{on_caller(std::move(options), clock_)} {}

    /// The same with the driver that `make_driver` makes for the clock: a `memory_network`.
    template <std::invocable<manual_clock&> MakeDriver>
    explicit simulated_scheduler(MakeDriver make_driver, scheduler_options options = {})
        : scheduler_{on_caller(with(std::move(options), make_driver(clock_)), clock_)} {}

    /// The clock of the thread.
    [[nodiscard]] manual_clock& clock() noexcept { return clock_; }
    /// The scheduler, for what `run` and `run_for` do not offer.
    [[nodiscard]] fairlead::scheduler& scheduler() noexcept { return scheduler_; }
    /// Where tasks are posted and spawned.
    operator executor() const noexcept { return scheduler_; }

    /// Runs `body`, and everything else, until `body` ends. Returns its result or throws its
    /// exception. Throws `std::runtime_error` if `body` has not ended after `limit` of virtual
    /// time, for example because nothing will ever wake it: `body` then goes on with the next run.
    template <class T>
    T run(task<T> body, time_span limit = std::chrono::hours{24}) {
        const time_point end = after(clock_.now(), limit);
        join_handle<T> handle = spawn(scheduler_, std::move(body));
        while (!handle.ended()) {
            if (clock_.now() >= end && scheduler_.run_until_idle() == 0) {
                throw std::runtime_error{
                    "fairlead: the task has not ended within the limit of "
                    "virtual time"};
            }
            scheduler_.run_until(end, 1);
        }
        return handle.get();
    }

    /// Runs what there is until `length` of virtual time has passed.
    void run_for(time_span length) {
        const time_point end = after(clock_.now(), length);
        while (clock_.now() < end) scheduler_.run_until(end);
        scheduler_.run_until_idle();
    }

private:
    static scheduler_options with(scheduler_options options, std::unique_ptr<driver> own) {
        options.driver = std::move(own);
        return options;
    }
    static scheduler_options on_caller(scheduler_options options, manual_clock& clock) {
        options.run_on_caller = true;
        if (options.driver == nullptr) options.driver = std::make_unique<jumping_driver>(clock);
        return options;
    }

    manual_clock clock_;
    fairlead::scheduler scheduler_;
};

}  // namespace fairlead::test
