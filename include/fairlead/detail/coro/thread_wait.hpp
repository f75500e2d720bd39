// The wait of a thread that is no worker, which also ends at a deadline, or when a stop has ended
// the workers of a scheduler.
//
//     what is waited for --tell-------------------> the thread: it has come
//     a stop             --workers_ended-withdraw-> the thread: stopped
//     the deadline       ----------------withdraw-> the thread: expired
//
// One word decides: `withdraw` succeeds once, and then `tell` is not called; or `tell` is, or was,
// called, and the thread waits for that. So what has come wins.
#pragma once

#include <fairlead/coro/waited.hpp>
#include <fairlead/detail/coro/joiner.hpp>
#include <fairlead/detail/sched/halt_watch.hpp>

#include <optional>
#include <utility>

namespace fairlead::coro {

class thread_wait : public joiner, sched::halt_watcher {
public:
    // `run_here`: see waiting_thread.
    explicit thread_wait(scheduler* run_here) noexcept : thread_{run_here} {}

    void tell() noexcept override { thread_.tell(); }

protected:
    ~thread_wait() = default;

    // A stop of this scheduler ends the wait. Called before `wait_until`.
    void watch(sched::halt_watch_owner of) noexcept { watch_ = std::move(of); }

    // After something was asked to call `tell`. Nothing: it did. Otherwise why the wait has ended,
    // and `tell` is not called.
    [[nodiscard]] std::optional<wait_error> wait_until(time_point deadline);

    // `tell` is not called any more. False: it was called, or is about to be.
    [[nodiscard]] virtual bool withdraw() noexcept = 0;

    // Whether what is waited for comes from the workers that a stop has ended.
    [[nodiscard]] virtual bool is_left() const noexcept { return true; }

private:
    void workers_ended() noexcept final;

    waiting_thread thread_;
    sched::halt_watch_owner watch_;
    bool halted_ = false;
};

}  // namespace fairlead::coro
