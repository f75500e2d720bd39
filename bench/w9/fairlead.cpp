// Fairlead: a timer is a task that is posted with a deadline. Cancelled is woken.
#include "w9/timers.hpp"

#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/sched/callback_task.hpp>
#include <fairlead/sched/scheduler.hpp>

namespace fl = fairlead;

namespace {

class fairlead_timers {
public:
    static constexpr const char* name = "fairlead";

    explicit fairlead_timers(std::uint64_t workers)
        : scheduler_{{.workers = static_cast<unsigned>(workers)}} {}

    class timer {
    public:
        explicit timer(fairlead_timers& at) : home_{at.scheduler_} {}

        template <class Handler>
        void set(bench::time_point deadline, Handler handler) {
            task_.set_callback([handler](fl::callback_task&) { handler(); });
            home_.post_deadline(task_, of_fairlead(deadline));
        }
        void cancel() { task_.wakeup(); }

    private:
        fl::scheduler& home_;
        fl::callback_task task_;
    };

    template <class Handler>
    void spawn_sleeper(bench::time_point deadline, Handler handler) {
        fl::spawn(scheduler_, sleep(of_fairlead(deadline), handler)).detach();
    }

    /// Waits until no handler runs any more.
    void settle() { scheduler_.drain(); }

private:
    // Both clocks are the monotonic one of the system.
    static fl::time_point of_fairlead(bench::time_point deadline) {
        return fl::time_point{deadline.time_since_epoch()};
    }

    template <class Handler>
    static fl::task<> sleep(fl::time_point deadline, Handler handler) {
        co_await fl::sleep_until(deadline);
        handler();
    }

    fl::scheduler scheduler_;
};

}  // namespace

int main(int argc, char** argv) { return bench::w9::main<fairlead_timers>(argc, argv); }
