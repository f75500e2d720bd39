// Steps that block lose their slot, and other steps run there meanwhile.
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/fork_join.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/detail/os/thread.hpp>
#include <fairlead/sched/block_in_place.hpp>
#include <fairlead/sched/futex_driver.hpp>
#include <fairlead/sched/group.hpp>
#include <fairlead/sched/scheduler.hpp>

#include "support/printed_report.hpp"
#include "support/tasks.hpp"
#include "support/watchdog.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <latch>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace fairlead::handover_tests {
namespace {

using namespace std::chrono_literals;

// Whether a step declares that it blocks. Without a declaration the monitor has to find it.
enum class says : bool { nothing, so };

// The parameters: the number of workers, the policy and the declaration.
struct kind {
    says what;
    unsigned workers;
    fairlead::policy policy;
};

class Handover : public testing::TestWithParam<kind> {
protected:
    [[nodiscard]] scheduler_options options() const {
        scheduler_options options;
        options.workers = GetParam().workers;
        options.policy = GetParam().policy;
        if (GetParam().what == says::nothing) options.blocked_after = 1ms;
        options.on_blocked = [](const blocked_step&) noexcept {};
        return options;
    }

    template <class Function>
    static void block(Function&& function) {
        if (GetParam().what == says::so) {
            block_in_place(function);
        } else {
            function();
        }
    }

    // Steps that wait for `go` take all slots.
    void take_all(scheduler& scheduler, std::latch& go) {
        for (unsigned i = 0; i != GetParam().workers; ++i) {
            scheduler.post([&go] { block([&] { go.wait(); }); });
        }
    }

