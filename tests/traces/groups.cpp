// Traces of a group with a limit, for GroupsTrace: thread 1 pauses and resumes it, and raises its
// limit. The other threads are workers without their loops: each runs rounds, and ends the step
// that a round has dealt to it.
#include "history.hpp"
#include "recordings.hpp"

#include "sched/runtime/core.hpp"

#include <fairlead/sched/callback_task.hpp>

#include <array>
#include <cstddef>
#include <utility>

namespace fairlead::traces {
namespace {

class scenario {
public:
    explicit scenario(history& calls) : calls_{calls} {
        for (callback_task& each : tasks_) sched::access::executor_of(*group_).post(each);
    }
    scenario(const scenario&) = delete;
    scenario& operator=(const scenario&) = delete;

    // Gives all dealt tasks back.
    ~scenario() {
        group_->let_go();
        static_cast<void>(core_.role.try_acquire());
        core_.abandon_all();
        const std::size_t ended = ended_.load(sync::relaxed);  // the other steps have ended
        for (std::size_t i = 0; i != ended; ++i) {
            core_.slots[0]->next = dealt_[i];
            core_.abandon_all();
        }
        core_.role.turns().let_all_go(core_.slots);
    }

    void run() {
        in_threads([&] { wish(); }, [&] { work(2); }, [&] { work(3); });
    }

private:
    static constexpr std::size_t count_of_tasks = 4;  // as GroupsTrace has it

    // A random time, in which the other worker may run a round.
    static void go_on() {
        for (unsigned left = choose(3) * 10; left != 0; --left) linger();
    }

    void notice() { core_.notice(*group_); }

    void wish() {
        for (unsigned left = 2; left != 0; --left) {
            if (choose(3) == 0) {
                calls_.note_done(1, "raise", 1, [&] {
                    group_->running_max.store(++most_, sync::relaxed);
                    notice();
                });
            }
            go_on();
            calls_.note_done(1, "pause", 1, [&] { group_->paused.store(true, sync::relaxed); });
            calls_.note_done(1, "resume", 1, [&] {
                group_->paused.store(false, sync::relaxed);
                notice();
            });
        }
    }

    void work(std::size_t thread) {
        sched::slot& own = *core_.slots[thread - 2];
        for (unsigned left = 7; left != 0; --left) {
            if (basic_task* const task = std::exchange(own.next, nullptr)) {
                dealt_[ended_.fetch_add(1, sync::acq_rel)] = task;
                calls_.note(thread, "end", 1, [&] {
                    const bool told = group_->end_step();
                    if (told) notice();
                    return told;
                });
            } else {
                calls_.note(thread, "round", 1, [&] { return round(own); });
                go_on();
            }
        }
    }

    // The number of dealt tasks; -1 if another thread has the role.
    int round(sched::slot& own) {
        if (!core_.role.try_acquire()) return -1;
        core_.role.round(own);
        core_.role.release();
        return own.next != nullptr ? 1 : 0;
    }

    history& calls_;
    std::array<callback_task, count_of_tasks> tasks_;
    scheduler owner_{{.run_on_caller = true}};
    sched::core core_{owner_, two_workers()};
    sched::group_state* const group_ = core_.make_group(limited());
    unsigned most_ = 1;
    std::array<basic_task*, count_of_tasks> dealt_{};
    sync::atomic<std::size_t> ended_{0};

    static scheduler_options two_workers() {
        scheduler_options options;
        options.blocked_after = duration::zero();  // the specifications have no monitor
        options.workers = 2;
        return options;
    }
    static group_options limited() {
        group_options options;
        options.max_concurrency = 1;
        return options;
    }
};

}  // namespace

void record_groups(const std::string& folder, const std::string& variant, unsigned count) {
    record_traces(folder, "Groups", variant, count, [](history& calls) {
        scenario all{calls};
        all.run();
    });
}

}  // namespace fairlead::traces
