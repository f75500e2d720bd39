#include "sched/worker/stuck_search.hpp"

#include <fairlead/test/manual_clock.hpp>

#include <gtest/gtest.h>

namespace fairlead::sched {
namespace {

using namespace std::chrono_literals;

// A worker that looks after each run of so many steps.
class looks {
public:
    void run(unsigned steps, duration each) {
        finished_ += steps;
        clock_.advance(each * steps);
        static_cast<void>(search_.is_due(finished_));
        was_long_ |= search_.steps_are_long();
    }
    void forget() { was_long_ = false; }
    [[nodiscard]] bool was_long() const { return was_long_; }

private:
    test::manual_clock clock_;
    stuck_search search_{1};
    std::uint64_t finished_ = 0;
    bool was_long_ = false;
};

// It reads the clock at each 16th look, and 16 runs of 16 steps take long.
TEST(StuckSearch, ShortStepsAreNotLongThoughTheClockIsReadRarely) {
    looks worker;
    for (int i = 0; i != 100; ++i) worker.run(16, 300ns);
    worker.forget();
    for (int i = 0; i != 1'000; ++i) worker.run(16, 300ns);
    EXPECT_FALSE(worker.was_long());
}

TEST(StuckSearch, LongStepsAreLong) {
    looks worker;
    for (int i = 0; i != 100; ++i) worker.run(16, 300ns);
    worker.forget();
    for (int i = 0; i != 20; ++i) worker.run(1, 50us);
    EXPECT_TRUE(worker.was_long());
}

}  // namespace
}  // namespace fairlead::sched
