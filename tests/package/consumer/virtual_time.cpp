// A user's test of code that waits: a day in no time.
#include <fairlead/coro/awaits.hpp>
#include <fairlead/test/simulated_scheduler.hpp>

#include <chrono>

namespace {

using namespace std::chrono_literals;

fairlead::task<fairlead::duration> sleeps_for_a_day() {
    const fairlead::time_point begin = fairlead::clock::now();
    co_await fairlead::sleep_for(24h);
    co_return fairlead::clock::now() - begin;
}

}  // namespace

int main() {
    fairlead::test::simulated_scheduler simulated;
    return simulated.run(sleeps_for_a_day(), 25h) == 24h ? 0 : 1;
}
