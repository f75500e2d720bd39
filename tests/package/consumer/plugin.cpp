// A plugin with a runtime of its own inside.
#include <fairlead/fairlead.hpp>

namespace {

fairlead::task<int> squared(int number) { co_return number* number; }

// Its frame and that of the child come from the recycler of the thread: an access to a thread-local pointer.
fairlead::task<int> sum_of_squares(int count) {
    int sum = 0;
    for (int i = 1; i <= count; ++i) sum += co_await squared(i);
    co_return sum;
}

}  // namespace

extern "C" int plugin_sum_of_squares(int count) {
    fairlead::scheduler scheduler{{.workers = 2}};
    return fairlead::block_on(scheduler, sum_of_squares(count));
}
