// Tests of the checker: it finds and reports each kind of failure, and finds it again from its
// choices.
#include "model/bell.hpp"
#include "model/explore.hpp"

#include <fairlead/detail/sync/signal.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>

namespace fairlead::model::checker_tests {
namespace {

using cell = sync::atomic<int>;

void two_increments_in_two_steps() {
    cell count{0};
    const auto increment = [&] { count.store(count.load(sync::seq_cst) + 1, sync::seq_cst); };
    {
        thread one{increment};
        thread two{increment};
    }
    require(count.newest() == 2, "both count");
}

TEST(Checker, FindsAnInterleaving) {
    expect_fails("required: both count", two_increments_in_two_steps);
    expect_fails({.preemptions = 1}, "required: both count", two_increments_in_two_steps);
    expect_passes({.preemptions = 0}, two_increments_in_two_steps);
}

TEST(Checker, ReplaysAFailureFromItsChoices) {
    for (const search how : {search::exhaustive, search::random, search::pct}) {
        const verdict found =
            explore({.how = how, .executions_max = 10'000}, two_increments_in_two_steps);
        ASSERT_FALSE(found.passed);
        const verdict again = explore({.replay = found.choices}, two_increments_in_two_steps);
        EXPECT_EQ(again.executions, 1U);
        EXPECT_EQ(again.what, found.what);
        EXPECT_EQ(again.trace, found.trace);
    }
}

// Two deviations are enough.
TEST(Checker, TakesItsChoicesFromBytes) {
    const auto with = [](std::span<const std::uint8_t> bytes) {
        return explore({.how = search::bytes, .bytes = bytes}, two_increments_in_two_steps);
    };
    EXPECT_TRUE(with({}).passed);
    EXPECT_FALSE(with({}).complete);
    int found = 0;
    for (std::uint8_t first = 0; first != 8; ++first) {
        for (std::uint8_t second = 0; second != 8; ++second) {
            const std::array<std::uint8_t, 4> bytes{first, 0, second, 0};
            const verdict seen = with(bytes);
            EXPECT_EQ(seen.executions, 1U);
            if (seen.passed) continue;
            ++found;
            EXPECT_EQ(explore({.replay = seen.choices}, two_increments_in_two_steps).what,
                      seen.what);
        }
    }
    EXPECT_GT(found, 0);
}

TEST(Checker, WritesDownTheFailingExecution) {
    const verdict found = explore({}, two_increments_in_two_steps);
    EXPECT_NE(found.trace.find("thread 1  load"), std::string::npos) << found.trace;
    EXPECT_NE(found.trace.find("checker_test.cpp"), std::string::npos) << found.trace;
    EXPECT_NE(found.trace.find("<-- required: both count"), std::string::npos) << found.trace;
}

TEST(Checker, FindsDataRaces) {
    expect_fails("a data race with a write by thread", [] {
        plain<int> data{0};
        thread writer{[&] { data = 1; }};
        data = 2;
    });
    expect_fails("a data race", [] {
        plain<int> data{0};
        thread reader{[&] { require(data < 2, "it is read"); }};
        data = 1;
    });
    expect_passes([] {
        plain<int> data{0};
        {
            thread writer{[&] { data = 1; }};
        }
        data = 2;
    });
}

TEST(Checker, MutexesOrderMemory) {
    expect_passes([] {
        plain<int> data{0};
        sync::mutex mutex;
        const auto add = [&] {
            mutex.lock();
            data = data + 1;
            mutex.unlock();
        };
        {
            thread one{add};
            thread two{add};
        }
        require(data == 2, "both count");
    });
}

TEST(Checker, FindsDeadlocks) {
    expect_fails("thread 1 waits for a mutex; thread 2 waits for a mutex", [] {
        sync::mutex first;
        sync::mutex second;
        thread one{[&] {
            first.lock();
            second.lock();
            second.unlock();
            first.unlock();
        }};
        thread two{[&] {
            second.lock();
            first.lock();
            first.unlock();
            second.unlock();
        }};
        one.join();
        two.join();
    });
}

TEST(Checker, FindsLivelocks) {
    expect_fails({.steps_max = 1000}, "livelock", [] {
        cell never_set{0};
        while (never_set.load(sync::relaxed) == 0) explorer::running()->yield();
    });
}

TEST(Checker, ASpinLoopThatYieldsEnds) {
    expect_passes([] {
        cell set{0};
        thread setter{[&] { set.store(1, sync::relaxed); }};
        while (set.load(sync::relaxed) == 0) explorer::running()->yield();
    });
}

template <class T>
T* unknown_to_the_compiler(T* pointer) {
    T* volatile kept = pointer;
    return kept;
}

TEST(Checker, FindsTouchesOfFreedMemory) {
    expect_fails("destroyed", [] {
        auto* const shared = new cell{0};
        thread user{[=] { static_cast<void>(shared->load(sync::relaxed)); }};
        delete shared;
    });
    expect_fails("destroyed", [] {
        auto* const mutex = new sync::mutex;
        thread user{[=] {
            mutex->lock();
            mutex->unlock();
        }};
        delete mutex;
    });
    expect_fails("a touch of freed memory", [] {
        int* const number = new int{0};
        thread writer{[=] { *number = 1; }};
        delete number;
    });
    expect_fails("a touch of freed memory", [] {
        auto number = std::make_unique<int>(0);
        const int* const seen = unknown_to_the_compiler(number.get());
        number.reset();
        require(*seen == 0, "it is read");
    });
    // The write is in code that is not instrumented, such as the C library.
    expect_fails("freed memory was written", [] {
        auto number = std::make_unique<int>(0);
        int* const seen = unknown_to_the_compiler(number.get());
        number.reset();
        unknown_to_the_compiler (&std::memset)(seen, 1, sizeof *seen);
    });
}

// The search may leave out one of the two orders. The checker must find the failure in either.
TEST(Checker, FindsADestructionThatIsNotAfterAllUses) {
    expect_fails("destroyed while thread 1 may still use it", [] {
        struct shared {
            cell told{0};
            cell data{0};
        };
        auto* const both = new shared;
        thread sender{[=] {
            both->told.store(1, sync::release);
            static_cast<void>(both->data.load(sync::relaxed));
        }};
        if (both->told.load(sync::acquire) != 1) sender.join();
        delete both;
    });
    expect_fails("destroyed", [] {
        cell unrelated{0};
        auto* const number = new cell{0};
        thread deleter{[&, number] {
            static_cast<void>(unrelated.load(sync::relaxed));
            delete number;
        }};
        static_cast<void>(number->load(sync::relaxed));
    });
}

TEST(Checker, FindsLeaksAndSecondFrees) {
    expect_fails("a leak of 4 bytes in 1 blocks", [] {
        sync::atomic<int*> last{nullptr};
        last.store(new int{1}, sync::relaxed);
    });
    expect_fails("freed twice", [] {
        int* const number = new int{1};
        cell freed{0};
        const auto free_it = [&, number] {
            if (freed.load(sync::relaxed) == 0) {
                freed.store(1, sync::relaxed);
                delete number;
            }
        };
        thread one{free_it};
        thread two{free_it};
    });
}

TEST(Checker, TimeOutsMayComeAtAnyTime) {
    // The search must see both outcomes of the race.
    bool in_time = false;
    bool too_late = false;
    const verdict found = explore({}, [&] {
        const int word = 0;
        explorer& model = *explorer::running();
        thread waker{[&] { model.wake(&word, 1); }};
        const bool woken = model.block(&word, "sleeps", 5, {});
        (woken ? in_time : too_late) = true;
        require(woken || model.now() == 5, "time has passed");
    });
    EXPECT_TRUE(found.passed) << found.what;
    EXPECT_TRUE(in_time);
    EXPECT_TRUE(too_late);
}

// Also in the mode where a time-out comes only when no thread can go on.
TEST(Checker, AWaitWhoseTimeIsOverDoesNotSleep) {
    bool first = false;
    expect_passes({.early_time_outs = false}, [&] {
        sync::signal never_sent;
        cell done{0};
        thread other{[&] { done.store(1, sync::relaxed); }};
        require(!never_sent.receive_until(clock::now()), "it times out");
        if (done.newest() == 0) first = true;
    });
    EXPECT_TRUE(first);
}

TEST(Checker, ExceptionsBelongToTheirThread) {
    expect_passes([] {
        cell step{0};
        const auto throw_and_switch = [&](int value) {
            try {
                throw value;
            } catch (int caught) {
                step.fetch_add(1, sync::relaxed);  // other threads run in their handlers
                require(caught == value, "it is this thread's");
                try {
                    throw;
                } catch (int again) {
                    require(again == value, "and still is");
                }
            }
        };
        thread one{[&] { throw_and_switch(1); }};
        thread two{[&] { throw_and_switch(2); }};
    });
}

TEST(Checker, AWeakerOrderCanBeTriedWithoutCompiling) {
    std::map<order_site, std::string> sites;
    const auto message = [] {
        plain<int> data{0};
        cell flag{0};
        thread writer{[&] {
            data = 1;
            flag.store(1, sync::release);
        }};
        if (flag.load(sync::acquire) == 1) require(data == 1, "the data is there");
    };
    options wanted;
    wanted.sites = &sites;
    expect_passes(wanted, message);
    ASSERT_EQ(sites.size(), 2U);
    for (const auto& [site, function] : sites) {
        EXPECT_NE(function.find("AWeakerOrder"), std::string::npos) << function;
        expect_fails({.mutate = mutation{site, order::relaxed}}, "a data race", message);
    }
}

}  // namespace
}  // namespace fairlead::model::checker_tests
