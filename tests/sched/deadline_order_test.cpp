// A group that goes by deadlines: its queue against a model, and whole groups.
#include "sched/groups/group_queue.hpp"
#include "support/seeds.hpp"
#include "support/simulated_test.hpp"

#include <fairlead/context/with_deadline.hpp>
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/sched/group.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <stdexcept>
#include <utility>
#include <vector>

namespace fairlead::sched::deadline_order_tests {
namespace {

using namespace std::chrono_literals;

// A task with a deadline, or without.
class dated final : public basic_task {
public:
    explicit dated(time_point due) noexcept : basic_task{kind, "dated"}, deadline{due} {}

    const time_point deadline;

private:
    static time_point due_of(const basic_task& task) noexcept {
        return static_cast<const dated&>(task).deadline;
    }
    static constexpr task_kind kind{
        .run = [](basic_task&) noexcept {}, .abandon = [](basic_task&) noexcept {}, .due = due_of};
};

// What the queue promises, without a heap: all tasks in one list, in the order of their posts. The
// next is the task with the earliest deadline, of equal ones the first in the list; but the first
// task without a deadline is next once `ahead_max` have gone before it, or if it was next before.
class model_of_queue {
public:
    void add(dated& task) { all_.push_back(&task); }

    // In the order in which they were taken: each stands where it stood.
    void put_back(const std::vector<dated*>& taken) {
        for (auto at = taken.rbegin(); at != taken.rend(); ++at) {
            all_.push_front(*at);
            if ((*at)->deadline == never) {
                ahead_ = deadline_order::ahead_max;
            } else if (ahead_ != 0) {
                --ahead_;
            }
        }
    }

    dated* take() {
        const auto plain = std::ranges::find(all_, never, &dated::deadline);
        auto next = std::ranges::min_element(all_, {}, &dated::deadline);
        if (next == all_.end()) return nullptr;
        const bool plain_waits = plain != all_.end();
        if (plain_waits && ahead_ == deadline_order::ahead_max) next = plain;
        ahead_ = plain_waits && (*next)->deadline != never ? ahead_ + 1 : 0;
        dated* const taken = *next;
        all_.erase(next);
        return taken;
    }

    [[nodiscard]] std::size_t size() const { return all_.size(); }

private:
    std::deque<dated*> all_;
    unsigned ahead_ = 0;
};

// A run of the queue as a group has it: tasks come, turns take some, and of these the first begin
// and the rest is put back.
struct run_of_queue {
    explicit run_of_queue(std::mt19937_64& its_random) : random{its_random} {}

    std::size_t below(std::size_t bound) { return random() % bound; }

    void add() {
        const bool is_plain = below(plain_in) == 0;
        const time_point deadline{is_plain ? never : time_point{1s * below(deadlines)}};
        dated& added = tasks.emplace_back(deadline);
        queue.add(added, false);
        model.add(added);
        if (is_plain) waiting.push_back(&added);
    }

    void turn() {
        std::vector<dated*> taken;
        for (std::size_t left = below(30); left != 0 && !queue.empty(); --left) {
            auto& next = static_cast<dated&>(queue.take());
            ASSERT_EQ(&next, model.take());
            taken.push_back(&next);
        }
        const std::size_t begun = below(3) == 0 ? below(taken.size() + 1) : taken.size();
        for (std::size_t i = 0; i != begun; ++i) begin(*taken[i]);
        taken.erase(taken.begin(), taken.begin() + static_cast<std::ptrdiff_t>(begun));
        for (auto at = taken.rbegin(); at != taken.rend(); ++at) queue.put_back(**at);
        model.put_back(taken);
    }

    // No promise of the model: how often the first without a deadline was overtaken.
    void begin(dated& task) {
        if (task.deadline != never) {
            if (!waiting.empty()) ++overtaken;
            EXPECT_LE(overtaken, deadline_order::ahead_max);
            return;
        }
        ASSERT_FALSE(waiting.empty());
        EXPECT_EQ(&task, waiting.front()) << "the order of the posts";
        waiting.pop_front();
        overtaken = 0;
    }

    std::mt19937_64& random;
    std::size_t plain_in = 1 + random() % 20;  // one of so many tasks has no deadline
    std::size_t deadlines = 1 + random() % 40;
    std::deque<dated> tasks;
    group_queue queue{true};
    model_of_queue model;
    std::deque<dated*> waiting;  // those without a deadline that have not begun
    unsigned overtaken = 0;
};

TEST(DeadlineOrder, IsThatOfTheModel) {
    test::for_each_seed(300, [](std::mt19937_64& random) {
        run_of_queue run{random};
        for (int i = 0; i != 300 && !testing::Test::HasFailure(); ++i) {
            if (run.below(12) != 0) {
                run.add();
            } else {
                run.turn();
            }
            ASSERT_EQ(run.queue.size(), run.model.size());
        }
        // What is left goes out by deadline, and then in the order of the posts.
        std::vector<dated*> left;
        basic_task::chain all = run.queue.take_all();
        while (basic_task* const next = all.pop_front()) left.push_back(static_cast<dated*>(next));
        EXPECT_EQ(left.size(), run.model.size());
        EXPECT_TRUE(std::ranges::is_sorted(left, {}, &dated::deadline));
        EXPECT_TRUE(run.queue.empty());
    });
}

}  // namespace
}  // namespace fairlead::sched::deadline_order_tests

