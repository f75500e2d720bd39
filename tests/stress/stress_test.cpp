// Everything at once, from many threads, and every task accounted for.
//
// FAIRLEAD_STRESS_SECONDS says how long each test goes on, 5 if it is not set. Seeds are printed.
#include "support/tasks.hpp"
#include "support/threads.hpp"
#include "support/watchdog.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <random>
#include <thread>
#include <vector>

namespace fairlead::stress_tests {
namespace {

using namespace std::chrono_literals;
using test::scripted;

std::chrono::seconds stress_time() {
    const char* const given = std::getenv("FAIRLEAD_STRESS_SECONDS");
    const long seconds = given != nullptr ? std::strtol(given, nullptr, 10) : 0;
    return std::chrono::seconds{seconds > 0 ? seconds : 5};
}

unsigned print_seed() {
    const unsigned seed = std::random_device{}();
    std::printf("seed %u\n", seed);
    return seed;
}

// A task that frees itself when it receives its signal, and until then waits, sleeps and yields.
struct ledger {
    std::atomic<long> made{0};
    std::atomic<long> freed{0};
    std::atomic<long> early{0};
};

class wanderer final : public callback_task {
public:
    wanderer(scheduler& where, ledger& book, unsigned seed)
        : callback_task{[](callback_task& self) { static_cast<wanderer&>(self).step(); },
                        "wanderer"},
          scheduler_{where},
          book_{book},
          random_{seed} {
        ++book_.made;
    }
    ~wanderer() { ++book_.freed; }

    // Any thread, until `signal`: what it writes must be seen by a later step.
    void poke() noexcept {
        pokes_.fetch_add(1, std::memory_order_relaxed);
        wakeup();
    }

private:
    void step() {
        if (receive_signal()) {
            delete this;
            return;
        }
        if (expired() && scheduler_.now() < due_) ++book_.early;
        due_ = immediately;
        switch (random_() % 4) {
            case 0:
                scheduler_.post(*this);
                break;
            case 1:
                scheduler_.post_wait(*this);
                break;
            default:
                due_ = scheduler_.now() + std::chrono::microseconds{random_() % 300};
                scheduler_.post_deadline(*this, due_);
                break;
        }
    }

