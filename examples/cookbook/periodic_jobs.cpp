// Jobs that run at a fixed period, until they are asked to stop.
#include "every.hpp"

#include <cstdio>

namespace fl = fairlead;
using namespace std::chrono_literals;

namespace {

// [job]
// Signals the task that waits for five runs.
fl::task<> clean_up(int& runs, fl::basic_task& watcher) {
    if (++runs == 5) watcher.signal();
    co_return;
}

fl::task<int> five_runs() {
    fl::basic_task& self = co_await fl::current_task();
    int runs = 0;
    co_await fl::with_scope([&](fl::scope& jobs) -> fl::task<> {
        jobs.spawn(every(2ms, [&] { return clean_up(runs, self); }), {.name = "clean up"});
        // Stands for the rest of the program. The jobs end after a signal and after a stop alike.
        static_cast<void>(co_await fl::receive_signal());
        jobs.request_stop();
    });
    co_return runs;
}
// [/job]

}  // namespace

int main() {
    fl::scheduler scheduler{{.workers = 2}};
    const int runs = fl::block_on(scheduler, five_runs());
    std::printf("%d runs\n", runs);
    return runs >= 5 ? 0 : 1;
}
