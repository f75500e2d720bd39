// One deadline and one trace for a whole request: docs/manual/context.md.
#include <fairlead/fairlead.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <tuple>

namespace fl = fairlead;
using namespace std::chrono_literals;

namespace {

// [values]
constexpr fl::context_key<std::string> tenant{fl::inherit::children};

fl::task<std::string> whose() {
    const fl::context here = co_await fl::current_context();
    const std::string* const name = here.get(tenant);
    co_return name != nullptr ? *name : "nobody's";
}
// [/values]

fl::task<int> load(std::chrono::milliseconds takes) {
    co_await fl::sleep_for(takes);
    co_return 1;
}

// [deadline]
// Neither function knows the deadline of the request: each wait inside ends by it all the same.
fl::task<int> assemble(std::chrono::milliseconds slowest) {
    const auto parts = co_await fl::when_all(load(1ms), load(slowest));
    co_return std::get<0>(parts) + std::get<1>(parts);
}

fl::task<std::string> answer(std::chrono::milliseconds slowest) {
    const fl::waited<int> page = co_await fl::with_deadline(50ms, assemble(slowest));
    if (!page) co_return "too late";  // fl::wait_error::expired
    co_return "a page of " + std::to_string(*page) + " parts";
}
// [/deadline]

// [cleanup]
fl::task<> close_slowly(bool& closed) {
    co_await fl::sleep_for(5ms);
    closed = true;
}

fl::task<> use(bool& closed) {
    const auto ended = co_await fl::as_result(fl::sleep_for(1h));
    // Overdue: every wait would end at once. What cleans up waits inside a shield, with a deadline
    // of its own.
    if (!ended) co_await fl::shielded(fl::with_deadline(1s, close_slowly(closed)));
}
// [/cleanup]

// [reason]
constexpr fl::stopped_by kicked = fl::own_reason(1);

fl::task<std::string> play() {
    const auto played = co_await fl::as_result(fl::sleep_for(1h));
    if (played) co_return "the game is over";
    const fl::stopped_by why = co_await fl::stop_reason();
    co_return why == kicked ? "thrown out" : std::string{"stopped: "} + fl::to_string(why);
}

fl::task<std::string> throw_out() {
    fl::join_handle<std::string> player = fl::spawn(co_await fl::current_executor(), play());
    player.request_stop(kicked);
    player.request_stop(fl::stopped_by::shutdown);  // comes second
    co_return co_await player;
}
// [/reason]

fl::task<int> program() {
    const std::string in_time = co_await answer(2ms);
    const std::string late = co_await answer(1h);
    std::printf("%s; %s\n", in_time.c_str(), late.c_str());

    const std::string name = co_await fl::with_value(tenant, std::string{"anna"}, whose());
    std::printf("%s task\n", name.c_str());

    const std::string end = co_await throw_out();
    const auto [first, winner] = co_await fl::when_any(play(), answer(2ms));
    std::printf("%s; %s\n", end.c_str(), winner->c_str());

    bool closed = false;
    static_cast<void>(co_await fl::with_deadline(1ms, use(closed)));
    co_return in_time == "a page of 2 parts" && late == "too late" && name == "anna" &&
            closed&& end == "thrown out" && first == 1
        ? EXIT_SUCCESS
        : EXIT_FAILURE;
}

}  // namespace

int main() {
    fl::scheduler scheduler;
    return fl::block_on(scheduler, program());
}
