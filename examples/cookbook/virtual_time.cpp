// A test in virtual time: a day of a periodic job takes milliseconds, and is the same in each run.
#include "every.hpp"

#include <fairlead/sched/clock.hpp>
#include <fairlead/sched/driver.hpp>

#include <cstdio>
#include <memory>
#include <vector>

namespace fl = fairlead;
using namespace std::chrono_literals;

namespace {

// [clock]
// Stands still unless the driver below moves it.
class virtual_clock final : public fl::clock_source {
public:
    [[nodiscard]] fl::time_point now() const noexcept override { return now_; }
    void move_to(fl::time_point to) noexcept { now_ = to; }

private:
    fl::time_point now_{1h};
};

// Where the scheduler would sleep until a deadline, the clock jumps to the deadline instead.
class jumping_driver final : public fl::driver {
public:
    explicit jumping_driver(virtual_clock& moved) noexcept : clock_{moved} {}

    [[nodiscard]] bool set_deadline(fl::time_point to) noexcept override {
        deadline_ = to;
        return true;
    }
    void wait() noexcept override {
        if (deadline_ != fl::never && deadline_ > clock_.now()) clock_.move_to(deadline_);
    }
    void poll(fl::event_sink&) noexcept override {}  // there are no events
    void wake() noexcept override {}                 // no other thread posts
    [[nodiscard]] bool has_sources() const noexcept override { return false; }

private:
    virtual_clock& clock_;
    fl::time_point deadline_ = fl::never;
};
// [/clock]

// [test]
// The times at which a job with a period of an hour ran in a day; the third run takes 90 minutes.
fl::task<std::vector<fl::duration>> runs_of_a_day() {
    fl::scheduler& home = co_await fl::current_scheduler();
    const fl::time_point begin = home.now();
    std::vector<fl::duration> runs;
    const auto job = [&]() -> fl::task<> {
        runs.push_back(home.now() - begin);
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
    virtual_clock clock;
    fl::scheduler scheduler{{.run_on_caller = true,
                             .clock = &clock,
                             .driver = std::make_unique<jumping_driver>(clock)}};
    const auto runs = fl::block_on(scheduler, runs_of_a_day());
    // [/main]
    std::printf("%zu runs, the last after %lld h\n", runs.size(),
                static_cast<long long>(runs.back() / 1h));
    // The hour in which the long run was is skipped, and nothing drifts.
    return runs.size() == 23 && runs[2] == 3h && runs[3] == 5h && runs.back() == 24h ? 0 : 1;
}
