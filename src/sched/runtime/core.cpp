#include "sched/runtime/core.hpp"

#include "sched/task/task_access.hpp"
#include "sched/worker/worker.hpp"

#include <fairlead/base/clock_override.hpp>
#include <fairlead/detail/base/assert.hpp>
#include <fairlead/detail/os/cpu.hpp>
#include <fairlead/detail/os/process.hpp>
#include <fairlead/detail/os/thread.hpp>
#include <fairlead/sched/futex_driver.hpp>

#include <algorithm>
#include <array>
#include <mutex>
#include <new>
#include <stdexcept>
#include <utility>

namespace fairlead::sched {
namespace {

constexpr duration blocked_after_default = std::chrono::milliseconds{5};

void validate(scheduler_options& options) {
    if (options.workers > idle::workers_max) {
        throw std::invalid_argument{"fairlead: options.workers must be 0 to 1000"};
    }
    if (options.run_on_caller && options.workers > 1) {
        throw std::invalid_argument{"fairlead: options.workers must be 0 or 1 with run_on_caller"};
    }
    using namespace std::chrono_literals;
    if (options.round_interval < 10us || options.round_interval > 10s) {
        throw std::invalid_argument{"fairlead: options.round_interval must be 10 us to 10 s"};
    }
    if (options.policy != policy::fair && options.policy != policy::stealing) {
        throw std::invalid_argument{"fairlead: options.policy must be fair or stealing"};
    }
    if (options.slice != 0s && (options.slice < 100us || options.slice > 10s)) {
        throw std::invalid_argument{"fairlead: options.slice must be 100 us to 10 s, or 0"};
    }
    if (options.blocked_after.value_or(0s) != 0s &&
        (*options.blocked_after < 1ms || *options.blocked_after > 10s)) {
        throw std::invalid_argument{"fairlead: options.blocked_after must be 1 ms to 10 s, or 0"};
    }
    if (options.blocking_threads < 1 || options.blocking_threads > 10'000) {
        throw std::invalid_argument{"fairlead: options.blocking_threads must be 1 to 10000"};
    }
    if (options.spin < 0s || options.spin > 1s) {
        throw std::invalid_argument{"fairlead: options.spin must be 0 to 1 s"};
    }
    if (options.stop_limit < 0s) {
        throw std::invalid_argument{"fairlead: options.stop_limit must not be negative"};
    }
    if (!options.run_on_caller && clock_override::is_active()) {
        throw std::invalid_argument{
            "fairlead: in virtual time (clock_override) options.run_on_caller must be true"};
    }
    if (options.run_on_caller) options.workers = 1;
    if (options.workers == 0) options.workers = std::min(os::available_cpus(), idle::workers_max);
    if (!options.blocked_after) {
        options.blocked_after = options.workers == 1 ? duration::zero() : blocked_after_default;
    }
    if (options.driver == nullptr) options.driver = std::make_unique<futex_driver>();
}

scheduler_options validated(scheduler_options options) {
    validate(options);
    return options;
}

unsigned counted_fork_depth() noexcept {
    os::count_forks();
    return os::fork_depth();
}

}  // namespace

core::core(scheduler& owned_by, scheduler_options given)
    : home{&owned_by, lane::everyone},
      report_after{given.blocked_after.value_or(blocked_after_default)},
      options{validated(std::move(given))},
      fork_depth{counted_fork_depth()},
      reporter{options.on_unhandled},
      idle{options.workers, *options.driver},
      role{*this, options.workers},
      handover{*this},
      monitor{*this},
      blocking{options.name, options.blocking_threads} {
    for (unsigned i = 0; i != options.workers; ++i) {
        slots.push_back(std::make_unique<slot>(ready, gate, i, options.workers,
                                               options.policy == policy::stealing));
        workers.push_back(std::make_unique<worker>(*this, *slots.back(), false));
        workers.back()->seat().take();
    }
}

core::~core() = default;

void core::check_process() const noexcept {
    FAIRLEAD_ASSERT(options.run_on_caller || os::fork_depth() == fork_depth,
                    "a scheduler was used in a child of fork(), where it has no threads: in the "
                    "child call exec or "
                    "_exit, or fork before the scheduler is made");
}

[[gnu::noinline]] bool core::single_worker_is_here() const noexcept {
    const worker* const here = worker::current();
    return (here != nullptr && &here->owner() == this && here->seat().has_slot()) ||
           !slots.front()->in_loop.load(sync::acquire);
}

basic_task::chain core::take_queued() {
    basic_task::chain taken;
    std::array<basic_task*, 256> out;
    for (const auto& each : slots) {
        // `next` belongs to the worker of the slot until that worker has left its loop.
        if (!each->in_loop.load(sync::acquire) && each->next != nullptr) {
            taken.push_back(*std::exchange(each->next, nullptr));
        }
        // As many as there are now: a step that has outlasted a stop may post for ever.
        std::size_t open = each->outbox.steals() ? each->outbox.local().size_bound() : 0;
        while (open != 0 && each->outbox.has_open()) {
            basic_task::chain chunk = each->outbox.local().steal(local_posts::chunk_size);
            open -= std::min(open, chunk.size());
            taken.append(std::move(chunk));
        }
        while (!each->runs.empty()) {
            const std::size_t count = each->runs.steal(out);
            for (std::size_t i = 0; i != count; ++i) taken.push_back(*out[i]);
        }
    }
    // What runs hold was dealt or claimed before what ready still holds, so it is older.
    ready_queue::consumer consumer{ready};
    while (const std::size_t count = consumer.claim(out)) {
        for (std::size_t i = 0; i != count; ++i) taken.push_back(*out[i]);
    }
    return taken;
}

stop_report core::report() noexcept {
    constexpr std::size_t named_max = 100;
    stop_report report;
    std::size_t left = 0;
    // `count`: how many tasks are left, or late, up to this one. Names the first `named_max`.
    const auto add = [&](const char* name, const char* state, std::size_t count) {
        if (count > named_max) return;
        try {
            report.tasks.push_back({name, state});
        } catch (const std::bad_alloc&) {
            // The report counts the task all the same.
        }
    };
    // Tasks are late from when no step runs. In this order: first no worker is in its loop, then no
    // step runs without a slot. What these steps have posted is among the tasks taken below.
    const bool has_ended = halting.load(sync::acquire) && workers_ended();
    std::array<const char*, named_max> names{};
    report.running = handover.running_steps(names);
    for (std::size_t i = 0; i != std::min(report.running, named_max); ++i) {
        add(names[i], "running", ++left);
    }
    while (!role.try_acquire()) os::yield();
    role.hold_all(take_queued());
    if (has_ended && report.running == 0) role.count_left();
    role.for_each_held([&](const basic_task& task, bool is_late) {
        if (is_late) {
            add(task.name(), "late", ++report.late);
        } else {
            ++report.queued;
            add(task.name(), "queued", ++left);
        }
    });
    role.sleepers().for_each([&](const basic_task& task) {
        ++report.waiting;
        add(task.name(), "waiting", ++left);
    });
    role.release();
    return report;
}

// Whether no worker is in its loop any more. A step that has lost its slot may still run.
bool core::workers_ended() const noexcept {
    // acquire: pairs with the store at the end of the loop.
    return std::all_of(slots.begin(), slots.end(),
                       [](const auto& each) { return !each->in_loop.load(sync::acquire); });
}

// A stable merge sort of the links, because the destructor must not need memory. runs[i] has 2^i
// tasks or none, and they are older than the tasks of runs[i - 1].
basic_task::chain core::deepest_first(basic_task::chain tasks) noexcept {
    const auto merge = [](basic_task::chain older, basic_task::chain newer) {
        basic_task::chain merged;
        while (!older.empty() && !newer.empty()) {
            const bool newer_first = newer.front()->depth() > older.front()->depth();
            merged.push_back(*(newer_first ? newer : older).pop_front());
        }
        merged.append(std::move(older));
        merged.append(std::move(newer));
        return merged;
    };
    std::array<basic_task::chain, 64> runs;
    while (basic_task* const task = tasks.pop_front()) {
        basic_task::chain run;
        run.push_back(*task);
        std::size_t i = 0;
        for (; !runs[i].empty(); ++i) run = merge(std::exchange(runs[i], {}), run);
        runs[i] = run;
    }
    basic_task::chain sorted;
    for (const basic_task::chain& older : runs) sorted = merge(older, sorted);
    return sorted;
}

void core::abandon_all() noexcept {
    // A task that is given back may end the operation that another task waits for, or post tasks.
    std::size_t deferred = 0;
    for (;;) {
        basic_task::chain left = take_all_that_is_left();
        if (left.empty() && deferred == 0) return;
        if (left.empty()) {  // the deferred tasks may wait for calls that take long
            sync::signal nobody;
            static_cast<void>(
                nobody.receive_until(clock::system_now() + std::chrono::milliseconds{1}));
        }
        left = deepest_first(std::move(left));  // children before parents, to which they may refer
        while (basic_task* const task = left.pop_front()) {
            if (task_access::take_deferred(*task)) --deferred;
            if (!task_access::may_abandon(*task)) {
                trace("defer", task);
                ++deferred;
                continue;
            }
            home& left_home = task_access::leave(*task);
            trace("give_back", task);
            task_access::abandon(*task);
            if (left_home.grouped()) static_cast<group_state&>(left_home).let_task_go();
        }
    }
}

// Takes all tasks, and waits for the sleepers that a waker is about to push.
basic_task::chain core::take_all_that_is_left() noexcept {
    basic_task::chain left;
    do {
        basic_task::chain taken = role.take_everything();
        taken.append(take_queued());
        if (taken.empty() && !role.sleepers().empty()) os::yield();
        left.append(std::move(taken));
    } while (!role.sleepers().empty());
    return left;
}

group_state* core::make_group(group_options with) {
    const bool bound = with.bound;
    group_state& made = groups.make(*this, std::move(with));
    steps_need_more.store(true, sync::release);  // before any post to the group
    groups_exist.store(true, sync::seq_cst);
    if (bound) handover.bind_somewhere(made);
    return &made;
}

void core::notice(group_state& group) noexcept {
    if (!role.turns().notice(group)) return;
    role.want_round();
    role.call_attention();  // a worker that runs tasks of other groups looks soon
    idle.wake_one(group.bound_to.load(sync::relaxed));
}

void core::wake_another(const slot& own) noexcept {
    if (width() == 1) return;
    if (nobody_waits() || work_visible(own, done_by::anybody)) idle.wake_one();
    if (role.turns().some_wait_bound()) wake_bound(own);
}

// Wakes each other worker for which bound groups wait, because no worker but that one may serve
// them. It may have failed to get the role a moment ago [RL1].
[[gnu::noinline]] void core::wake_bound(const slot& own) noexcept {
    for (const auto& each : slots) {
        if (each.get() != &own && each->has_bound_work()) idle.wake(each->index);
    }
}

bool core::is_drained() noexcept {
    while (!role.try_acquire()) os::yield();  // its holder keeps it for a round at most
    const bool drained = role.drained();
    trace("answer", drained);
    role.release();
    return drained;
}

void core::worker_left() noexcept {
    // acq_rel: the last worker has seen the other workers end.
    if (running_workers.fetch_sub(1, sync::acq_rel) != 1) return;
    {
        std::lock_guard lock{drain_mutex};
        tell_drainers(is_drained());
    }
    all_ended.send();
}

void core::tell_drainers(bool drained) noexcept {
    while (drainers != nullptr) {
        drainer* const waiting = std::exchange(drainers, drainers->next);
        waiting->drained = drained;
        waiting->told.send();  // the drainer may be gone now
    }
    drain_wanted.store(false, sync::release);  // pairs with its readers; set again under the mutex
}

bool core::forget_drainer(drainer& self) noexcept {
    for (drainer** at = &drainers; *at != nullptr; at = &(*at)->next) {
        if (*at != &self) continue;
        *at = self.next;
        return true;
    }
    return false;
}

void core::tell_if_drained() noexcept {
    // Under the mutex: a thread that registers meanwhile may have posted after `is_drained` looked.
    std::lock_guard lock{drain_mutex};
    if (is_drained()) tell_drainers(true);
}

void core::await_posters() noexcept {
    // A thread inside a push may be anywhere between its exchange and its return. The role and
    // `idle` both count the pushes that found a front empty. Any other push touches nothing after
    // its exchange.
    while (!idle.all_left(role.announced_pushes())) os::yield();
    trace("all_left");
}

}  // namespace fairlead::sched
