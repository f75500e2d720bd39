// A second request if the first one is slow: the sooner answer counts, and the other request ends.
#include <fairlead/fairlead.hpp>
#include <fairlead/test/simulated_scheduler.hpp>

#include <array>
#include <cstddef>
#include <cstdio>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace fl = fairlead;
using namespace std::chrono_literals;

namespace {

// Stands for a replica of a store.
struct replica {
    fl::duration takes;
    bool is_down = false;
    int requests = 0;
    int given_up = 0;

    fl::task<std::string> ask(std::string key) {
        ++requests;
        const auto answered = co_await fl::as_result(fl::sleep_for(takes));
        if (!answered) {
            ++given_up;
            throw fl::stopped_error{};
        }
        if (is_down) throw std::runtime_error{"no answer"};
        co_return "value of " + key;
    }
};

// [hedged]
// Asks the replicas one after the other: the next one when the last one has not answered for
// `patience`. The first answer counts. Throws `race_error` if all have failed.
fl::task<std::string> ask_after(fl::duration delay, replica& of, std::string key) {
    co_await fl::sleep_for(delay);
    co_return co_await of.ask(std::move(key));
}

fl::task<std::string> hedged(std::array<replica, 3>& replicas, std::string key,
                             fl::duration patience) {
    std::vector<fl::task<std::string>> requests;
    for (std::size_t i = 0; i != replicas.size(); ++i)
        requests.push_back(ask_after(patience * static_cast<int>(i), replicas[i], key));
    return fl::race(std::move(requests));
}
// [/hedged]

// [failover]
// The same, but the next replica is asked at once when the last one has failed.
fl::task<std::string> ask_and_wake(replica& of, std::string key, fl::event& failed) {
    try {
        co_return co_await of.ask(std::move(key));
    } catch (const fl::stopped_error&) {
        throw;
    } catch (...) {
        failed.set();
        throw;
    }
}

fl::task<std::string> ask_in_turn(std::array<replica, 3>& replicas, std::size_t from,
                                  std::string key, fl::duration patience) {
    if (from + 1 == replicas.size()) co_return co_await replicas[from].ask(std::move(key));
    fl::event failed;
    const auto rest = [&]() -> fl::task<std::string> {
        const auto waited = co_await failed.wait(fl::clock::now() + patience);
        if (!waited && waited.error() == fl::wait_error::stopped) throw fl::stopped_error{};
        co_return co_await ask_in_turn(replicas, from + 1, key, patience);
    };
    co_return co_await fl::race(ask_and_wake(replicas[from], key, failed), rest());
}
// [/failover]

struct asked {
    std::optional<std::string> answer;
    fl::duration took{};
    std::array<int, 3> requests{};
    std::array<int, 3> given_up{};
};

template <class Ask>
fl::task<asked> measure(std::array<replica, 3> replicas, Ask ask) {
    asked seen;
    const fl::time_point begin = fl::clock::now();
    try {
        seen.answer = co_await ask(replicas);
    } catch (const fl::race_error&) {
    }
    seen.took = fl::clock::now() - begin;
    for (std::size_t i = 0; i != replicas.size(); ++i) {
        seen.requests[i] = replicas[i].requests;
        seen.given_up[i] = replicas[i].given_up;
    }
    co_return seen;
}

fl::task<bool> compare() {
    const auto by_time = [](std::array<replica, 3>& of) { return hedged(of, "k", 50ms); };
    const auto in_turn = [](std::array<replica, 3>& of) { return ask_in_turn(of, 0, "k", 50ms); };
    bool passed = true;
    const auto expect = [&](const char* what, const asked& seen, fl::duration took,
                            std::array<int, 3> requests, std::array<int, 3> given_up) {
        const bool holds =
            seen.took == took && seen.requests == requests && seen.given_up == given_up;
        std::printf("%s: %s after %lld ms%s\n", what, seen.answer ? "an answer" : "none",
                    static_cast<long long>(seen.took / 1ms), holds ? "" : ", NOT AS EXPECTED");
        passed = passed && holds;
    };
    const std::array<replica, 3> quick{{{20ms}, {20ms}, {20ms}}};
    const std::array<replica, 3> slow{{{10s}, {20ms}, {20ms}}};
    const std::array<replica, 3> down{{{5ms, true}, {20ms}, {20ms}}};
    const std::array<replica, 3> dead{{{5ms, true}, {5ms, true}, {5ms, true}}};
    expect("a quick replica", co_await measure(quick, by_time), 20ms, {1, 0, 0}, {});
    expect("a slow one", co_await measure(slow, by_time), 70ms, {1, 1, 0}, {1, 0, 0});
    expect("one that fails", co_await measure(down, by_time), 70ms, {1, 1, 0}, {});
    expect("one that fails, with a fail-over", co_await measure(down, in_turn), 25ms, {1, 1, 0},
           {});
    expect("a slow one, with a fail-over", co_await measure(slow, in_turn), 70ms, {1, 1, 0},
           {1, 0, 0});
    expect("all fail", co_await measure(dead, in_turn), 15ms, {1, 1, 1}, {});
    co_return passed;
}

}  // namespace

int main() {
    fl::test::simulated_scheduler simulated;  // the delays are exact
    return simulated.run(compare()) ? 0 : 1;
}
