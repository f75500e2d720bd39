// A limit of time for a whole operation: as a deadline that each wait gets, and for code that takes
// no deadline.
#include <fairlead/fairlead.hpp>

#include <cstdio>
#include <optional>
#include <stop_token>
#include <utility>

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

// [within]
fl::task<> stop_at(fl::time_point deadline, std::stop_source& body) {
    const fl::wake_reason why = co_await fl::sleep_until(deadline);
    if (why == fl::wake_reason::expired) body.request_stop();
}

// Asks the body to stop at the deadline. Nothing is left behind when this returns: the body has
// ended, and so has the task that watches the time. Nothing means that the body was stopped.
template <class T>
fl::task<std::optional<T>> within(fl::time_point deadline, fl::task<std::optional<T>> body) {
    const fl::executor here = co_await fl::current_executor();
    std::stop_source source;
    auto result = fl::spawn(here, std::move(body), {.name = "body", .stop = source.get_token()});
    auto watch = fl::spawn(here, stop_at(deadline, source), {.name = "time limit"});
    std::optional<T> value = co_await result;
    watch.request_stop();
    co_await watch;
    co_return value;
}
// [/within]

// [body]
// Knows nothing of a deadline, but hears a stop.
fl::task<std::optional<int>> slow_answer(fl::duration takes) {
    const fl::wake_reason why = co_await fl::sleep_for(takes);
    if (why == fl::wake_reason::stopped) co_return std::nullopt;
    co_return 42;
}
// [/body]

}  // namespace

int main() {
    fl::scheduler scheduler{{.workers = 2}};
    const bool in_time = fl::block_on(scheduler, three_parts(fl::clock::now() + 10ms));

    // [call]
    const auto quick = fl::block_on(scheduler, within(fl::clock::now() + 1h, slow_answer(1ms)));
    const auto stuck = fl::block_on(scheduler, within(fl::clock::now() + 5ms, slow_answer(1h)));
    // [/call]
    std::printf("quick: %s, stuck: %s\n", quick ? "answered" : "stopped",
                stuck ? "answered" : "stopped");
    return !in_time && quick == 42 && !stuck ? 0 : 1;
}