    scheduler& scheduler_;
    ledger& book_;
    std::mt19937 random_;
    time_point due_ = immediately;
    std::atomic<int> pokes_{0};
};

TEST(Stress, EveryTaskIsAccountedFor) {
    const unsigned seed = print_seed();
    test::watchdog guard{stress_time() * 4 + 60s};
    const time_point end = clock::now() + stress_time();
    for (unsigned run = 0; clock::now() < end; ++run) {
        ledger book;
        scheduler scheduler{{.workers = 1 + run % 4}};
        test::run_together(3, [&](std::size_t self) {
            std::mt19937 random{seed + static_cast<unsigned>(self) + run};
            std::vector<wanderer*> own;
            for (int i = 0; i != 2'000; ++i) {
                auto* const task = new wanderer{scheduler, book, static_cast<unsigned>(random())};
                own.push_back(task);
                random() % 2 == 0 ? scheduler.post(*task) : scheduler.post_delay(*task, 100us);
                if (random() % 4 == 0) scheduler.post([] {});
                own[random() % own.size()]->poke();
                if (own.size() > 50) {
                    const auto victim = random() % own.size();
                    own[victim]->signal();  // the last touch
                    own[victim] = own.back();
                    own.pop_back();
                }
            }
            for (wanderer* each : own) each->signal();
        });
        scheduler.drain();
        ASSERT_EQ(book.made, 3 * 2'000) << "run " << run;
        ASSERT_EQ(book.freed, book.made) << "run " << run;
        ASSERT_EQ(book.early, 0) << "run " << run;
    }
}

// Wakers write and wake; the task reads and waits. Nothing written is left unread.
TEST(Stress, NoWakeUpIsLost) {
    const unsigned seed = print_seed();
    test::watchdog guard{stress_time() * 4 + 60s};
    const time_point end = clock::now() + stress_time();
    for (unsigned run = 0; clock::now() < end; ++run) {
        constexpr int per_waker = 2'000;
        constexpr std::size_t wakers = 3;
        scheduler scheduler{{.workers = 1 + (seed + run) % 4}};
        std::atomic<int> work{0};
        int done = 0;
        scripted task{[&](scripted& self) {
            done += work.exchange(0, std::memory_order_relaxed);
            if (done == per_waker * static_cast<int>(wakers)) return;
            // With and without a deadline, which then races with the wake-ups.
            self.runs % 2 == 0 ? scheduler.post_wait(self) : scheduler.post_delay(self, 20us);
        }};
        scheduler.post(task);
        test::run_together(wakers, [&](std::size_t) {
            for (int i = 0; i != per_waker; ++i) {
                work.fetch_add(1, std::memory_order_relaxed);
                task.wakeup();
            }
        });
        scheduler.drain();  // hangs, and the watchdog barks, if the last one was lost
        ASSERT_EQ(done, per_waker * static_cast<int>(wakers));
    }
}

// Schedulers are destroyed while tasks run, wait, sleep and are queued, and other threads post to
// them up to the last moment. Each task has run, or is given back to its owner.
TEST(Stress, ConstructAndDestroyUnderLoad) {
    const unsigned seed = print_seed();
    test::watchdog guard{stress_time() * 4 + 60s};
    const time_point end = clock::now() + stress_time();
    std::mt19937 random{seed};
    int run = 0;
    for (; clock::now() < end; ++run) {
        std::deque<scripted> tasks;
        auto held = std::make_shared<int>();
        {
            scheduler scheduler{{.workers = static_cast<unsigned>(1 + random() % 4),
                                 .stop_limit = std::chrono::microseconds{random() % 500}}};
            for (int i = 0; i != 100; ++i) {
                tasks.emplace_back([&scheduler, kind = random() % 5](scripted& self) {
                    if (kind == 0) scheduler.post(self);
                    if (kind == 1) scheduler.post_wait(self);
                    if (kind == 2) scheduler.post_delay(self, 50us);
                    if (kind == 3 && !self.stop_requested()) scheduler.post_delay(self, 1h);
                });
            }
            std::jthread poster{[&] {
                for (auto& each : tasks) scheduler.post(each);
            }};
            std::jthread caller{[&] {
                for (int i = 0; i != 100; ++i) scheduler.post([held] {});
            }};
        }
        ASSERT_EQ(held.use_count(), 1) << "run " << run;
        for (const auto& each : tasks) ASSERT_EQ(each.owner(), nullptr) << "run " << run;
    }
    std::printf("%d lives\n", run);
}

TEST(Stress, StopAndStartUnderLoad) {
    const unsigned seed = print_seed();
    test::watchdog guard{stress_time() * 4 + 60s};
    const time_point end = clock::now() + stress_time();
    std::mt19937 random{seed};
    scheduler scheduler{{.workers = 3}};
    while (clock::now() < end) {
        std::atomic<int> runs{0};
        constexpr int count = 3'000;
        std::jthread poster{[&] {
            for (int i = 0; i != count; ++i) scheduler.post([&runs] { ++runs; });
        }};
        for (int i = 0; i != 5; ++i) {
            static_cast<void>(scheduler.stop(std::chrono::microseconds{random() % 200}));
            scheduler.start();
        }
        poster.join();
        scheduler.drain();
        ASSERT_EQ(runs, count);
    }
}

// Tasks post tasks that post tasks: the count is that of a tree, drained from several threads.
TEST(Stress, TreesOfTasks) {
    test::watchdog guard{stress_time() * 4 + 60s};
    const time_point end = clock::now() + stress_time();
    struct tree {
        scheduler& where;
        std::atomic<long> nodes{0};
        void grow(int depth) {
            ++nodes;
            if (depth == 0) return;
            for (int i = 0; i != 3; ++i) where.post([this, depth] { grow(depth - 1); });
        }
    };
    for (unsigned run = 0; clock::now() < end; ++run) {
        scheduler scheduler{{.workers = 1 + run % 4}};
        tree one{scheduler};
        scheduler.post([&one] { one.grow(8); });
        test::run_together(3, [&](std::size_t) { scheduler.drain(); });
        ASSERT_EQ(one.nodes, 9'841);
    }
}

}  // namespace
}  // namespace fairlead::stress_tests
