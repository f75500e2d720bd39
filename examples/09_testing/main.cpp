// Code that waits, tested in virtual time: timeouts, retries and a day of heartbeats in no time,
// each run the same. With a test framework each function below is a test.
#include <fairlead/fairlead.hpp>
#include <fairlead/test/simulated_scheduler.hpp>

#include <chrono>
#include <cstdio>
#include <stdexcept>

namespace fl = fairlead;
using namespace std::chrono_literals;

namespace {

int failures = 0;

void expect(bool holds, const char* what) {
    std::printf("%s  %s\n", holds ? "ok  " : "FAIL", what);
    if (!holds) ++failures;
}

// --- the code under test: it knows nothing of tests --------------------------------------------

// [session]
// Lives until no signal has come for 30 s. Returns for how long.
fl::task<fl::duration> session() {
    const fl::time_point begin = fl::clock::now();
    for (;;) {
        const fl::wake_reason why = co_await fl::receive_signal(fl::clock::now() + 30s);
        if (why != fl::wake_reason::signalled) co_return fl::clock::now() - begin;
    }
}
// [/session]

// [retries]
// A service that answers from its third request on.
struct starting_service {
    int requests = 0;
    bool answers() { return ++requests >= 3; }
};

// Waits 1 s, 2 s, 4 s, ... between attempts. Whether one had an answer.
fl::task<bool> ask(starting_service& service, int attempts_max) {
    fl::duration pause = 1s;
    for (int attempt = 1; !service.answers(); ++attempt) {
        if (attempt == attempts_max) co_return false;
        co_await fl::sleep_for(pause);
        pause *= 2;
    }
    co_return true;
}
// [/retries]

// --- tests -------------------------------------------------------------------------------------

void a_session_that_hears_nothing_ends_after_30_s() {
    // [run]
    fl::test::simulated_scheduler simulated;
    expect(simulated.run(session()) == 30s, "a silent session lives for 30 s, exactly");
    // [/run]
}

void a_session_lives_as_long_as_it_is_told() {
    // [run_for]
    fl::test::simulated_scheduler simulated;
    auto alive = fl::spawn(simulated, session());
    for (int i = 0; i != 24 * 60 * 3; ++i) {  // a day, each 20 s
        simulated.run_for(20s);
        alive.get_task().signal();
    }
    simulated.run_for(29s);
    expect(!alive.ended(), "a session with heartbeats lives");
    simulated.run_for(1s);
    expect(alive.ended() && alive.get() == 24h + 30s, "and ends 30 s after the last");
    // [/run_for]
}

void attempts_are_further_and_further_apart() {
    fl::test::simulated_scheduler simulated;
    const fl::time_point begin = fl::clock::now();  // virtual here, too
    starting_service service;
    expect(simulated.run(ask(service, 5)), "the third attempt has an answer");
    expect(fl::clock::now() - begin == 1s + 2s, "after two pauses");
}

void what_never_ends_is_reported() {
    // [limit]
    fl::test::simulated_scheduler simulated;
    const auto waits_for_ever = []() -> fl::task<> {
        static_cast<void>(co_await fl::wait_until_woken());
    };
    try {
        simulated.run(waits_for_ever(), 10min);
        expect(false, "a task that waits for ever is reported");
    } catch (const std::runtime_error& hang) {
        expect(true, hang.what());
    }
    // [/limit]
}

}  // namespace

int main() {
    a_session_that_hears_nothing_ends_after_30_s();
    a_session_lives_as_long_as_it_is_told();
    attempts_are_further_and_further_apart();
    what_never_ends_is_reported();
    return failures == 0 ? 0 : 1;
}
