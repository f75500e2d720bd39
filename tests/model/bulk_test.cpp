// Loops whose chunks several workers claim. The end of the helpers races with the task that waits
// for them, a stop, a failure, and the end of the scheduler. In each scenario one more thread may
// stop the scheduler.
#include "model/interruption.hpp"

#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/for_each.hpp>
#include <fairlead/coro/fork_join.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/coro/task.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <optional>

namespace fairlead::bulk_tests {
namespace {

using namespace std::chrono_literals;
using model::interruption;
using model::require;
using model::stops;

// Each chunk is a slice: after a chunk the claiming task goes to the end of the queue.
constexpr bulk_options in_turns{.slice = duration{0}};

// Returns whether each iteration ran once, or a stop came before. It reads the values that the
// bodies write, so the end of the loop must order the two.
template <std::size_t Count>
task<bool> writes_all(bulk_options wanted) {
    std::array<model::plain<int>, Count> all{};
    bool was_stopped = false;
    try {
        co_await for_each(
            all, [](model::plain<int>& each) { each = each + 1; }, wanted);
    } catch (const stopped_error&) {
        was_stopped = true;
    }
    std::size_t ran = 0;
    for (const model::plain<int>& each : all) {
        require(each <= 1, "once");
        if (each == 1) ++ran;
    }
    require(was_stopped == (ran != Count), "all, unless it is stopped");
    co_return !was_stopped;
}

TEST(ModelBulk, TheParentSeesWhatTheBodiesHaveWritten) {
    for (const bulk_options wanted : {bulk_options{}, in_turns}) {
        model::expect_passes_though_stopped([=](stops how) {
            scheduler scheduler{{.workers = 2}};
            const interruption stop{scheduler, how};
            const bool all = model::result_of(spawn(scheduler, writes_all<3>(wanted)));
            require(all || how != stops::none, "nobody has asked it to stop");
        });
    }
    model::expect_passes_by_priorities([] {
        scheduler scheduler{{.workers = 1}};
        require(model::result_of(spawn(scheduler, writes_all<3>(in_turns))),
                "nobody has asked it to stop");
    });
}

// The first helper makes the second, or the parent does after a worker has taken the first. Each
// has its own memory.
TEST(ModelBulk, HelpersFindHelpers) {
    for (const bulk_options wanted : {bulk_options{}, in_turns}) {
        model::expect_passes_by_priorities(
            [=] {
                scheduler scheduler{{.workers = 3}};
                require(model::result_of(spawn(scheduler, writes_all<5>(wanted))),
                        "nobody has asked it to stop");
            },
            250);
    }
}

TEST(ModelBulk, AStopRacesWithTheEnd) {
    for (const bulk_options wanted : {bulk_options{}, in_turns}) {
        model::expect_passes_though_stopped([=](stops how) {
            scheduler scheduler{{.workers = 2}};
            const interruption stop{scheduler, how};
            auto handle = spawn(scheduler, writes_all<3>(wanted));
            handle.request_stop();
            static_cast<void>(model::result_of(handle));
        });
    }
}

TEST(ModelBulk, TheFailureIsThatOfAPlainLoop) {
    static constexpr auto parent = []() -> task<> {
        model::plain<int> first{0};
        try {
            co_await for_each_index(
                2,
                [&first](std::size_t index) {
                    if (index == 0) first = 1;
                    throw index;
                },
                in_turns);
            require(false, "it fails");
        } catch (const std::size_t index) {
            require(index == 0 && first == 1, "the first, if both have failed");
        } catch (const stopped_error&) {
            require(first == 0, "a stop came first");
        }
    };
    model::expect_ends_though_stopped(parent);
}

// Loops of two tasks at once, and loops of the children of a task.
TEST(ModelBulk, SeveralLoopsAtOnce) {
    static constexpr auto forks = [](bulk_options wanted) -> task<bool> {
        const auto [one, two] = co_await fork_join(writes_all<2>(wanted), writes_all<2>(wanted));
        co_return one&& two;
    };
    for (const bulk_options wanted : {bulk_options{}, in_turns}) {
        model::expect_passes_though_stopped([=](stops how) {
            scheduler scheduler{{.workers = 2}};
            const interruption stop{scheduler, how};
            auto first = spawn(scheduler, forks(wanted));
            auto second = spawn(scheduler, writes_all<2>(wanted));
            const bool all = model::result_of(first);
            require((model::result_of(second) && all) || how != stops::none,
                    "nobody has asked them to stop");
        });
    }
}

// The scheduler is destroyed while the helpers of a loop are posted, offered, at work, or have just
// ended.
TEST(ModelBulk, ALoopGoesWithItsScheduler) {
    struct held {
        explicit held(model::plain<int>& count) : alive{count} { alive = alive + 1; }
        held(const held&) = delete;
        held& operator=(const held&) = delete;
        ~held() { alive = alive - 1; }
        model::plain<int>& alive;
    };
    static constexpr auto parent = [](model::plain<int>& alive, bulk_options wanted) -> task<> {
        const held here{alive};
        static_cast<void>(co_await writes_all<3>(wanted));
    };
    for (const unsigned workers : {1U, 2U}) {
        for (const bulk_options wanted : {bulk_options{}, in_turns}) {
            model::expect_passes_by_priorities([=] {
                model::plain<int> alive{0};
                {
                    scheduler home{{.workers = workers, .stop_limit = duration{0}}};
                    spawn(home, parent(alive, wanted)).detach();
                }
                require(alive == 0, "the frames are gone");
            });
        }
    }
}

// A stop of the parent, while its scheduler ends.
TEST(ModelBulk, AStopOfALoopThatGoesWithItsScheduler) {
    model::expect_passes_by_priorities([] {
        std::optional<join_handle<bool>> handle;
        std::optional<model::thread> asks;
        {
            scheduler home{{.workers = 2, .stop_limit = duration{0}}};
            handle = spawn(home, writes_all<3>(in_turns));
            asks.emplace([&] { handle->request_stop(); });
        }
        asks.reset();
    });
}

TEST(ModelBulk, DrainWaitsForHelpers) {
    static constexpr auto parent = [](sync::atomic<int>& runs) -> task<> {
        co_await for_each_index(
            3, [&runs](std::size_t) { runs.fetch_add(1, sync::relaxed); }, in_turns);
    };
    model::expect_passes_by_priorities([] {
        scheduler home{{.workers = 2}};
        sync::atomic<int> runs{0};
        spawn(home, parent(runs)).detach();
        home.drain();
        require(runs.load(sync::relaxed) == 3, "all have ended");
    });
}

}  // namespace
}  // namespace fairlead::bulk_tests
