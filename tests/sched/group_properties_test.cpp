// Properties of groups that hold for all posts: the order of posts, the admission when other groups
// send too much, and the charges. In simulated time, or on threads that take turns.
#include <fairlead/sched/block_in_place.hpp>
#include <fairlead/sched/group.hpp>
#include <fairlead/sched/scheduler.hpp>

#include "support/seeds.hpp"
#include "support/tasks.hpp"
#include "support/watchdog.hpp"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <numeric>
#include <random>
#include <semaphore>
#include <vector>

namespace fairlead::group_properties_tests {
namespace {

using namespace std::chrono_literals;
using test::below;
using test::for_each_seed;
using test::simulation;

// --- order, of two posters -----------------------------------------------------------------------

// A step posts to a group, and a thread posts from outside between these posts. Each waits for the
// other, so all posts stand in one line. The other worker is in a step meanwhile, so no round takes
// posts before the last post.
class one_line {
public:
    explicit one_line(std::mt19937_64& random) : random_{random} {
        home_.post([&] {
            held_.release();
            go_on_.acquire();
        });
        held_.acquire();
    }

    std::vector<int> run() {
        const int posts = 2 + below(random_, 12);
        for (int i = 0; i != posts; ++i) by_step_.push_back(i == 0 || below(random_, 3) != 0);
        home_.post([&] {
            for (int i = 0; i != posts; ++i) {
                if (by_step_[static_cast<std::size_t>(i)]) {
                    post(i);
                } else {
                    ask_.release();
                    answer_.acquire();
                }
            }
        });
        for (int i = 0; i != posts; ++i) {
            if (by_step_[static_cast<std::size_t>(i)]) continue;
            ask_.acquire();
            post(i);
            answer_.release();
        }
        for (int i = 0; i != posts; ++i) ran_.acquire();
        go_on_.release();
        home_.drain();
        return log_;
    }

private:
    void post(int number) {
        own_.post([this, number] {
            log_.push_back(number);
            ran_.release();
        });
    }

    std::mt19937_64& random_;
    std::vector<bool> by_step_;
    std::vector<int> log_;  // the one worker that is free
    std::binary_semaphore held_{0};
    std::binary_semaphore go_on_{0};
    std::binary_semaphore ask_{0};
    std::binary_semaphore answer_{0};
    std::counting_semaphore<> ran_{0};
    scheduler home_{{.workers = 2, .blocked_after = 0s}};
    group own_{home_};
};

TEST(OrderInAGroup, PostsOfAStepRunInTheirOrder) {
    const test::watchdog guard;
    for_each_seed(150, [](std::mt19937_64& random) {
        const std::vector<int> log = one_line{random}.run();
        std::vector<int> wanted(log.size());
        std::iota(wanted.begin(), wanted.end(), 0);
        EXPECT_EQ(log, wanted);
    });
}

// --- admission -----------------------------------------------------------------------------------

constexpr std::uint64_t rounds_max = 6;  // until a lane is served

// Far more tasks than a round admits stand in some of the three lanes: the lane that goes first,
// the groups, and the default group. One task in each of the other lanes, posted behind them, runs
// within a few rounds.
TEST(Admission, EveryLaneHasItsRoundUnderOverload) {
    for_each_seed(20, [](std::mt19937_64& random) {
        simulation sim;
        group groups{sim.scheduler};
        group control{sim.scheduler, {.priority = priority::highest}};
        const std::array<post_target*, 3> lanes{&sim.scheduler, &groups, &control};
        const std::size_t busy =
            below(random, std::size_t{2});  // no lane stands behind control's tasks
        const std::size_t also_busy = below(random, std::size_t{2});
        const auto rounds = [&] { return sim.scheduler.stats().front().rounds; };
        std::deque<callback_task> line;
        std::vector<basic_task*> batch;
        for (const std::size_t lane : {busy, also_busy}) {
            batch.clear();
            const int count = 8'000 + below(random, 8'000);
            for (int i = 0; i != count; ++i) {
                batch.push_back(&line.emplace_back([](callback_task&) {}));
            }
            lanes[lane]->post(batch);
        }
        const std::uint64_t before = rounds();
        std::array<std::uint64_t, 3> waited{};
        for (std::size_t lane = 0; lane != lanes.size(); ++lane) {
            if (lane == busy || lane == also_busy) continue;
            lanes[lane]->post([&, lane] { waited[lane] = rounds() - before; });
        }
        sim.scheduler.run_until_idle();
        for (std::size_t lane = 0; lane != lanes.size(); ++lane) {
            if (lane == busy || lane == also_busy) continue;
            EXPECT_GT(waited[lane], 0U) << lane << " has not run";
            EXPECT_LE(waited[lane], rounds_max) << lane << " behind " << busy << ", " << also_busy;
        }
    });
}

// --- charges -------------------------------------------------------------------------------------

// Steps of several groups run one after the other on one slot. Some give the slot up at their end.
// Each group is charged at least the time of its steps.
TEST(Charges, AreTheTimeOfAllStepsAlsoOfThoseThatLoseTheirSlot) {
    const test::watchdog guard;
    for_each_seed(20, [](std::mt19937_64& random) {
        scheduler home{{.workers = 1}};
        std::deque<group> groups;
        std::array<duration, 3> wanted{};
        for (unsigned i = 0; i != wanted.size(); ++i) {
            groups.emplace_back(home, group_options{.max_concurrency = below(random, 3U)});
        }
        std::uint64_t steps = 0;
        for (; steps != 30; ++steps) {
            const std::size_t of = below(random, wanted.size());
            // Several short ones have one turn, also if one of them loses the slot.
            const duration length = 1us * below(random, below(random, 4) == 0 ? 300 : 10);
            const bool blocks = below(random, 3) == 0;
            wanted[of] += length;
            groups[of].post([length, blocks] {
                const time_point until = clock::now() + length;
                while (clock::now() < until) {
                }
                if (blocks) block_in_place([] {});
            });
        }
        home.drain();
        std::uint64_t counted = 0;
        for (std::size_t i = 0; i != wanted.size(); ++i) {
            EXPECT_GE(groups[i].stats().used, wanted[i]);
            counted += groups[i].stats().steps;
        }
        EXPECT_EQ(counted, steps);
    });
}

}  // namespace
}  // namespace fairlead::group_properties_tests
