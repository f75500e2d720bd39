// Fairlead: coroutines that yield, and a coroutine that sleeps.
#include "w11/saturated.hpp"

#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/sched/scheduler.hpp>

namespace fl = fairlead;

namespace {

fl::task<> compute(bench::w11::load& load) {
    if (load.asks()) {
        while (load.step()) co_await fl::checkpoint();
    } else {
        while (load.step()) co_await fl::yield();
    }
    load.leave();
}

fl::task<> sleep_often(bench::w11::sleeper& self) {
    do {
        // Both clocks are the monotonic one of the system.
        const fl::time_point deadline{self.next_deadline().time_since_epoch()};
        co_await fl::sleep_until(deadline);
    } while (self.wake_up());
}

class fairlead_tasks {
public:
    static constexpr const char* name = "fairlead";
    static constexpr bool has_slices = true;

    explicit fairlead_tasks(std::uint64_t workers)
        : scheduler_{{.workers = static_cast<unsigned>(workers)}} {}

    void spawn_busy(bench::w11::load& load) { fl::spawn(scheduler_, compute(load)).detach(); }
    void spawn_sleeper(bench::w11::sleeper& who) {
        fl::spawn(scheduler_, sleep_often(who)).detach();
    }

private:
    fl::scheduler scheduler_;
};

}  // namespace

int main(int argc, char** argv) { return bench::w11::main<fairlead_tasks>(argc, argv); }
