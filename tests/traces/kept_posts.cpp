// Traces of the posts that steps keep, for KeptPostsTrace: thread 1 posts from outside and stops.
// The other threads are workers. A step posts tasks, and goes on for a while after each.
#include "decisions.hpp"
#include "recordings.hpp"

#include <fairlead/sched/callback_task.hpp>
#include <fairlead/sched/scheduler.hpp>

#include <array>
#include <optional>

namespace fairlead::traces {
namespace {

class scenario {
public:
    explicit scenario(history& calls, unsigned workers)
        : decisions_{calls, pointers(), decisions::about::kept_posts},
          scheduler_{std::in_place, options_of(workers)} {}

    void run() {
        scheduler_->post(tasks_[0]);
        go_on();
        scheduler_->post(tasks_[1]);
        while (steps_.load(sync::acquire) != count_of_tasks) linger();
        decisions_.stops(*scheduler_);
    }

private:
    static constexpr std::size_t count_of_tasks = 8;

    static scheduler_options options_of(unsigned workers) {
        scheduler_options options;
        options.blocked_after = duration::zero();  // the specifications have no monitor
        options.workers = workers;
        return options;
    }
    std::array<basic_task*, count_of_tasks> pointers() {
        std::array<basic_task*, count_of_tasks> all{};
        for (std::size_t i = 0; i != count_of_tasks; ++i) all[i] = &tasks_[i];
        return all;
    }

    // A random time, in which the other workers may fall asleep.
    static void go_on() {
        for (unsigned left = choose(3) * 15; left != 0; --left) linger();
    }

    // KeptPostsTrace has the same as `Later`. By the time of a round it is due.
    static bool goes_to_sleep(std::size_t number) { return number == 5 || number == 7; }

    // The step of task n posts tasks 2n and 2n + 1, by numbers from 1, but for the second, which is
    // posted from outside.
    void step(callback_task& task) {
        const auto number = static_cast<std::size_t>(&task - tasks_.data()) + 1;
        for (const std::size_t next : {2 * number, 2 * number + 1}) {
            if (next > count_of_tasks || next == 2) continue;
            if (goes_to_sleep(next)) {
                scheduler_->post_deadline(tasks_[next - 1], clock::now());
            } else {
                scheduler_->post(tasks_[next - 1]);
            }
            go_on();
            decisions_.goes_on();
        }
        steps_.fetch_add(1, sync::acq_rel);
    }

    callback_task task() {
        return callback_task{[this](callback_task& self) { step(self); }};
    }

    std::array<callback_task, count_of_tasks> tasks_{task(), task(), task(), task(),
                                                     task(), task(), task(), task()};
    sync::atomic<unsigned> steps_{0};
    decisions decisions_;
    std::optional<scheduler> scheduler_;
};

}  // namespace

void record_kept_posts(const std::string& folder, const std::string& variant, unsigned count) {
    record_traces(folder, "KeptPosts", variant, count, [](history& calls) {
        scenario all{calls, choose(4) == 0 ? 2U : 3U};
        all.run();
    });
}

}  // namespace fairlead::traces
