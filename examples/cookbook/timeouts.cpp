// A limit of time for a whole operation: as a deadline that each wait gets, and for code that takes
// no deadline.
#include <fairlead/fairlead.hpp>

#include <cstdio>
#include <tuple>

namespace fl = fairlead;
using namespace std::chrono_literals;

namespace {

// [deadline]
// Every wait gets the same time point, so the limit is that of the whole, not of each part.
fl::task<bool> three_parts(fl::time_point deadline) {
    for (int part = 0; part != 3; ++part) {
        // Stands for a read or a write: these take a deadline and say `timed_out`.
        const fl::wake_reason why = co_await fl::receive_signal(deadline);
        if (why == fl::wake_reason::expired) co_return false;
    }
    co_return true;
}
// [/deadline]

// [body]
// Knows nothing of a deadline, but each of its waits hears a stop.
fl::task<int> slow_answer(fl::duration takes) {
    co_await fl::sleep_for(takes);
    co_return 42;
}
// [/body]

}  // namespace

int main() {
    fl::scheduler scheduler{{.workers = 2}};
    const bool in_time = fl::block_on(scheduler, three_parts(fl::clock::now() + 10ms));

    // [call]
    const fl::time_point now = fl::clock::now();
    const auto quick = fl::block_on(scheduler, fl::when_all_until(now + 1h, slow_answer(1ms)));
    const auto stuck = fl::block_on(scheduler, fl::when_all_until(now + 5ms, slow_answer(1h)));
    // [/call]
    std::printf("quick: %s, stuck: %s\n", quick ? "answered" : "stopped",
                stuck ? "answered" : "stopped");
    return !in_time && quick == std::tuple{42} && !stuck ? 0 : 1;
}
