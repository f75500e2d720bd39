// A plugin with a runtime of its own inside.
#include <fairlead/fairlead.hpp>
#include <fairlead/test/manual_clock.hpp>

namespace {

fairlead::task<int> squared(int number) { co_return number* number; }

// Its frame and that of the child come from the recycler of the thread: an access to a thread-local
// pointer.
fairlead::task<int> sum_of_squares(int count) {
    int sum = 0;
    for (int i = 1; i <= count; ++i) sum += co_await squared(i);
    co_return sum;
}

// The override of the clock is thread-local, too.
bool virtual_time_works() {
    const fairlead::time_point real = fairlead::clock::now();
    {
        fairlead::test::manual_clock manual;
        manual.set(fairlead::immediately);
        if (fairlead::clock::now() != fairlead::immediately) return false;
    }
    return fairlead::clock::now() >= real;
}

}  // namespace

extern "C" int plugin_sum_of_squares(int count) {
    if (!virtual_time_works()) return -1;
    fairlead::scheduler scheduler{{.workers = 2}};
    return fairlead::block_on(scheduler, sum_of_squares(count));
}
