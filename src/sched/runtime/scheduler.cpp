#include <fairlead/sched/scheduler.hpp>

#include "sched/runtime/core.hpp"
#include "sched/task/task_access.hpp"
#include "sched/worker/worker.hpp"

#include <fairlead/detail/os/thread.hpp>
#include <fairlead/detail/sched/put_off.hpp>

#include <algorithm>
#include <cstdio>
#include <mutex>

namespace fairlead {

using sched::worker;

namespace {

constexpr duration end_grace = std::chrono::milliseconds{50};

}  // namespace

scheduler::scheduler(scheduler_options options)
    : core_{std::make_unique<sched::core>(*this, std::move(options))} {
    refer_to(*core_);
    start();
}

scheduler::~scheduler() {
    FAIRLEAD_ASSERT(!on_own_worker(),
                    "a scheduler was destroyed on one of its workers: by a task, or, if it is a "
                    "static object, by "
                    "exit() in a task");
    tell_late_posts(end_workers(core_->options.stop_limit));  // what is left is given back below
    // A step that outlasts the stop may wait for a thread that waits for a task that is left.
    if (!core_->workers_ended()) core_->halted->end_workers();
    for (const auto& each : core_->workers) each->join();  // steps that took longer than the limit
    core_->handover.await_spares();                        // spare workers run such steps, too
    while (!core_->role.try_acquire()) os::yield();
    core_->abandon_all();
    core_->await_posters();
    core_->role.turns().let_all_go(core_->slots);
    FAIRLEAD_ASSERT(core_->groups.empty(), "a group was not destroyed before its scheduler");
}

// --- life cycle ----------------------------------------------------------------------------------

void scheduler::start() {
    FAIRLEAD_ASSERT(!on_own_worker(), "start was called from a worker");
    core_->check_process();
    FAIRLEAD_ASSERT(core_->workers_ended() || core_->halting.load(sync::acquire),
                    "start was called while workers run: stop first");
    for (const auto& each : core_->workers)
        each->join();                // the worker may be in a step that outlasted the stop
    core_->handover.await_spares();  // a spare worker, too
    for (const auto& each : core_->workers) each->seat().take();
    core_->role.forget_stop();
    core_->role.overtaking().forget(core_->slots);
    core_->gate.open();
    core_->stopping.store(false, sync::release);  // pairs with stopping()
    core_->halting.store(false, sync::release);   // the threads do not run yet
    core_->halted->begin_workers();
    if (core_->options.run_on_caller) return;
    try {
        std::lock_guard lock{core_->drain_mutex};
        core_->monitor.start();
        for (const auto& each : core_->workers) each->start();
    } catch (...) {
        halt();
        for (const auto& each : core_->workers) each->join();
        core_->monitor.stop();
        core_->handover.await_spares();
        core_->halted->end_workers();
        static_cast<void>(core_->report());  // from now on posts are late
        throw;
    }
}

[[gnu::noinline]] bool scheduler::on_own_worker() const noexcept {
    worker* const here = worker::current();
    return here != nullptr && &here->owner() == core_.get();
}

void scheduler::halt() noexcept {
    core_->halting.store(true, sync::release);  // pairs with the loop of the workers
    core_->idle.wake_all();
}

void scheduler::drain() {
    while (wait_drained(std::chrono::hours{24 * 365}) == drain_result::timed_out) {
    }
}

bool scheduler::drain_for(time_span limit) { return wait_drained(limit) == drain_result::drained; }

scheduler::drain_result scheduler::wait_drained(duration limit) {
    FAIRLEAD_ASSERT(!on_own_worker(), "drain was called from a worker: it would wait for itself");
    core_->check_process();
    sched::before_block();
    if (core_->options.run_on_caller) {
        return drain_on_caller(after(now(), limit)) ? drain_result::drained
                                                    : drain_result::timed_out;
    }
    const auto verdict = [](bool drained) {
        return drained ? drain_result::drained : drain_result::stopped;
    };
    sched::drainer self;
    {
        std::lock_guard lock{core_->drain_mutex};
        if (core_->workers_ended()) return verdict(core_->is_drained());
        self.next = std::exchange(core_->drainers, &self);
        core_->drain_wanted.store(true, sync::release);  // then wake_all, see sleeper::answer_drain
    }
    core_->idle.wake_all();
    if (self.told.receive_until(after(clock::system_now(), limit))) return verdict(self.drained);
    std::lock_guard lock{core_->drain_mutex};
    if (core_->forget_drainer(self)) return drain_result::timed_out;
    return verdict(self.drained);  // a worker has told it just now
}

bool scheduler::drain_on_caller(time_point deadline) {
    while (!core_->role.drained()) {
        if (now() >= deadline) return false;
        run_until(deadline, 256);  // steps: they may never end
        sched::before_block();     // for what they have put off
    }
    return true;
}

// Tells the waiting threads last: a task that ends within the limit gives them its result.
stop_report scheduler::stop(time_span limit) {
    stop_report left = end_workers(limit);
    if (!core_->options.run_on_caller) core_->halted->end_workers();
    return left;
}

stop_report scheduler::end_workers(duration limit) {
    FAIRLEAD_ASSERT(!on_own_worker(), "stop was called from a worker: it would wait for itself");
    core_->check_process();
    sched::before_block();
    const time_point deadline = after(clock::system_now(), limit);
    core_->steps_need_more.store(true,
                                 sync::release);  // first: a thread that sees the stop sees this
    core_->gate.close();                          // before a round may tell the sleepers
    core_->stopping.store(true, sync::release);   // pairs with stopping() and with role::round
    core_->role.want_round();                     // the round tells the sleepers
    core_->idle.wake_all();
    // After an earlier stop nothing runs any more, except for a step that outlasted it.
    if (!core_->halting.load(sync::acquire)) static_cast<void>(drain_for(limit));
    if (!core_->options.run_on_caller) {
        halt();
        std::lock_guard lock{core_->end_mutex};  // another thread may be in a stop, too
        // Workers that are not in a step end in a moment, even if the limit is over.
        const time_point last = std::max(deadline, clock::system_now() + end_grace);
        while (!core_->workers_ended() && core_->all_ended.receive_until(last)) {
        }
        for (const auto& each : core_->workers) {
            if (each->ended()) each->join();
        }
        core_->monitor.stop();
    }
    return core_->report();
}

void scheduler::tell_late_posts(const stop_report& report) const noexcept {
    if (report.late == 0) return;
    if (core_->options.on_late_posts) return core_->options.on_late_posts(report);
    static constexpr const char* what =
        "fairlead: a scheduler ends with tasks that were posted after its stop and did not run: ";
    try {
        std::fprintf(stderr, "%s%s\n", what, report.to_string().c_str());
    } catch (const std::bad_alloc&) {
        std::fprintf(stderr, "%s%zu\n", what, report.late);
    }
}

bool scheduler::stopping() const noexcept {
    return core_->stopping.load(sync::acquire);  // pairs with stop
}

bool scheduler::has_halted() const noexcept {
    return core_->halting.load(sync::acquire);  // pairs with halt
}

std::size_t scheduler::late_posts() const noexcept {
    return has_halted() ? core_->report().late : 0;
}

// --- on the caller -------------------------------------------------------------------------------

std::size_t scheduler::run_until_idle() { return run_until(immediately); }

bool scheduler::runs_on_caller() const noexcept { return core_->options.run_on_caller; }

std::size_t scheduler::run_until(time_point deadline, std::size_t steps_max) {
    FAIRLEAD_ASSERT(core_->options.run_on_caller, "only a scheduler with run_on_caller is run so");
    return core_->workers.front()->run_ready(deadline, steps_max);
}

time_point scheduler::run_in_loop(std::size_t steps_max) {
    FAIRLEAD_ASSERT(core_->options.run_on_caller, "only a scheduler with run_on_caller is run so");
    worker& only = *core_->workers.front();
    static_cast<void>(only.run_ready(immediately, steps_max));
    return only.wait_in_loop();
}

// --- questions -----------------------------------------------------------------------------------

time_point scheduler::now() const noexcept { return core_->now(); }

unsigned scheduler::workers() const noexcept { return static_cast<unsigned>(core_->width()); }

std::vector<worker_stats> scheduler::stats() const {
    std::vector<worker_stats> all;
    for (const auto& each : core_->slots) {
        all.push_back({.steps = each->finished.read(),
                       .rounds = each->rounds.read(),
                       .wakeups = each->wakeups.read(),
                       .stolen = each->stolen.read()});
    }
    return all;
}

driver& scheduler::driver() const noexcept { return *core_->options.driver; }

sched::halt_watch_owner sched::access::halt_watch_of(const scheduler& of) noexcept {
    return of.core_->halted;
}

void sched::access::call_blocking(scheduler& of, blocking_job& job) noexcept {
    if (of.core_->options.run_on_caller) {
        job.run();
    } else {
        of.core_->blocking.submit(job);
    }
}

bool sched::access::withdraw_blocking(scheduler& of, blocking_job& job) noexcept {
    return of.core_->blocking.withdraw(job);
}

[[gnu::noinline]] bool sched::access::about_to_block() noexcept {
    sched::before_block();
    worker* const here = worker::current();
    return here != nullptr && here->owner().handover.give_up_slot(*here);
}

[[gnu::noinline]] bool scheduler::should_yield() noexcept {
    worker* const here = worker::current();
    return here != nullptr && here->should_yield();
}

[[gnu::noinline]] scheduler* scheduler::current() noexcept {
    worker* const here = worker::current();
    return here != nullptr ? here->owner().owner : nullptr;
}

[[gnu::noinline]] sched::offered_forks& sched::access::current_offers() noexcept {
    worker* const here = worker::current();
    FAIRLEAD_ASSERT(here != nullptr, "a fork outside a task");
    return here->seat().offers();
}

[[gnu::noinline]] void sched::access::report_of_step(std::exception_ptr failure) noexcept {
    worker* const here = worker::current();
    const failed_task step{here->seat().step().name(), {}};
    here->owner().reporter(std::move(failure), failure_origin{{&step, 1}});
}

unhandled_reporter sched::access::reporter_of(const scheduler& of) noexcept {
    return of.core_->reporter;
}

[[gnu::noinline]] std::uint32_t sched::access::depth_of_new_task() noexcept {
    worker* const here = worker::current();
    return here != nullptr ? here->seat().running_depth() + 1 : 0;
}

[[gnu::noinline]] basic_task* sched::access::bearer() noexcept {
    worker* const here = worker::current();
    return here != nullptr ? here->bearer() : nullptr;
}

[[gnu::noinline]] void sched::access::set_bearer(basic_task* running) noexcept {
    worker::current()->set_bearer(running);
}

[[gnu::noinline]] void sched::access::drop_bearer(const basic_task* gone) noexcept {
    worker* const here = worker::current();
    if (here != nullptr && here->bearer() == gone) here->set_bearer(nullptr);
}

std::size_t scheduler::order_bound() const noexcept {
    if (core_->options.policy == policy::stealing) return SIZE_MAX;
    // Each other worker may be at the start of a full run that it claimed, and then take a row of
    // its own posts for each worker while a round lasts. While what the round deals gets to ready,
    // it may take a row more, and claim a run.
    const std::size_t others = core_->width() - 1;
    return others * (sched::run_queue::capacity + 1) * (core_->width() + 3);
}

}  // namespace fairlead
