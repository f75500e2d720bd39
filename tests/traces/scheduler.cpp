// Traces of the whole scheduler, for SchedulerTrace: thread 1 posts and stops, the next ones are
// its workers, the last two wake and signal tasks.
#include "decisions.hpp"
#include "recordings.hpp"

#include <fairlead/sched/callback_task.hpp>
#include <fairlead/sched/scheduler.hpp>

#include <array>
#include <functional>
#include <optional>

namespace fairlead::traces {
namespace {

constexpr std::size_t count_of_tasks = 4;
// How often each task is woken or signalled; for the last task the number of its steps in a row.
constexpr std::array<unsigned, count_of_tasks> notifications{3, 2, 2, 3};

class scenario {
public:
    explicit scenario(history& calls, unsigned workers)
        : decisions_{calls, pointers()}, scheduler_{std::in_place, options_of(workers)} {}

    void run() {
        for (callback_task& each : tasks_) {
            const bool ends_by_itself = &each == &tasks_.back();
            post(each, ends_by_itself ? immediately : some_time());
        }
        in_threads(
            [&] {
                wake(0);
                signal(1);
                wake(2);
                decisions_.drains(*scheduler_);
            },
            [&] {
                wake(1);
                signal(0);
                signal(2);
                wake(0);
            });
        decisions_.drains(*scheduler_);
        decisions_.stops(*scheduler_);
    }

private:
    static scheduler_options options_of(unsigned workers) {
        scheduler_options options;
        options.blocked_after = duration::zero();  // the specifications have no monitor
        options.workers = workers;
        return options;
    }
    std::array<basic_task*, count_of_tasks> pointers() {
        return {&tasks_[0], &tasks_[1], &tasks_[2], &tasks_[3]};
    }

    // The next wait of a task: none, a deadline, or a wake-up.
    time_point some_time() const {
        switch (choose(3)) {
            case 0:
                return never;
            case 1:
                return decisions_.deadline();
            default:
                return immediately;
        }
    }

    void post(basic_task& task, time_point due) {
        decisions_.will_post(due);
        scheduler_->post_deadline(task, due);
    }
    void wake(std::size_t index) {
        linger();
        decisions_.notifies("wake", tasks_[index], [&] { tasks_[index].wakeup(); });
        notified_[index].fetch_add(1, sync::acq_rel);
    }
    void signal(std::size_t index) {
        linger();
        decisions_.notifies("signal", tasks_[index], [&] { tasks_[index].signal(); });
        notified_[index].fetch_add(1, sync::acq_rel);
    }

    // A task that may still be notified goes on, until it is asked to stop. The last task gets no
    // notifications.
    void step(callback_task& task) {
        const auto index = static_cast<std::size_t>(&task - tasks_.data());
        decisions_.receives(task);
        const bool last = index == count_of_tasks - 1;
        const unsigned done = last ? ++steps_ : notified_[index].load(sync::acquire);
        if (task.stop_requested() || done == notifications[index]) {
            decisions_.ends(task);
            return;
        }
        post(task, last ? immediately : some_time());
    }

    callback_task task() {
        return callback_task{[this](callback_task& self) { step(self); }};
    }

    std::array<callback_task, count_of_tasks> tasks_{task(), task(), task(), task()};
    std::array<sync::atomic<unsigned>, count_of_tasks> notified_;
    unsigned steps_ = 0;
    decisions decisions_;
    std::optional<scheduler> scheduler_;
};

}  // namespace

void record_scheduler(const std::string& folder, const std::string& variant, unsigned count) {
    record_traces(folder, "Scheduler", variant, count, [](history& calls) {
        scenario all{calls, 1 + choose(3)};
        all.run();
    });
}

}  // namespace fairlead::traces
