// Coroutines as tasks: calls, time, many at once, scopes, failures, stopping, signals.
#include <fairlead/fairlead.hpp>

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <expected>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <tuple>
#include <vector>

namespace fl = fairlead;
using namespace std::chrono_literals;

namespace {

int failures = 0;

void expect(bool holds, const char* what) {
    std::printf("%s  %s\n", holds ? "ok  " : "FAIL", what);
    if (!holds) ++failures;
}

// [task]
// A task starts when it is awaited, and the await gives its result.
fl::task<int> square(int x) {
    const int result = x * x;
    co_return result;
}

fl::task<int> sum_of_squares(int count) {
    int sum = 0;
    for (int i = 1; i <= count; ++i) sum += co_await square(i);
    co_return sum;
}
// [/task]

// [sleep]
fl::task<fl::duration> nap() {
    const fl::time_point begin = fl::clock::now();
    co_await fl::sleep_for(5ms);  // no thread is blocked meanwhile
    co_return fl::clock::now() - begin;
}
// [/sleep]

// [when_all]
fl::task<int> slow_square(int x) {
    co_await fl::sleep_for(5ms);
    co_return co_await square(x);
}

fl::task<int> together() {
    auto [a, b] = co_await fl::when_all(slow_square(3), slow_square(4));

    std::vector<fl::task<int>> many;
    for (int i = 0; i != 1000; ++i) many.push_back(slow_square(i));
    const std::vector<int> squares = co_await fl::when_all(std::move(many));

    co_return a + b + squares.back();  // the 1,000 sleeps overlap
}
// [/when_all]

// [race]
fl::task<int> answer_after(fl::duration delay, int answer) {
    co_await fl::sleep_for(delay);
    co_return answer;
}

fl::task<int> quickest() {
    // The first success counts.
    const int sooner = co_await fl::race(answer_after(1h, 1), answer_after(1ms, 2));
    // A limit of time around any task.
    const fl::waited<int> late = co_await fl::with_timeout(answer_after(1h, 3), 5ms);
    co_return late ? *late : sooner;
}
// [/race]

// [parallel_invoke]
// The sum of many numbers: calls on the stack, without coroutines.
std::uint64_t sum_of(std::span<const std::uint64_t> values) {
    if (values.size() < 1000) {
        return std::accumulate(values.begin(), values.end(), std::uint64_t{0});
    }
    const std::size_t half = values.size() / 2;
    const auto [left, right] = fl::parallel_invoke([=] { return sum_of(values.first(half)); },
                                                   [=] { return sum_of(values.subspan(half)); });
    return left + right;
}
// [/parallel_invoke]

// [fork_join]
// The number of ways to climb a stair of so many steps, by one or two at a time.
fl::task<int> climbs(int steps) {
    if (steps < 2) co_return 1;
    const auto [by_one, by_two] = co_await fl::fork_join(climbs(steps - 1), climbs(steps - 2));
    co_return by_one + by_two;
}
// [/fork_join]

// [for_each]
// The squares of all numbers below `count`.
fl::task<std::vector<std::size_t>> squares_below(std::size_t count) {
    std::vector<std::size_t> squares(count);
    co_await fl::for_each(squares,
                          [](std::size_t index, std::size_t& each) { each = index * index; });
    co_return squares;
}
// [/for_each]

// [scope]
fl::task<> write_square(int x, int& result) {
    co_await fl::yield();
    result = x * x;
}

// The children may use locals of the coroutine that owns the scope: they end before it does.
fl::task<int> fan_out() {
    std::vector<int> results(10);
    co_await fl::with_scope([&results](fl::scope& children) -> fl::task<> {
        for (int i = 0; i != 10; ++i) {
            children.spawn(write_square(i, results[static_cast<std::size_t>(i)]));
        }
        co_return;
    });
    co_return results[9];
}
// [/scope]

// [scope_fork]
struct node {
    int value = 0;
    std::vector<node> below;
};

// Each node is a child of the scope. Those that no idle worker takes run here, one after the other.
fl::task<> square_all(fl::scope& all, node& top) {
    top.value *= top.value;
    for (node& each : top.below) co_await all.fork(square_all(all, each));
}
// [/scope_fork]

fl::task<int> square_of_a_leaf() {
    node tree{1, {{2, {}}, {3, {{4, {}}, {5, {}}}}}};
    co_await fl::with_scope([&tree](fl::scope& all) { return square_all(all, tree); });
    co_return tree.below[1].below[1].value;
}

// [errors]
// What may well go wrong is a value ...
fl::task<std::expected<int, std::errc>> parse(std::string text) {
    int number = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
    if (parsed.ec != std::errc{}) co_return std::unexpected{parsed.ec};
    co_return number;
}

// ... and an exception goes to the coroutine that awaits.
fl::task<int> parse_or_throw(std::string text) {
    const auto number = co_await parse(std::move(text));
    if (!number) throw std::runtime_error{"not a number"};
    co_return *number;
}
// [/errors]

// [stop]
fl::task<int> ticks_until_stopped() {
    int ticks = 0;
    for (;;) {
        const auto slept = co_await fl::as_result(fl::sleep_for(1ms));
        if (!slept) co_return ticks;  // without as_result the stop would be a stopped_error
        ++ticks;
    }
}
// [/stop]

// [signal]
// Waits for something that is not a coroutine. `self` is the task to wake and signal.
fl::task<int> ask_another_thread(std::jthread& other) {
    fl::basic_task& self = co_await fl::current_task();
    int answer = 0;
    other = std::jthread{[&answer, &self] {
        answer = 42;
        self.signal();  // the last touch: after it the frame with `answer` may be gone
    }};
    // Shielded from a stop: `answer` is the thread's until it signals.
    static_cast<void>(co_await fl::shielded(fl::receive_signal()));
    co_return answer;
}
// [/signal]

}  // namespace

