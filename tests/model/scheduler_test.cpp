// The whole scheduler: threads, rounds, sleeps, stops. It has far too many executions to see all,
// so the search goes by priorities.
//
// Time passes only when no thread can go on otherwise. A later time-out would hide a lost wake-up:
// a watcher has one after a millisecond, a waiting drain after a year. So each scenario names the
// time by which it must be over.
//
// In each scenario one more thread may stop the scheduler, and a start goes on with the remaining
// tasks: see interruption.hpp.
#include "model/interruption.hpp"
#include "model/tasks.hpp"

#include <fairlead/detail/sync/signal.hpp>
#include <fairlead/sched/callback_task.hpp>
#include <fairlead/sched/scheduler.hpp>

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <optional>
#include <utility>

namespace fairlead::scheduler_tests {
namespace {

using namespace std::chrono_literals;
using model::counter;
using model::interruption;
using model::plain;
using model::policies;
using model::require;
using model::require_before;
using model::require_no_time_out;
using model::stops;
using model::task_of;
using model::thread;

// --- posts ---------------------------------------------------------------------------------------

TEST(ModelScheduler, RunsWhatIsPosted) {
    for (const unsigned workers : {1U, 2U, 3U}) {
        model::expect_passes_though_stopped([=](stops how) {
            scheduler scheduler{{.workers = workers}};
            counter first;
            counter second;
            {
                const interruption stop{scheduler, how};
                thread poster{[&] { scheduler.post(first.task); }};
                scheduler.post(second.task);
            }
            scheduler.drain();
            require_before(1s);
            require(first.steps == 1 && second.steps == 1, "each ran once");
        });
    }
}

// A step that is long for the scheduler, but shorter than the time-out of a watcher.
constexpr duration long_step = 30us;
void take_long() { model::explorer::running()->take_time(long_step / 1ns); }

// After long steps a worker does not run its own post while another worker keeps an older one. The
// role may be busy then. No task is left behind: all run, and only the time of the steps passes.
TEST(ModelScheduler, LongStepsNeedNoTimeOut) {
    constexpr int hops = 3;
    for (const unsigned workers : {2U, 3U}) {
        for (const bool posts_early : {false, true}) {
            model::expect_passes_though_stopped([=](stops how) {
                scheduler scheduler{{.workers = workers}};
                std::array<sync::signal, 3> ended;
                std::array<int, 3> left{hops, hops, hops};
                const auto step_of = [&](std::size_t i) {
                    return [&, i](callback_task& self) {
                        if (--left[i] == 0) {
                            take_long();
                            ended[i].send();
                            return;
                        }
                        const bool early = posts_early;  // after the post the task may be gone
                        if (!early) take_long();
                        scheduler.post(self);
                        if (early) take_long();
                    };
                };
                task_of first{step_of(0)};
                task_of second{step_of(1)};
                task_of third{step_of(2)};
                {
                    const interruption stop{scheduler, how};
                    thread poster{[&] { scheduler.post(third); }};
                    scheduler.post(first);
                    scheduler.post(second);
                }
                for (sync::signal& each : ended) each.receive();
                require(clock::now() <= time_point{long_step * hops * 3}, "no time-out was needed");
            });
        }
    }
}

TEST(ModelScheduler, NoTimeOutIsNeededToRunWhatIsPosted) {
    for (const unsigned workers : {1U, 2U, 3U}) {
        model::expect_passes_though_stopped([=](stops how) {
            scheduler scheduler{{.workers = workers}};
            sync::signal chain_ended;
            sync::signal other_ran;
            int left = 3;
            task_of chain{[&](callback_task& self) {
                if (--left != 0) {
                    scheduler.post(self);
                } else {
                    chain_ended.send();
                }
            }};
            task_of other{[&] { other_ran.send(); }};
            {
                const interruption stop{scheduler, how};
                thread poster{[&] { scheduler.post(other); }};
                scheduler.post(chain);
            }
            chain_ended.receive();
            other_ran.receive();
            require_no_time_out();
        });
    }
}

TEST(ModelScheduler, NoTimeOutIsNeededForWhatAStepWakes) {
    for (const unsigned workers : {2U, 3U}) {
        model::expect_passes_though_stopped([=](stops how) {
            scheduler scheduler{{.workers = workers}};
            sync::signal woken_ran;
            sync::signal waker_ran;
            sync::signal other_ran;
            task_of woken{[&] { woken_ran.send(); }};
            task_of waker{[&] {
                woken.wakeup();
                waker_ran.send();
            }};
            task_of other{[&] { other_ran.send(); }};
            scheduler.post_wait(woken);
            {
                const interruption stop{scheduler, how};
                thread poster{[&] { scheduler.post(other); }};
                scheduler.post(waker);
            }
            woken_ran.receive();
            waker_ran.receive();
            other_ran.receive();
            require_no_time_out();
        });
    }
}

// The task with the signal passes it on and sleeps, without a round between. Another thread asks
// whether all tasks are done.
TEST(ModelScheduler, TwoPassASignalToAndFro) {
    constexpr int passes = 4;
    for (const unsigned workers : {1U, 2U, 3U}) {
        model::expect_passes_though_stopped([=](stops how) {
            scheduler scheduler{{.workers = workers}};
            std::array<callback_task*, 2> players{};
            plain<int> passed{0};
            const auto player = [&](std::size_t mine) {
                return [&, mine](callback_task& self) {
                    if (self.receive_signal()) {
                        passed = passed + 1;
                        const int so_far = passed;
                        if (so_far < passes) players[1 - mine]->signal();
                        if (so_far >= passes - 1) return;
                    }
                    scheduler.post_wait(self);
                };
            };
            task_of first{player(0)};
            task_of second{player(1)};
            players = {&static_cast<callback_task&>(first), &static_cast<callback_task&>(second)};
            counter other;
            scheduler.post_wait(first);
            scheduler.post_wait(second);
            {
                const interruption stop{scheduler, how};
                thread poster{[&] {
                    scheduler.post(other.task);
                    static_cast<void>(scheduler.drain_for(0ns));
                }};
                players[0]->signal();
            }
            scheduler.drain();
            require(passed == passes, "each pass was received once");
            require(other.steps == 1, "the other ran");
            require_before(1s);
        });
    }
}

// --- steps that block ----------------------------------------------------------------------------

// A step waits for a task that it has posted. A watcher must find the task. Then the step does the
// same with a second task.
void step_waits_for_what_it_posted(policy policy) {
    for (const int pairs : {1, 2}) {
        model::expect_passes_though_stopped_patiently([=](stops how) {
            scheduler scheduler{{.workers = 1U + static_cast<unsigned>(pairs), .policy = policy}};
            sync::signal inner_ran[2];
            sync::signal outer_ran[2];
            counter other;
            std::optional<task_of> inner[2];
            std::optional<task_of> outer[2];
            for (int i = 0; i != pairs; ++i) {
                inner[i].emplace([&, i] { inner_ran[i].send(); });
                outer[i].emplace([&, i] {
                    scheduler.post(*inner[i]);
                    inner_ran[i].receive();
                    outer_ran[i].send();
                });
            }
            {
                sync::signal posted;
                thread poster{[&] {
                    if (pairs == 2) scheduler.post(*outer[1]);
                    posted.send();
                    scheduler.post(other.task);
                    scheduler.drain();
                }};
                scheduler.post(*outer[0]);
                if (how != stops::none) posted.receive();
                const interruption stop{scheduler, how};
            }
            for (int i = 0; i != pairs; ++i) outer_ran[i].receive();
            require_before(20ms);
            if (how != stops::none) scheduler.drain();
            require(other.steps == 1, "the other ran");
        });
    }
}

TEST(ModelScheduler, AStepMayWaitForWhatItPosted) {
    for (const policy each : policies) step_waits_for_what_it_posted(each);
}

void step_waits_for_two_that_it_posted(policy policy) {
    model::expect_passes_though_stopped_patiently([=](stops how) {
        scheduler scheduler{{.workers = 2, .policy = policy}};
        sync::signal first_ran;
        sync::signal second_ran;
        sync::signal outer_ran;
        task_of first{[&] { first_ran.send(); }};
        task_of second{[&] { second_ran.send(); }};
        task_of outer{[&] {
            scheduler.post(first);
            scheduler.post(second);
            first_ran.receive();
            second_ran.receive();
            outer_ran.send();
        }};
        counter other;
        {
            thread poster{[&] { scheduler.post(other.task); }};
            scheduler.post(outer);
            const interruption stop{scheduler, how};
        }
        outer_ran.receive();
        require_before(10ms);
        scheduler.drain();
        require(other.steps == 1, "the other ran");
        require_before(1s);
    });
}

TEST(ModelScheduler, AStepMayWaitForTwoThatItPosted) {
    for (const policy each : policies) step_waits_for_two_that_it_posted(each);
}

// The waker's worker takes both from its outbox with the role. The other worker, which fails to get
// the role meanwhile, must be woken for the second one.
TEST(ModelScheduler, AStepMayWaitForAnotherThatWasWokenWithIt) {
    model::expect_passes_though_stopped_patiently([](stops how) {
        scheduler scheduler{{.workers = 2}};
        sync::signal first_ran;
        sync::signal second_ran;
        task_of second{[&] { second_ran.send(); }};
        task_of first{[&] {
            second_ran.receive();
            first_ran.send();
        }};
        task_of waker{[&] {
            first.wakeup();
            second.wakeup();
        }};
        scheduler.post_wait(first);
        scheduler.post_wait(second);
        {
            scheduler.post(waker);
            const interruption stop{scheduler, how};
        }
        first_ran.receive();
        require_before(20ms);
        scheduler.drain();
    });
}

TEST(ModelScheduler, AStepMayWaitForADeadline) {
    for (const unsigned workers : {2U, 3U}) {
        model::expect_passes_though_stopped_patiently([=](stops how) {
            scheduler scheduler{{.workers = workers}};
            sync::signal due_ran;
            sync::signal waiting_ran;
            task_of due{[&] { due_ran.send(); }};
            task_of waiting{[&] {
                due_ran.receive();
                waiting_ran.send();
            }};
            counter other;
            {
                thread poster{[&] {
                    scheduler.post_delay(due, 1ms);
                    scheduler.post(other.task);
                }};
                scheduler.post(waiting);
                const interruption stop{scheduler, how};
            }
            waiting_ran.receive();
            require(clock::now() >= time_point{1ms} || how != stops::none, "not early");
            require_before(20ms);
            scheduler.drain();
            require(other.steps == 1, "the other ran");
            require_before(1s);
        });
    }
}

// The same for a step that has posted itself with a deadline before. That is no second task to run,
// and the task can be woken while the step goes on.
TEST(ModelScheduler, AStepMayWaitForWhatItWokeAfterItsLastPost) {
    model::expect_passes_though_stopped_patiently([](stops how) {
        scheduler scheduler{{.workers = 2}};
        sync::signal inner_ran;
        sync::signal outer_ran;
        callback_task* outer_task = nullptr;
        bool is_first = true;
        task_of inner{[&](callback_task& self) {
            if (!self.receive_signal()) return scheduler.post_wait(self);
            outer_task->signal();
            inner_ran.send();
        }};
        task_of outer{[&](callback_task& self) {
            if (self.receive_signal()) return outer_ran.send();
            const bool first = std::exchange(is_first, false);
            scheduler.post_wait(self);
            if (!first) return;  // a stop has woken it
            static_cast<callback_task&>(inner).signal();
            inner_ran.receive();
        }};
        outer_task = &static_cast<callback_task&>(outer);
        scheduler.post_wait(inner);
        {
            scheduler.post(outer);
            const interruption stop{scheduler, how};
        }
        outer_ran.receive();
        require_before(20ms);
        scheduler.drain();
    });
}

// --- sleeps, drain, stop -------------------------------------------------------------------------

TEST(ModelScheduler, AWakeUpOrASignalEndsASleepBeforeItsDeadline) {
    for (const unsigned workers : {1U, 2U}) {
        for (const auto wake : {+[](callback_task& task) { task.wakeup(); },
                                +[](callback_task& task) { task.signal(); },
                                +[](callback_task& task) { task.request_stop(); }}) {
            model::expect_passes_though_stopped([=](stops how) {
                scheduler scheduler{{.workers = workers}};
                counter sleeper;
                scheduler.post_delay(sleeper.task, 1h);
                {
                    const interruption stop{scheduler, how};
                    callback_task& task = sleeper.task;
                    thread waker{[&] { wake(task); }};
                }
                scheduler.drain();
                require(sleeper.steps == 1, "a sleep ends once");
                require_before(1s);
            });
        }
    }
}

void drains_and_posts_at_the_same_time(policy policy) {
    for (const unsigned workers : {2U, 3U}) {
        model::expect_passes_though_stopped([=](stops how) {
            scheduler scheduler{{.workers = workers, .policy = policy}};
            counter first;
            counter second;
            task_of posts{[&] { scheduler.post(second.task); }};
            {
                const interruption stop{scheduler, how};
                // Only a stop ends a drain with something left.
                const auto drain = [&](const counter& posted) {
                    const bool drained = scheduler.drain_for(1h);
                    require(drained || how != stops::none, "drained");
                    if (drained) require(posted.steps == 1, "drain waited for it");
                };
                thread other{[&] {
                    scheduler.post(first.task);
                    drain(first);
                }};
                scheduler.post(posts);
                drain(second);  // a step posts `second`
            }
            scheduler.drain();
            require(first.steps == 1 && second.steps == 1, "each ran once");
            require_before(1s);
        });
    }
}

TEST(ModelScheduler, DrainsAndPostsAtTheSameTime) {
    for (const policy each : policies) drains_and_posts_at_the_same_time(each);
}

void stop_ends_with_posts_under_way(policy policy) {
    for (const unsigned workers : {1U, 2U, 3U}) {
        for (const duration limit : {duration{1h}, duration{0}}) {
            const auto scenario = [=] {
                counter first;
                counter second;
                counter third;
                task_of posts{[&] { scheduler::current()->post(third.task); }};
                {
                    scheduler scheduler{
                        {.workers = workers, .policy = policy, .stop_limit = limit}};
                    scheduler.post_wait(first.task);
                    {
                        thread poster{[&] { scheduler.post(second.task); }};
                        scheduler.post(posts);
                        static_cast<void>(scheduler.stop(limit));
                    }
                    require_before(1s);
                }
                if (limit != duration{0}) {
                    require(first.steps == 1 && third.steps == 1, "what was posted before ran");
                }
                for (const counter* each : {&first, &second, &third}) {
                    require(each->steps <= 1, "at most once");
                }
                require_before(1s);
            };
            model::expect_passes_by_priorities(scenario);
        }
    }
}

TEST(ModelScheduler, AStopEndsWithPostsUnderWay) {
    for (const policy each : policies) stop_ends_with_posts_under_way(each);
}

// A stop has given up on a step. The step and its worker end while the stop looks for remaining
// tasks.
TEST(ModelScheduler, AStopThatGivesUpMayMeetTheEndOfTheStep) {
    const auto scenario = [](unsigned workers) {
        scheduler scheduler{{.workers = workers}};
        sync::signal may_end;
        counter other;
        plain<int> ended{0};
        task_of stuck{[&] {
            may_end.receive();
            ended = ended + 1;
        }};
        scheduler.post(stuck);
        scheduler.post(other.task);
        {
            const thread ends{[&] { may_end.send(); }};
            static_cast<void>(scheduler.stop(duration{0}));
        }
        scheduler.start();
        scheduler.drain();
        require(ended == 1 && other.steps == 1, "each ran once");
    };
    // A time-out may come at any time, here.
    for (const unsigned workers : {1U, 2U}) {
        for (const unsigned depth : {2U, 4U, 8U}) {
            model::expect_passes(
                {.how = model::search::pct, .executions_max = 1000, .depth = depth},
                [&] { scenario(workers); });
        }
    }
}

// During a start no thread may take the workers for ended. A drain that did so would read data of
// the single worker, and hold the role without a look, after its release, for a worker that could
// not get it [RL1].
TEST(ModelScheduler, ADrainMayBeAskedDuringAStart) {
    for (const unsigned workers : {1U, 2U}) {
        model::expect_passes_by_priorities([=] {
            scheduler scheduler{{.workers = workers}};
            sync::signal ran;
            plain<bool> second_ran{false};
            task_of second{[&] {
                second_ran = true;
                ran.send();
            }};
            task_of first{[&] { scheduler.post(second); }};
            static_cast<void>(scheduler.stop(duration{0}));
            scheduler.post(first);
            {
                const thread drainer{[&] {
                    const bool drained = scheduler.drain_for(1h);
                    require(!drained || second_ran, "what it calls drained has run");
                }};
                scheduler.start();
            }
            ran.receive();
            require_no_time_out();
        });
    }
}

// Each waits for the end of the workers, and only one of them joins each.
TEST(ModelScheduler, TwoMayStopAtOnce) {
    for (const unsigned workers : {1U, 2U}) {
        model::expect_passes_by_priorities([=] {
            counter waiting;
            {
                scheduler scheduler{{.workers = workers}};
                scheduler.post_wait(waiting.task);
                {
                    thread other{[&] { require(scheduler.stop(1h).clean(), "the other"); }};
                    require(scheduler.stop(1h).clean(), "the one");
                }
                require(waiting.steps == 1, "told once");
                require_before(1s);
                scheduler.start();
                scheduler.post_wait(waiting.task);
                require(scheduler.stop(1h).clean(), "told again");
                require_before(1s);
            }
            require(waiting.steps == 2, "told once by each");
        });
    }
}

}  // namespace
}  // namespace fairlead::scheduler_tests
