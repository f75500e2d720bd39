// Ends on SIGTERM or SIGINT: nothing new begins, what runs ends by itself, and the rest is stopped
// and reported.
#include <fairlead/fairlead.hpp>

#include <signal.h>

#include <array>
#include <cstddef>
#include <cstdio>
#include <memory>

namespace fl = fairlead;
namespace io = fairlead::io;
using namespace std::chrono_literals;

namespace {

// [source]
fl::task<> request(bool& answered) {
    co_await fl::sleep_for(20ms);  // stands for the work
    answered = true;
}

// Stands for an accept loop. A stop ends the loop, but not the requests that it has started.
fl::task<std::size_t> source(fl::executor requests, std::array<bool, 1000>& answered) {
    std::size_t begun = 0;
    while (begun != answered.size()) {
        fl::spawn(requests, request(answered[begun]), {.name = "request"}).detach();
        ++begun;
        if (begun == 10) raise(SIGTERM);  // for the example: the operator's command
        const auto slept = co_await fl::as_result(fl::sleep_for(1ms));
        if (!slept) break;  // a stop
    }
    co_return begun;
}
// [/source]

}  // namespace

int main() {
    std::array<bool, 1000> answered{};
    // [main]
    fl::scheduler scheduler{{.workers = 2, .driver = std::make_unique<io::epoll_driver>()}};
    auto ends = io::signal_set::make(io::epoll_driver::of(scheduler), {SIGTERM, SIGINT});
    if (!ends) return 1;
    auto accepting = fl::spawn(scheduler, source(scheduler, answered), {.name = "source"});

    const int number = fl::block_on(scheduler, ends->next()).value_or(0);

    accepting.request_stop();  // nothing new begins
    const std::size_t begun = accepting.get();
    const bool all_ended = scheduler.drain_for(5s);   // what runs ends by itself
    const fl::stop_report left = scheduler.stop(1s);  // the rest is asked to stop
    std::printf("signal %d, %zu requests, left over: %s\n", number, begun,
                left.to_string().c_str());
    // [/main]

    std::size_t ended = 0;
    for (const bool each : answered) ended += each ? 1 : 0;
    return all_ended && left.clean() && begun >= 10 && ended == begun ? 0 : 1;
}
