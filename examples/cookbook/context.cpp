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

fl::task<int> program() {
    const std::string in_time = co_await answer(2ms);
    const std::string late = co_await answer(1h);
    std::printf("%s; %s\n", in_time.c_str(), late.c_str());

    const std::string name = co_await fl::with_value(tenant, std::string{"anna"}, whose());
    std::printf("%s task\n", name.c_str());

    bool closed = false;
    static_cast<void>(co_await fl::with_deadline(1ms, use(closed)));
    co_return in_time == "a page of 2 parts" && late == "too late" && name == "anna" && closed
        ? EXIT_SUCCESS
        : EXIT_FAILURE;
}

}  // namespace

int main() {
    fl::scheduler scheduler;
    return fl::block_on(scheduler, program());
}
