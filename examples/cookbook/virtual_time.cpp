// A test in virtual time: a day of a periodic job takes milliseconds, and is the same in each run.
#include "every.hpp"

#include <fairlead/test/simulated_scheduler.hpp>

#include <cstdio>
#include <vector>

namespace fl = fairlead;
using namespace std::chrono_literals;

namespace {

// [test]
// The times at which a job with a period of an hour ran in a day; the third run takes 90 minutes.
fl::task<std::vector<fl::duration>> runs_of_a_day() {
    const fl::time_point begin = fl::clock::now();
    std::vector<fl::duration> runs;
    const auto job = [&]() -> fl::task<> {
        runs.push_back(fl::clock::now() - begin);
        if (runs.size() == 3) co_await fl::sleep_for(90min);
    };
    co_await fl::with_scope([&](fl::scope& jobs) -> fl::task<> {
        jobs.spawn(every(1h, job));
        co_await fl::sleep_for(24h + 30min);
        jobs.request_stop();
    });
    co_return runs;
}
// [/test]

}  // namespace

int main() {
    // [main]
    fl::test::simulated_scheduler simulated;
    const auto runs = simulated.run(runs_of_a_day(), 48h);
    // [/main]
    std::printf("%zu runs, the last after %lld h\n", runs.size(),
                static_cast<long long>(runs.back() / 1h));
    // The hour in which the long run was is skipped, and nothing drifts.
    return runs.size() == 23 && runs[2] == 3h && runs[3] == 5h && runs.back() == 24h ? 0 : 1;
}
