// The pool of threads that may block: calls and hand-overs together, calls that are withdrawn, and
// its end.
#include "sched/block/blocking_pool.hpp"
#include "model/explore.hpp"

#include <fairlead/detail/sync/signal.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <optional>

namespace fairlead::sched::blocking_pool_tests {
namespace {

using model::plain;
using model::require;

constexpr std::uint64_t executions = 2'000;  // of each search; executions are short

// Counts the calls that run at the same time in one pool.
struct gauge {
    explicit gauge(int may) : most{may} {}

    const int most;
    sync::atomic<int> inside{0};
};

// A call that counts itself in a gauge. It sends `over` as its last access.
class call final : public blocking_job {
public:
    explicit call(gauge& of) : of_{of} {}

    void run() noexcept override {
        require(of_.inside.fetch_add(1, sync::relaxed) < of_.most, "no more than may be");
        ran_ = ran_ + 1;
        of_.inside.fetch_sub(1, sync::relaxed);
        over.send();
    }
    [[nodiscard]] int ran() const { return ran_; }

    sync::signal over;

private:
    gauge& of_;
    plain<int> ran_{0};
};

// The job of a hand-over. It is no call and does not count for the limit of calls.
class handover_of_a_slot final : public blocking_job {
public:
    void run() noexcept override { over.send(); }

    sync::signal over;
};

// Threads that were started for hand-overs make calls, too. No more calls than the limit run at
// once.
TEST(ModelBlockingPool, NoMoreCallsRunThanMayBesideHandovers) {
    for (const unsigned most : {1U, 2U}) {
        model::expect_passes_by_priorities(
            [=] {
                gauge of{static_cast<int>(most)};
                std::array<call, 3> calls{call{of}, call{of}, call{of}};
                std::array<handover_of_a_slot, 2> slots;
                blocking_pool pool{"", most};
                model::in_threads(
                    [&] {
                        for (handover_of_a_slot& each : slots) {
                            require(pool.submit_now(each), "there are threads");
                        }
                    },
                    [&] {
                        for (call& each : calls) pool.submit(each);
                    });
                for (handover_of_a_slot& each : slots) each.over.receive();
                for (call& each : calls) each.over.receive();
                for (const call& each : calls) require(each.ran() == 1, "each runs once");
            },
            executions);
    }
}

// A caller that withdraws a call before it begins gets the call back and may destroy it. All other
// calls run.
TEST(ModelBlockingPool, ACallIsWithdrawnOrRuns) {
    model::expect_passes_by_priorities(
        [] {
            gauge of{1};
            call first{of};
            std::optional<call> second{of};
            call third{of};
            blocking_pool pool{"", 1};
            pool.submit(first);
            pool.submit(*second);
            model::in_threads([&] { pool.submit(third); },
                              [&] {
                                  if (!pool.withdraw(*second)) second->over.receive();
                                  require(second->ran() <= 1, "at most once");
                                  second.reset();
                              });
            first.over.receive();
            third.over.receive();
        },
        executions);
}

// Threads that have waited for long retire, while one of them is chosen for another call.
TEST(ModelBlockingPool, AThreadThatRetiresIsChosenOrNot) {
    model::expect_passes(
        {.how = model::search::pct, .executions_max = executions, .steps_max = 40'000}, [] {
            gauge of{1};
            std::array<call, 2> calls{call{of}, call{of}};
            blocking_pool pool{"", 1};
            for (call& each : calls) {
                pool.submit(each);
                each.over.receive();
            }
        });
}

}  // namespace
}  // namespace fairlead::sched::blocking_pool_tests