    test::watchdog guard_;
};

TEST_P(Handover, OthersGoOnWhileAllSlotsWouldBeBlocked) {
    scheduler scheduler{options()};
    std::latch go{1};
    take_all(scheduler, go);
    scheduler.post([&] { go.count_down(); });
    scheduler.drain();
}

TEST_P(Handover, WhatTheStepHasPostedBeforeRuns) {
    scheduler scheduler{options()};
    for (int round = 0; round != 10; ++round) {
        std::latch go{3};
        take_all(scheduler, go);
        scheduler.post([&] {
            for (int i = 0; i != 3; ++i) scheduler.post([&] { go.count_down(); });
            block([&] { go.wait(); });
        });
        scheduler.drain();
    }
}

// With policy::stealing most of them are in chunks, which the next worker of the slot has.
TEST_P(Handover, VeryManyThatTheStepHasPostedBeforeRun) {
    scheduler scheduler{options()};
    constexpr int posts = 2'000;
    std::latch go{posts};
    take_all(scheduler, go);
    scheduler.post([&] {
        for (int i = 0; i != posts; ++i) scheduler.post([&] { go.count_down(); });
        block([&] { go.wait(); });
    });
    scheduler.drain();
}

TEST_P(Handover, WhatTheStepPostsAfterwardsRuns) {
    scheduler scheduler{options()};
    std::atomic<int> ran{0};
    std::latch go{1};
    for (int i = 0; i != 8; ++i) {
        scheduler.post([&] {
            block([&] { go.wait(); });
            for (int k = 0; k != 5; ++k) scheduler.post([&] { ++ran; });
        });
    }
    scheduler.post([&] { go.count_down(); });
    scheduler.drain();
    EXPECT_EQ(ran, 40);
}

// Workers that have lost their slot get a slot again later, and lose it again.
TEST_P(Handover, TheNextStepsLoseTheirSlotsToo) {
    scheduler scheduler{options()};
    std::atomic<int> ran{0};
    for (int round = 0; round != 12; ++round) {
        std::latch go{1};
        for (unsigned i = 0; i != 2 * GetParam().workers; ++i) {
            scheduler.post([&] {
                block([&] { go.wait(); });
                scheduler.post([&] { ++ran; });
            });
        }
        scheduler.post([&] { go.count_down(); });
        scheduler.drain();
        if (round % 4 != 3) continue;
        EXPECT_TRUE(scheduler.stop(10s).clean());
        scheduler.start();
    }
    EXPECT_EQ(ran, 12 * 2 * static_cast<int>(GetParam().workers));
}

// A drain returns after the blocked step has ended, and not before, though no other thread is
// awake.
TEST_P(Handover, ADrainWaitsForTheStep) {
    scheduler scheduler{options()};
    for (int round = 0; round != 10; ++round) {
        std::latch go{1};
        std::latch others{1};
        std::atomic<bool> ended{false};
        scheduler.post([&] {
            block([&] { go.wait(); });
            ended = true;
        });
        scheduler.post([&] { others.count_down(); });
        others.wait();
        std::jthread later{[&] {
            std::this_thread::sleep_for(2ms);
            go.count_down();
        }};
        scheduler.drain();
        EXPECT_TRUE(ended);
    }
}

TEST_P(Handover, AStopReportsTheStepAndAStartGoesOn) {
    std::optional<scheduler> scheduler{std::in_place, options()};
    std::latch go{1};
    std::latch others{1};
    std::atomic<int> ended{0};
    scheduler->post([&] {
        block([&] { go.wait(); });
        ++ended;
    });
    scheduler->post([&] { others.count_down(); });
    others.wait();
    const stop_report report = scheduler->stop(1ms);
    EXPECT_EQ(report.running, 1U);
    EXPECT_EQ(report.to_string(), "1 running (posted callable)");
    std::jthread later{[&] {
        std::this_thread::sleep_for(2ms);
        go.count_down();
    }};
    scheduler->start();
    EXPECT_EQ(ended, 1);
    scheduler->post([&] { ++ended; });
    scheduler->drain();
    EXPECT_EQ(ended, 2);
}

TEST_P(Handover, ADestructorWaitsForTheStep) {
    std::latch go{1};
    std::atomic<bool> ended{false};
    std::jthread later;
    {
        std::latch others{1};
        scheduler_options with = options();
        with.stop_limit = 1ms;
        scheduler scheduler{std::move(with)};
        scheduler.post([&] {
            block([&] { go.wait(); });
            ended = true;
        });
        scheduler.post([&] { others.count_down(); });
        others.wait();
        later = std::jthread{[&] {
            std::this_thread::sleep_for(20ms);
            go.count_down();
        }};
    }
    EXPECT_TRUE(ended);
}

// The strand waits for its blocked step, and other groups do not wait.
TEST_P(Handover, AStepKeepsItsPlaceInItsGroup) {
    scheduler scheduler{options()};
    group strand{scheduler, {.max_concurrency = 1}};
    std::latch go{1};
    std::atomic<int> inside{0};
    std::atomic<int> most{0};
    std::atomic<int> ran{0};
    for (int i = 0; i != 4; ++i) {
        strand.post([&] {
            most = std::max(most.load(), ++inside);
            block([&] { go.wait(); });
            --inside;
            ++ran;
        });
    }
    scheduler.post([&] { go.count_down(); });
    scheduler.drain();
    EXPECT_EQ(most, 1);
    EXPECT_EQ(ran, 4);
    EXPECT_EQ(strand.stats().steps, 4U);
    EXPECT_EQ(strand.stats().tasks, 0U);
}

// More steps than workers may block, but no more steps than workers run.
TEST_P(Handover, NeverDoMoreRunThanThereAreWorkers) {
    scheduler scheduler{options()};
    std::latch go{1};
    std::latch all_block{8};
    for (int i = 0; i != 8; ++i) {
        scheduler.post([&] {
            block([&] {
                all_block.count_down();
                go.wait();
            });
        });
    }
    all_block.wait();
    std::atomic<int> inside{0};
    std::atomic<int> most{0};
    std::latch ran{200};
    for (int i = 0; i != 200; ++i) {
        scheduler.post([&] {
            const int now = ++inside;
            int seen = most;
            while (seen < now && !most.compare_exchange_weak(seen, now)) {
            }
            const auto end = clock::now() + 20us;
            while (clock::now() < end) {
            }
            --inside;
            ran.count_down();
        });
    }
    ran.wait();
    EXPECT_LE(most, static_cast<int>(GetParam().workers));
    go.count_down();
    scheduler.drain();
}

TEST_P(Handover, CoroutinesGoOn) {
    scheduler scheduler{options()};
    std::latch go{1};
    std::atomic<int> ran{0};
    const auto leaf = [&]() -> task<int> {
        co_await yield();
        co_return 1;
    };
    const auto waits = [&]() -> task<> {
        block([&] { go.wait(); });
        auto [a, b] = co_await fork_join(leaf(), leaf());  // without a slot
        ran += a + b;
        co_await sleep_for(100us);
        block([&] { std::this_thread::sleep_for(3ms); });
        co_await checkpoint();
        ran += co_await leaf();
    };
    for (int i = 0; i != 6; ++i) spawn(scheduler, waits()).detach();
    scheduler.post([&] { go.count_down(); });
    scheduler.drain();
    EXPECT_EQ(ran, 18);
}

std::string name_of(const testing::TestParamInfo<kind>& info) {
    return std::string{info.param.what == says::so ? "Declared" : "Undeclared"} +
           std::to_string(info.param.workers) +
           (info.param.policy == policy::fair ? "Fair" : "Stealing");
}

INSTANTIATE_TEST_SUITE_P(
    Each, Handover,
    testing::Values(kind{says::so, 1, policy::fair}, kind{says::so, 2, policy::fair},
                    kind{says::so, 3, policy::stealing}, kind{says::nothing, 1, policy::fair},
                    kind{says::nothing, 2, policy::fair}, kind{says::nothing, 1, policy::stealing},
                    kind{says::nothing, 3, policy::stealing}),
    name_of);

// Two hundred blocked steps of two workers meet: each has its own thread.
TEST(HandoverInPlace, AsManyBlockAsThereAreSteps) {
    test::watchdog guard;
    scheduler scheduler{{.workers = 2}};
    std::barrier all{200};
    for (int i = 0; i != 200; ++i) {
        scheduler.post([&] { block_in_place([&] { all.arrive_and_wait(); }); });
    }
    scheduler.drain();
}

TEST(HandoverInPlace, GivesWhatTheCallGives) {
    test::watchdog guard;
    scheduler scheduler{{.workers = 1}};
    int number = 7;
    scheduler.post([&] {
        EXPECT_EQ(block_in_place([] { return 5; }), 5);
        EXPECT_EQ(&block_in_place([&]() -> int& { return number; }), &number);
        EXPECT_EQ(*block_in_place([] { return std::make_unique<int>(3); }), 3);
        EXPECT_EQ(scheduler::current(), &scheduler);
    });
    scheduler.drain();
    EXPECT_EQ(block_in_place([] { return 6; }), 6);  // in no step
}

TEST(HandoverInPlace, WithoutThreadsOfItsOwnItJustCalls) {
    scheduler scheduler{{.run_on_caller = true}};
    bool ran = false;
    scheduler.post([&] {
        EXPECT_FALSE(sched::access::about_to_block());
        ran = true;
    });
    scheduler.drain();
    EXPECT_TRUE(ran);
}

// A step without a slot has no slot to give up.
TEST(HandoverInPlace, GivesUpItsSlotOnce) {
    test::watchdog guard;
    scheduler scheduler{{.workers = 1}};
    scheduler.post([] {
        EXPECT_TRUE(sched::access::about_to_block());
        EXPECT_TRUE(scheduler::should_yield());
        EXPECT_FALSE(sched::access::about_to_block());
    });
    scheduler.drain();
}

// A step that has forked keeps its slot: other workers may be taking its forks. Here there is no
// other worker, so the parent and its children are one step.
TEST(HandoverInPlace, AStepThatHasForkedKeepsItsSlot) {
    test::watchdog guard;
    scheduler scheduler{{.workers = 1}};
    const auto child = []() -> task<> {
        EXPECT_FALSE(sched::access::about_to_block());
        co_return;
    };
    const auto forks = [&]() -> task<> {
        co_await fork_join(child(), child());
        EXPECT_FALSE(sched::access::about_to_block());
    };
    block_on(scheduler, forks());
}

// The code of a driver is no step.
TEST(HandoverInPlace, BetweenTwoStepsThereIsNothingToGiveUp) {
    class asks final : public driver {
    public:
        explicit asks(std::atomic<bool>& given_up) : given_up_{given_up} {}
        [[nodiscard]] bool set_deadline(time_point deadline) noexcept override {
            ask();
            return real_.set_deadline(deadline);
        }
        void wait() noexcept override {
            ask();
            real_.wait();
        }
        void poll(event_sink&) noexcept override { ask(); }
        void wake() noexcept override { real_.wake(); }  // in a step, too
        [[nodiscard]] bool has_sources() const noexcept override { return false; }

    private:
        void ask() noexcept {
            if (sched::access::about_to_block()) given_up_ = true;
        }
        std::atomic<bool>& given_up_;
        futex_driver real_;
    };
    test::watchdog guard;
    std::atomic<bool> given_up{false};
    {
        scheduler scheduler{{.workers = 1, .driver = std::make_unique<asks>(given_up)}};
        for (int i = 0; i != 10; ++i) {
            std::latch ran{1};
            test::scripted task{[&](test::scripted&) { ran.count_down(); }};
            scheduler.post_delay(task, 100us);
            ran.wait();
            scheduler.drain();
        }
    }
    EXPECT_FALSE(given_up);
}

TEST(HandoverOptions, OneWorkerKeepsItsStepsApartUnlessItIsSaid) {
    test::watchdog guard;
    scheduler scheduler{{.workers = 1}};
    std::atomic<int> inside{0};
    for (int i = 0; i != 3; ++i) {
        scheduler.post([&] {
            EXPECT_EQ(++inside, 1);
            std::this_thread::sleep_for(20ms);
            --inside;
        });
    }
    scheduler.drain();
}

TEST(HandoverOptions, RefusesWrongOnes) {
    for (const duration wrong : {duration{999us}, duration{11s}, duration{-1ms}}) {
        EXPECT_THROW(scheduler({.workers = 2, .blocked_after = wrong}), std::invalid_argument);
    }
    for (const unsigned wrong : {0U, 10'001U}) {
        EXPECT_THROW(scheduler({.workers = 2, .blocking_threads = wrong}), std::invalid_argument);
    }
}

// This program does not link fairlead::diagnostics, so these reports have no stacks. The tests of
// reports with stacks are in tests/diagnostics/enable_stacks_test.cpp.

TEST(HandoverReport, NamesWhatBlocksOnce) {
    test::watchdog guard;
    std::atomic<int> reports{0};
    std::atomic<int> blocked{0};
    std::latch reported{1};
    scheduler scheduler{
        {.workers = 1, .blocked_after = 1ms, .on_blocked = [&](const blocked_step& step) noexcept {
             EXPECT_EQ(std::string_view{step.name}, "posted callable");
             EXPECT_EQ(step.thread_id, blocked);
             EXPECT_TRUE(step.stack.empty());
             if (++reports == 1) reported.count_down();
         }}};
    scheduler.post([&] {
        blocked = os::thread_id();
        reported.wait();
    });
    scheduler.drain();
    std::latch go{1};
    scheduler.post([&] { go.wait(); });
    scheduler.post([&] { go.count_down(); });
    scheduler.drain();
    EXPECT_EQ(reports, 1);
}

// With one worker, and without a wish that its step loses the slot.
TEST(HandoverReport, ComesFromTheOnlyWorkerToo) {
    test::watchdog guard;
    std::latch reported{1};
    bool kept = false;
    scheduler scheduler{{.workers = 1, .on_blocked = [&](const blocked_step& step) noexcept {
                             EXPECT_EQ(std::string_view{step.name}, "posted callable");
                             EXPECT_TRUE(step.stack.empty());
                             kept = step.keeps_slot;
                             reported.count_down();
                         }}};
    int order = 0;
    scheduler.post([&] {
        reported.wait();
        EXPECT_EQ(++order, 1);
    });
    scheduler.post([&] { EXPECT_EQ(++order, 2); });  // not beside it
    scheduler.drain();
    EXPECT_TRUE(kept);
}

TEST(HandoverReport, IsPrinted) {
    test::watchdog guard;
    EXPECT_EQ(test::printed_report(),
              "fairlead: a step of the task \"posted callable\" blocks, and its worker goes on on "
              "another thread: see docs/manual/blocking.md\n"
              "    to see its calls: fairlead::diagnostics::enable_stacks()\n");
}

// All of them stand behind a post from outside, those before the loss and that after it.
TEST(Handover, PostsOfAStepKeepTheirOrderWhenItLosesItsSlot) {
    test::watchdog guard;
    constexpr std::size_t before_loss = 5'000;
    scheduler scheduler{{.workers = 2, .blocked_after = 0ms}};
    for (int round = 0; round != 10; ++round) {
        std::latch in_steps{3};
        std::latch posted_outside{1};
        std::latch all_posted{1};
        std::atomic<std::size_t> starts{0};
        std::size_t outside_started = before_loss;
        std::size_t last_started = 0;
        scheduler.post([&] {
            in_steps.arrive_and_wait();
            posted_outside.wait();
            for (std::size_t i = 0; i != before_loss; ++i) scheduler.post([&] { ++starts; });
            block_in_place([] {});
            scheduler.post([&] { last_started = starts; });
            all_posted.count_down();
        });
        scheduler.post([&] {
            in_steps.arrive_and_wait();
            all_posted.wait();
        });
        in_steps.arrive_and_wait();
        scheduler.post([&] { outside_started = starts; });
        posted_outside.count_down();
        scheduler.drain();
        EXPECT_LE(outside_started, scheduler.order_bound());
        EXPECT_GE(last_started + scheduler.order_bound(), before_loss);
    }
}

}  // namespace
}  // namespace fairlead::handover_tests
