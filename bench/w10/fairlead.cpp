// Fairlead: spawned coroutines. The scheduler destroys them at its end.
#include "w10/sleeping.hpp"

#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/sched/scheduler.hpp>

namespace fl = fairlead;

namespace {

fl::task<> park() {
    bench::tally::add();
    static_cast<void>(co_await fl::wait_until_woken());
}

fl::task<> sleep() {
    bench::tally::add();
    co_await fl::sleep_for(std::chrono::hours{1});
}

class fairlead_sleepers {
public:
    static constexpr const char* name = "fairlead";

    explicit fairlead_sleepers(std::uint64_t workers)
        : scheduler_{{.workers = static_cast<unsigned>(workers)}} {}

    void spawn_parked() { fl::spawn(scheduler_, park()).detach(); }
    void spawn_asleep() { fl::spawn(scheduler_, sleep()).detach(); }

private:
    fl::scheduler scheduler_;
};

}  // namespace

int main(int argc, char** argv) { return bench::w10::main<fairlead_sleepers>(argc, argv); }