int main() {
    // [main]
    fl::scheduler scheduler{{.workers = 2}};

    // block_on runs a task on the scheduler while this thread, which is no worker, waits.
    expect(fl::block_on(scheduler, sum_of_squares(10)) == 385, "a task awaits others");

    // spawn starts one; its handle is awaited, or get() waits on a thread, or it is dropped.
    fl::join_handle<int> handle = fl::spawn(scheduler, sum_of_squares(3));
    expect(handle.get() == 14, "a spawned task is joined");
    // [/main]

    expect(fl::block_on(scheduler, nap()) >= 5ms, "a sleep is never shorter than asked for");
    expect(fl::block_on(scheduler, together()) == 25 + 999 * 999, "when_all waits for all");
    expect(fl::block_on(scheduler, quickest()) == 2, "race takes the first, and a timeout expires");
    expect(fl::block_on(scheduler, climbs(20)) == 10'946, "fork_join divides the work");
    const std::vector<std::uint64_t> ones(100'000, 1);
    const auto sum = [](std::span<const std::uint64_t> of) -> fl::task<std::uint64_t> {
        co_return sum_of(of);
    };
    expect(fl::block_on(scheduler, sum(ones)) == ones.size(), "parallel_invoke calls functions");
    expect(fl::block_on(scheduler, squares_below(1000)).back() == 999 * 999, "for_each visits all");
    expect(fl::block_on(scheduler, fan_out()) == 81, "a scope joins its children");
    expect(fl::block_on(scheduler, square_of_a_leaf()) == 25, "a scope joins what was forked");

    expect(fl::block_on(scheduler, parse("12")) == 12, "an expected value");
    expect(!fl::block_on(scheduler, parse("twelve")), "an expected error");
    // [catch]
    try {
        fl::block_on(scheduler, parse_or_throw("twelve"));
        expect(false, "an exception reaches the thread that waits");
    } catch (const std::runtime_error&) {
        expect(true, "an exception reaches the thread that waits");
    }
    // [/catch]

    // [request_stop]
    fl::join_handle<int> ticking = fl::spawn(scheduler, ticks_until_stopped());
    ticking.request_stop();
    expect(ticking.get() >= 0, "a task that is asked to stop ends");
    // [/request_stop]

    std::jthread other;
    expect(fl::block_on(scheduler, ask_another_thread(other)) == 42, "a signal brings an answer");
    return failures;
}
