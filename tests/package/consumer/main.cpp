#include <fairlead/fairlead.hpp>

fairlead::task<int> answer() { co_return 42; }

int main() {
    fairlead::scheduler scheduler{{.workers = 2}};
    return fairlead::block_on(scheduler, answer()) == 42 ? 0 : 1;
}
