// Traces of the destructor of a scheduler without workers, for DestructionTrace: one thread
// destroys it. Two more threads wake some of its tasks and end the operations that the remaining
// tasks wait for.
#include "decisions.hpp"
#include "recordings.hpp"

#include <fairlead/sched/scheduler.hpp>

#include <array>
#include <cstddef>
#include <optional>

namespace fairlead::traces {
namespace {

// A task that only sleeps. It outlives the scheduler, so that threads may wake it at any time.
class sleeper : public basic_task {
public:
    explicit sleeper(bool waits) : basic_task{waits ? kind_that_waits : kind, "sleeper"} {}

private:
    static void run(basic_task&) noexcept {}
    static void abandon(basic_task&) noexcept {}
    // The scheduler asks again only after it has ended.
    static bool has_ended(basic_task& self) noexcept { return self.take_completed(); }

    static constexpr task_kind kind{&run, &abandon};
    static constexpr task_kind kind_that_waits{&run, &abandon, &has_ended};
};

class scenario {
public:
    explicit scenario(history& calls) {
        for (sleeper& each : tasks_) scheduler_->post_deadline(each, never);
        static_cast<void>(scheduler_->run_until_idle());
        decisions_.emplace(calls, pointers(), decisions::about::destructor);
    }

    void run() {
        in_threads([&] { destroy(); },
                   [&] {
                       wake(0);
                       complete(2);
                   },
                   [&] {
                       complete(3);
                       wake(1);
                   });
    }

private:
    static scheduler_options options() {
        scheduler_options options;
        options.blocked_after = duration::zero();  // the specifications have no monitor
        options.run_on_caller = true;
        options.stop_limit = duration::zero();
        return options;
    }
    std::array<basic_task*, 4> pointers() {
        return {&tasks_[0], &tasks_[1], &tasks_[2], &tasks_[3]};
    }

    void destroy() {
        decisions_->begins();
        scheduler_.reset();
    }
    void wake(std::size_t index) {
        if (choose(4) == 0) return;
        if (choose(2) == 0) linger();
        decisions_->notifies("wake", tasks_[index], [&] { tasks_[index].wakeup(); });
    }
    void complete(std::size_t index) {
        if (choose(2) == 0) linger();
        decisions_->notifies("complete", tasks_[index], [&] { tasks_[index].complete(); });
    }

    std::array<sleeper, 4> tasks_{sleeper{false}, sleeper{false}, sleeper{true}, sleeper{true}};
    std::optional<scheduler> scheduler_{std::in_place, options()};
    std::optional<decisions> decisions_;
};

}  // namespace

void record_destruction(const std::string& folder, const std::string& variant, unsigned count) {
    record_traces(folder, "Destruction", variant, count, [](history& calls) {
        scenario all{calls};
        all.run();
    });
}

}  // namespace fairlead::traces