namespace fairlead::deadline_order_tests {
namespace {

using namespace std::chrono_literals;

class deadline_group_test : public test::simulated_test {
protected:
    // Writes down its number in its first step.
    task<> notes(int number) {
        order.push_back(number);
        co_return;
    }

    task<> spawns(int number) {
        spawn(*urgent, notes(number)).detach();
        co_return;
    }

    // A task of the group whose first step has a deadline in its context. Another group starts it.
    void spawn_with_deadline(duration due, int number) {
        spawn(*simulation, with_deadline(clock.now() + due, spawns(number))).detach();
    }

    void make(group_options options = {}) {
        options.name = "urgent";
        options.earliest_deadline_first = true;
        urgent.emplace(*simulation, std::move(options));
    }

    std::optional<group> urgent;
    std::vector<int> order;
};

TEST_F(deadline_group_test, the_earliest_deadline_begins_first_and_equal_ones_in_their_order) {
    make({.max_concurrency = 1});
    urgent->pause();
    const std::vector<duration> dues{3s, 1s, 2s, 1s, 5s, 2s};
    for (std::size_t i = 0; i != dues.size(); ++i) {
        spawn_with_deadline(dues[i], static_cast<int>(i));
    }
    spawn(*urgent, notes(6)).detach();
    simulation->run_until_idle();
    EXPECT_TRUE(order.empty());
    urgent->resume();
    simulation->drain();
    EXPECT_EQ(order, (std::vector{1, 3, 2, 5, 0, 4, 6}));
    urgent.reset();
}

TEST_F(deadline_group_test, a_task_without_a_deadline_is_overtaken_sixteen_times_at_most) {
    make({.max_concurrency = 1});
    urgent->pause();
    for (int i = 0; i != 2; ++i) spawn(*urgent, notes(100 + i)).detach();
    for (int i = 0; i != 40; ++i) spawn_with_deadline(1s, i);
    simulation->run_until_idle();
    urgent->resume();
    simulation->drain();
    const auto first = std::ranges::find(order, 100) - order.begin();
    const auto second = std::ranges::find(order, 101) - order.begin();
    EXPECT_EQ(first, 16);
    EXPECT_EQ(second, 33);
    EXPECT_EQ(order.size(), 42U);
    urgent.reset();
}

// Not the deadline of the request that started it.
TEST_F(deadline_group_test, a_detached_task_has_no_deadline) {
    make();
    urgent->pause();
    const auto starts = [&]() -> task<> {
        spawn(*urgent, notes(1), {.detached = true}).detach();
        spawn(*urgent, notes(2)).detach();
        co_return;
    };
    spawn(*simulation, with_deadline(clock.now() + 1s, starts())).detach();
    simulation->run_until_idle();
    urgent->resume();
    simulation->drain();
    EXPECT_EQ(order, (std::vector{2, 1}));
    urgent.reset();
}

// A sleeper that wakes stands by its deadline, too, and callables keep their order.
TEST_F(deadline_group_test, later_steps_and_callables) {
    make({.max_concurrency = 1});
    const auto sleeps = [](std::vector<int>& log, int number) -> task<> {
        co_await sleep_for(1s);
        log.push_back(number);
    };
    const auto body = [&](duration due, int number) {
        return with_deadline(clock.now() + due, sleeps(order, number));
    };
    spawn(*urgent, body(1h, 1)).detach();
    spawn(*urgent, body(2s, 2)).detach();
    simulation->run_until_idle();  // both sleep
    urgent->pause();
    clock.advance(1s);
    simulation->run_until_idle();  // both are ready
    for (int number : {3, 4}) urgent->post([this, number] { order.push_back(number); });
    simulation->run_until_idle();
    urgent->resume();
    simulation->drain();
    EXPECT_EQ(order, (std::vector{2, 1, 3, 4}));
    urgent.reset();
}

TEST_F(deadline_group_test, tasks_with_permits_have_their_turn_by_deadline_too) {
    make({.queue_max = 4});
    urgent->pause();
    for (int i = 0; i != 6; ++i) {
        static_cast<void>(urgent->try_post([this, i] { order.push_back(i); }));
    }
    for (int i = 0; i != 3; ++i) spawn_with_deadline(1h, 10 + i);
    simulation->run_until_idle();
    EXPECT_EQ(urgent->stats().queued, 7U);
    EXPECT_EQ(urgent->stats().refused, 2U);
    urgent->resume();
    simulation->drain();
    EXPECT_EQ(order, (std::vector{10, 11, 12, 0, 1, 2, 3}));
    urgent.reset();
}

// The scheduler ends while tasks are in both parts of the queue.
TEST_F(deadline_group_test, what_is_left_is_given_back_once) {
    make();
    urgent->pause();
    const auto held = std::make_shared<int>();
    for (int i = 0; i != 3; ++i) {
        spawn_with_deadline(1h, i);
        urgent->post([held] {});
    }
    simulation->run_until_idle();
    EXPECT_EQ(held.use_count(), 4);
    const stop_report left = simulation->stop(0s);
    EXPECT_EQ(left.waiting + left.queued + left.running, 6U);
    urgent.reset();
    simulation.reset();
    EXPECT_EQ(held.use_count(), 1);
}

TEST_F(deadline_group_test, drops_no_task) {
    EXPECT_THROW((group{*simulation, {.drop_oldest = true, .earliest_deadline_first = true}}),
                 std::invalid_argument);
}

}  // namespace
}  // namespace fairlead::deadline_order_tests
