// Permits in the queue of a group with a bound. Threads take a permit, wait for one, and give one
// back, with every order of steps; and the whole scheduler.
#include "model/interruption.hpp"
#include "model/tasks.hpp"

#include <fairlead/coro/permit_in.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/sched/group.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <utility>

namespace fairlead::permits_tests {
namespace {

using namespace std::chrono_literals;
using model::counter;
using model::interruption;
using model::plain;
using model::require;
using model::stops;

// Groups of a scheduler without workers.
struct parts {
    explicit parts(std::size_t bound) : one{home, {.queue_max = bound}} {}

    scheduler home{{.run_on_caller = true}};
    group one;
};

// A thread that has at most one permit, or waits for one.
class poster final : public sched::permit_waiter {
public:
    void ask(group& of) {
        if (!begin(of)) was_granted = true;
    }
    void tell() noexcept override {
        require(!was_granted, "once");
        was_granted = true;
    }

    plain<bool> was_granted{false};
};

TEST(ModelPermits, AreNeverMoreThanTheBound) {
    model::expect_passes([] {
        parts all{2};
        permit before = all.one.try_permit();
        std::array<permit, 2> taken;
        model::in_threads([&] { before = {}; }, [&] { taken[0] = all.one.try_permit(); },
                          [&] { taken[1] = all.one.try_permit(); });
        require(taken[0] || taken[1], "there was one");
        const permit other = all.one.try_permit();
        require(static_cast<bool>(other) != (taken[0] && taken[1]), "there are two");
        require(!all.one.try_permit(), "and not three");
    });
}

// [PL1] A thread gives a permit back while a task begins to wait for one.
TEST(ModelPermits, WhoWaitsIsGrantedOne) {
    model::expect_passes([] {
        parts all{1};
        permit first = all.one.try_permit();
        poster second;
        model::in_threads([&] { first = {}; }, [&] { second.ask(all.one); });
        require(second.was_granted, "it has one");
        require(!all.one.try_permit(), "there is no other");
        second.take() = {};
        require(static_cast<bool>(all.one.try_permit()), "it was given back");
    });
}

// --- as a whole ----------------------------------------------------------------------------------

// Coroutines and a thread wait for permits, and steps free them.
TEST(ModelPermits, WhoPostsFasterThanTheGroupRunsIsHeldUp) {
    model::expect_passes_though_stopped([](stops how) {
        plain<int> ran{0};
        scheduler scheduler{{.workers = 2}};
        const interruption stop{scheduler, how};
        group one{scheduler, {.max_concurrency = 1, .queue_max = 1}};
        const auto posts = [&]() -> task<int> {
            int granted = 0;
            for (int i = 0; i != 2; ++i) {
                waited<permit> mine = co_await permit_in(one);
                if (!mine) continue;  // a stop ended the wait
                ++granted;
                std::move(*mine).post([&] { ran = ran + 1; });
            }
            co_return granted;
        };
        auto first = spawn(scheduler, posts());
        auto second = spawn(scheduler, posts());
        const int granted = model::result_of(first) + model::result_of(second);
        scheduler.drain();
        if (how == stops::none) require(granted == 4 && ran == 4, "they waited, and all ran");
    });
}

TEST(ModelPermits, ADeadlineOfAThreadRacesWithAPermit) {
    for (const time_point deadline : {immediately, time_point{std::chrono::microseconds{1}}}) {
        model::expect_passes_though_stopped([deadline](stops how) {
            scheduler scheduler{{.workers = 1}};
            const interruption stop{scheduler, how};
            group one{scheduler, {.queue_max = 1}};
            permit first = one.try_permit();
            std::move(first).post([] {});
            waited<permit> second = wait_for_permit_in(one, deadline);
            require(second || second.error() == wait_error::expired || how != stops::none,
                    "nothing else ends it");
            second = permit{};
            scheduler.drain();
            require(how != stops::none || one.try_permit(), "no permit is lost");
        });
    }
}

// What is dropped is given back, once, and nothing waits for it.
TEST(ModelPermits, WhatIsDroppedIsGivenBack) {
    model::expect_passes_though_stopped([](stops how) {
        plain<int> ended{0};
        struct token {
            plain<int>* of;
            explicit token(plain<int>& counts) : of{&counts} {}
            token(token&& other) noexcept : of{std::exchange(other.of, nullptr)} {}
            ~token() {
                if (of != nullptr) *of = *of + 1;
            }
        };
        {
            scheduler scheduler{{.workers = 1}};
            const interruption stop{scheduler, how};
            group one{scheduler, {.queue_max = 1, .drop_oldest = true}};
            for (int i = 0; i != 3; ++i) require(one.try_post([mine = token{ended}] {}), "posted");
            scheduler.drain();
            if (how == stops::none) require(ended == 3, "each was run or given back");
        }
        require(ended == 3, "once");
    });
}

}  // namespace
}  // namespace fairlead::permits_tests
