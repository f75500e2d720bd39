// Several questions at once: all answers, answers as they come, the first answer.
#include <fairlead/fairlead.hpp>

#include <cstdio>
#include <mutex>
#include <numeric>
#include <optional>
#include <utility>
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
// Waits for all answers. If one call throws, the rest are asked to stop, and the exception is
// thrown here.
fl::task<int> sum_of_answers(int servers) {
    std::vector<fl::task<int>> questions;
    for (int i = 0; i != servers; ++i) questions.push_back(ask(i));
    const std::vector<int> answers = co_await fl::when_all(std::move(questions));
    co_return std::accumulate(answers.begin(), answers.end(), 0);
}
// [/all]

// [as_they_come]
fl::task<> ask_and_add(int server, int& sum) {
    const int answer = co_await ask(server);
    sum += answer;  // no lock: the children are in the strand of their owner
}

// Adds each answer when it comes. Run it in a group with `max_concurrency = 1`.
fl::task<int> running_sum(int servers) {
    int sum = 0;
    co_await fl::with_scope([&](fl::scope& questions) -> fl::task<> {
        for (int i = 0; i != servers; ++i) questions.spawn(ask_and_add(i, sum));
        co_return;
    });
    co_return sum;
}
// [/as_they_come]

// [first]
struct first_answer {
    std::mutex mutex;
    std::optional<int> value;  // guarded by mutex
};

fl::task<> ask_until_stopped(int server, first_answer& first, fl::scope& questions) {
    co_await fl::sleep_for(server * 5ms);  // a stop ends the child here
    {
        const std::lock_guard lock{first.mutex};  // not held over an await
        if (!first.value) first.value = server;
    }
    questions.request_stop();
}

// The first answer counts, and the other calls are asked to stop. All have ended when this returns.
fl::task<int> fastest(int servers) {
    first_answer first;
    co_await fl::with_scope([&](fl::scope& questions) -> fl::task<> {
        for (int i = 1; i <= servers; ++i) questions.spawn(ask_until_stopped(i, first, questions));
        co_return;
    });
    const std::lock_guard lock{first.mutex};
    co_return first.value.value();
}
// [/first]

}  // namespace

int main() {
    fl::scheduler scheduler{{.workers = 2}};
    const int sum = fl::block_on(scheduler, sum_of_answers(5));
    fl::group strand{scheduler, {.name = "sum", .max_concurrency = 1}};
    const int running = fl::block_on(strand, running_sum(5));
    const int winner = fl::block_on(scheduler, fastest(3));
    std::printf("all: %d, as they come: %d, first: server %d\n", sum, running, winner);
    return sum == 100 && running == 100 && winner >= 1 ? 0 : 1;
}
