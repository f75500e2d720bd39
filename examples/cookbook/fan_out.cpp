// Several questions at once: all answers, answers as they come, the first answer.
#include <fairlead/fairlead.hpp>

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <vector>

namespace fl = fairlead;
using namespace std::chrono_literals;

namespace {

// Stands for a call of one of several servers.
fl::task<int> ask(int server) {
    co_await fl::sleep_for(server * 1ms);
    co_return server * 10;
}

// [all]
std::vector<fl::task<int>> questions(int servers) {
    std::vector<fl::task<int>> all;
    for (int i = 1; i <= servers; ++i) all.push_back(ask(i));
    return all;
}

// Waits for all answers. If one call throws, the rest are asked to stop, and the exception is
// thrown here.
fl::task<int> sum_of_answers(int servers) {
    const std::vector<int> answers = co_await fl::when_all(questions(servers));
    co_return std::accumulate(answers.begin(), answers.end(), 0);
}
// [/all]

// [settled]
// Each answer or failure, in the order of the servers.
fl::task<int> count_of_answers(int servers) {
    const auto all = co_await fl::when_all_settled(questions(servers));
    co_return static_cast<int>(
        std::ranges::count_if(all, [](const auto& each) { return each.has_value(); }));
}
// [/settled]

// [as_they_come]
// Adds each answer when it comes. Two of the calls run at once.
fl::task<int> running_sum(int servers) {
    int sum = 0;
    auto answers = fl::as_completed(questions(servers), fl::max_concurrency{2});
    while (const auto next = co_await answers.next()) sum += next->result.value_or(0);
    co_return sum;
}
// [/as_they_come]

// [first]
// The first answer counts, and the other calls are asked to stop. All have ended when this returns.
// It fails only if all calls have failed.
fl::task<int> fastest(int servers) { co_return co_await fl::race(questions(servers)); }
// [/first]

}  // namespace

int main() {
    fl::scheduler scheduler{{.workers = 2}};
    const int sum = fl::block_on(scheduler, sum_of_answers(5));
    const int count = fl::block_on(scheduler, count_of_answers(5));
    const int running = fl::block_on(scheduler, running_sum(5));
    const int winner = fl::block_on(scheduler, fastest(3));
    std::printf("all: %d, settled: %d, as they come: %d, first: %d\n", sum, count, running, winner);
    return sum == 150 && count == 5 && running == 150 && winner >= 10 ? 0 : 1;
}
