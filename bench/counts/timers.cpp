// Deadlines that come, and deadlines that are withdrawn, among a thousand that stand.
#include "counts/meter.hpp"

#include <fairlead/base/clock_override.hpp>
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/sched/callback_task.hpp>

#include <array>
#include <chrono>
#include <memory>
#include <vector>

namespace fl = fairlead;

namespace bench::counts {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t at_once = 64;

class moved_clock final : public fl::clock_source {
public:
    [[nodiscard]] fl::time_point now() const noexcept override { return present_; }
    void move_to(fl::time_point to) noexcept { present_ = to; }

private:
    fl::time_point present_{1s};
};

// Sleeps by moving the clock.
class moving_driver final : public fl::driver {
public:
    explicit moving_driver(moved_clock& clock) : clock_{clock} {}

    [[nodiscard]] bool set_deadline(fl::time_point deadline) noexcept override {
        deadline_ = deadline;
        return true;
    }
    void wait() noexcept override { clock_.move_to(deadline_); }
    void poll(fl::event_sink&) noexcept override {}
    void wake() noexcept override {}
    [[nodiscard]] bool has_sources() const noexcept override { return false; }

private:
    moved_clock& clock_;
    fl::time_point deadline_ = fl::never;
};

fl::task<> sleep_alone(fl::scheduler&, std::uint64_t operations) {
    for (; operations != 0; --operations) co_await fl::sleep_for(1us);
}

fl::task<> sleep_together(fl::scheduler& home, std::uint64_t operations) {
    std::vector<fl::join_handle<void>> sleepers;
    for (std::uint64_t i = 0; i != at_once; ++i) {
        sleepers.push_back(fl::spawn(home, sleep_alone(home, operations / at_once)));
    }
    for (auto& each : sleepers) co_await each;
}

// Each is set, sleeps, is woken long before its deadline, and runs.
fl::task<> set_and_cancel(fl::scheduler& home, std::uint64_t operations) {
    std::array<fl::callback_task, at_once> tasks;
    for (fl::callback_task& each : tasks) each.set_callback([](fl::callback_task&) {});
    for (; operations != 0; operations -= at_once) {
        for (fl::callback_task& each : tasks) home.post_delay(each, 1h);
        co_await fl::yield();  // a round puts them to sleep
        for (fl::callback_task& each : tasks) each.wakeup();
        co_await fl::yield();  // and another lets them run
    }
}

}  // namespace

void measure_timers(meter& to) {
    to.section("timers");
    moved_clock clock;
    const fl::clock_override override{clock};
    fl::scheduler home{{.run_on_caller = true, .driver = std::make_unique<moving_driver>(clock)}};
    std::vector<fl::callback_task> standing(1000);
    for (std::size_t i = 0; i != standing.size(); ++i) {
        standing[i].set_callback([](fl::callback_task&) {});
        home.post_delay(standing[i], 24h + i * 1s);
    }
    to.measure("sleep until a deadline, alone", home, sleep_alone);
    to.measure("sleep until a deadline, 64 at once", home, sleep_together);
    to.measure("set a deadline and cancel it", home, set_and_cancel);
    home.drain();
}

}  // namespace bench::counts
