// Tests of the checker: small programs, and exactly the values that C++20 lets them read.
//
// An outcome is written with one digit for each value that was read: 10 is "the first thread read
// 1, the second 0". Two shapes that C++20 allows do not occur here, because stores take effect when
// they run: load buffering (LB) and stores that pass each other (2+2W).
#include "model/explore.hpp"

#include <gtest/gtest.h>

#include <bitset>
#include <vector>

namespace fairlead::model::litmus_tests {
namespace {

using numbers = std::vector<int>;
using cell = sync::atomic<int>;

using namespace sync;  // the memory orders

// The results of all executions of `program`, ascending.
template <class Program>
numbers outcomes(Program program) {
    std::bitset<10'000> seen;  // of fixed size: a scenario may not keep an allocation
    const verdict found = explore({}, [&] { seen.set(static_cast<std::size_t>(program())); });
    EXPECT_TRUE(found.passed) << found.what << '\n' << found.trace;
    EXPECT_TRUE(found.complete);
    numbers all;
    for (int i = 0; i != 10'000; ++i) {
        if (seen[static_cast<std::size_t>(i)]) all.push_back(i);
    }
    return all;
}

// --- store buffering: each writes its own, and reads the other's ---------------------------------

template <class First, class Second>
numbers store_buffering(First first, Second second) {
    return outcomes([&] {
        cell x{0};
        cell y{0};
        int a = 0;
        int b = 0;
        in_threads([&] { a = first(x, y); }, [&] { b = second(y, x); });
        return 10 * a + b;
    });
}

auto store_then_load(order store, order load) {
    return [=](cell& own, cell& other) {
        own.store(1, store);
        return other.load(load);
    };
}

auto exchange_then_load(order exchange, order load) {
    return [=](cell& own, cell& other) {
        own.exchange(1, exchange);
        return other.load(load);
    };
}

int store_fence_load(cell& own, cell& other) {
    own.store(1, relaxed);
    fence(seq_cst);
    return other.load(relaxed);
}

const numbers all_four{0, 1, 10, 11};
const numbers somebody_sees{1, 10, 11};

TEST(Litmus, StoreBufferingNeedsSequentialConsistencyOnBothSides) {
    const auto relaxed_both = store_then_load(relaxed, relaxed);
    const auto release_acquire = store_then_load(release, acquire);
    const auto sequential = store_then_load(seq_cst, seq_cst);
    EXPECT_EQ(store_buffering(relaxed_both, relaxed_both), all_four);
    EXPECT_EQ(store_buffering(release_acquire, release_acquire), all_four);
    EXPECT_EQ(store_buffering(sequential, sequential), somebody_sees);
    EXPECT_EQ(store_buffering(sequential, release_acquire), all_four);
    // A sequentially consistent store alone, or load alone, is not enough.
    EXPECT_EQ(store_buffering(store_then_load(seq_cst, relaxed), sequential), all_four);
    EXPECT_EQ(store_buffering(store_then_load(relaxed, seq_cst), sequential), all_four);
}

TEST(Litmus, StoreBufferingWithFences) {
    const auto sequential = store_then_load(seq_cst, seq_cst);
    EXPECT_EQ(store_buffering(store_fence_load, store_fence_load), somebody_sees);
    EXPECT_EQ(store_buffering(store_fence_load, sequential), somebody_sees);
    EXPECT_EQ(store_buffering(store_fence_load, store_then_load(relaxed, relaxed)), all_four);
}

TEST(Litmus, ExchangesAreNoFences) {
    const auto exchange = exchange_then_load(acq_rel, relaxed);
    const auto sequential = exchange_then_load(seq_cst, seq_cst);
    EXPECT_EQ(store_buffering(exchange, exchange), all_four);
    EXPECT_EQ(store_buffering(exchange_then_load(acq_rel, seq_cst), sequential), all_four);
    EXPECT_EQ(store_buffering(sequential, sequential), somebody_sees);
}

// --- message passing: data, then a flag ----------------------------------------------------------

numbers message_passing(order store, order load) {
    return outcomes([&] {
        cell data{0};
        cell flag{0};
        int a = 0;
        int b = 0;
        in_threads(
            [&] {
                data.store(1, relaxed);
                flag.store(1, store);
            },
            [&] {
                a = flag.load(load);
                b = data.load(relaxed);
            });
        return 10 * a + b;
    });
}

TEST(Litmus, MessagePassingNeedsReleaseAndAcquire) {
    const numbers no_flag_without_data{0, 1, 11};
    EXPECT_EQ(message_passing(relaxed, relaxed), all_four);
    EXPECT_EQ(message_passing(release, relaxed), all_four);
    EXPECT_EQ(message_passing(relaxed, acquire), all_four);
    EXPECT_EQ(message_passing(release, acquire), no_flag_without_data);
    EXPECT_EQ(message_passing(seq_cst, seq_cst), no_flag_without_data);
}

TEST(Litmus, MessagePassingWithFences) {
    const numbers seen = outcomes([] {
        cell data{0};
        cell flag{0};
        int a = 0;
        int b = 0;
        in_threads(
            [&] {
                data.store(1, relaxed);
                fence(release);
                flag.store(1, relaxed);
            },
            [&] {
                a = flag.load(relaxed);
                fence(acquire);
                b = data.load(relaxed);
            });
        return 10 * a + b;
    });
    EXPECT_EQ(seen, (numbers{0, 1, 11}));
}

// A read-modify-write by a third thread, even a relaxed one, continues the release sequence of the
// store.
TEST(Litmus, AReleaseSequenceGoesThroughExchanges) {
    const numbers seen = outcomes([] {
        cell data{0};
        cell flag{0};
        int a = 0;
        int b = 0;
        in_threads(
            [&] {
                data.store(1, relaxed);
                flag.store(1, release);
            },
            [&] { flag.fetch_add(2, relaxed); },
            [&] {
                a = flag.load(acquire);
                b = data.load(relaxed);
            });
        return 10 * a + b;
    });
    // 3: the store, then the addition. 1 when the store came second, or first and alone.
    EXPECT_EQ(seen, (numbers{0, 1, 11, 20, 21, 31}));
}

// --- one location --------------------------------------------------------------------------------

TEST(Litmus, ReadsOfOneLocationDoNotGoBack) {
    const numbers seen = outcomes([] {
        cell x{0};
        int a = 0;
        int b = 0;
        in_threads(
            [&] {
                x.store(1, relaxed);
                x.store(2, relaxed);
            },
            [&] {
                a = x.load(relaxed);
                b = x.load(relaxed);
            });
        return 10 * a + b;
    });
    EXPECT_EQ(seen, (numbers{0, 1, 2, 11, 12, 22}));
}

TEST(Litmus, ReadModifyWritesSeeEachOther) {
    const numbers seen = outcomes([] {
        cell x{0};
        int a = 0;
        int b = 0;
        in_threads([&] { a = x.fetch_add(1, relaxed); }, [&] { b = x.fetch_add(1, relaxed); });
        return 100 * a + 10 * b + x.newest();
    });
    EXPECT_EQ(seen, (numbers{12, 102}));
}

// A compare-exchange may read an old store and fail, though the newest would have matched.
TEST(Litmus, AStrongExchangeMayFailByAnOldStore) {
    const numbers seen = outcomes([] {
        cell x{0};
        cell done{0};
        int read = 0;
        in_threads(
            [&] {
                x.store(1, relaxed);
                done.store(1, relaxed);
            },
            [&] {
                if (done.load(relaxed) == 0) return;
                int expected = 1;
                read = x.compare_exchange_strong(expected, 2, relaxed, relaxed) ? 1 : 2;
            });
        return read;
    });
    EXPECT_EQ(seen, (numbers{0, 1, 2}));
}

// --- independent reads of independent writes -----------------------------------------------------

numbers independent_reads(order store, order load) {
    return outcomes([&] {
        cell x{0};
        cell y{0};
        int a = 0;
        int b = 0;
        int c = 0;
        int d = 0;
        in_threads([&] { x.store(1, store); }, [&] { y.store(1, store); },
                   [&] {
                       a = x.load(load);
                       b = y.load(load);
                   },
                   [&] {
                       c = y.load(load);
                       d = x.load(load);
                   });
        return 1000 * a + 100 * b + 10 * c + d;
    });
}

TEST(Litmus, OnlySequentialConsistencyOrdersIndependentWrites) {
    EXPECT_EQ(independent_reads(relaxed, relaxed).size(), 16U);
    EXPECT_EQ(independent_reads(release, acquire).size(), 16U);
    const numbers sequential = independent_reads(seq_cst, seq_cst);
    EXPECT_EQ(sequential.size(), 15U);
    EXPECT_EQ(std::ranges::count(sequential, 1010), 0);  // they disagree about which came first
}

// Two sequentially consistent loads of a relaxed store: the second load cannot read an older value
// than the first, whichever thread is second.
TEST(Litmus, SequentialLoadsAreInOneOrder) {
    const numbers seen = outcomes([] {
        cell x{0};
        cell y{0};
        int flags[2] = {};
        int a = 0;
        int b = 0;
        in_threads(
            [&] {
                flags[0] = y.load(relaxed);
                a = x.load(seq_cst);
            },
            [&] {
                flags[1] = y.load(relaxed);
                b = x.load(seq_cst);
            },
            [&] {
                x.store(1, relaxed);
                y.store(1, relaxed);
            });
        return 100 * (flags[0] + flags[1]) + 10 * a + b;
    });
    EXPECT_EQ(seen, (numbers{0, 1, 10, 11, 100, 101, 110, 111, 200, 201, 210, 211}));
}

// Three threads: a thread that reads from the second knows what the second read before it wrote.
TEST(Litmus, WhatARelaxedWriterHasReadIsNotPassedOn) {
    const auto chain = [](order first, order second) {
        return outcomes([=] {
            cell x{0};
            cell y{0};
            int a = 0;
            int b = 0;
            in_threads([&] { x.store(1, relaxed); },
                       [&] {
                           if (x.load(relaxed) == 1) y.store(1, first);
                       },
                       [&] {
                           a = y.load(second);
                           b = x.load(relaxed);
                       });
            return 10 * a + b;
        });
    };
    EXPECT_EQ(chain(relaxed, relaxed), all_four);
    EXPECT_EQ(chain(release, acquire), (numbers{0, 1, 11}));
}

// --- what does not occur -------------------------------------------------------------------------

TEST(Litmus, LoadBufferingIsNotShown) {
    const numbers seen = outcomes([] {
        cell x{0};
        cell y{0};
        int a = 0;
        int b = 0;
        in_threads(
            [&] {
                a = y.load(relaxed);
                x.store(1, relaxed);
            },
            [&] {
                b = x.load(relaxed);
                y.store(1, relaxed);
            });
        return 10 * a + b;
    });
    EXPECT_EQ(seen, (numbers{0, 1, 10}));  // C++20 allows 11 as well
}

TEST(Litmus, StoresThatPassEachOtherAreNotShown) {
    const numbers seen = outcomes([] {
        cell x{0};
        cell y{0};
        in_threads(
            [&] {
                x.store(1, relaxed);
                y.store(2, relaxed);
            },
            [&] {
                y.store(1, relaxed);
                x.store(2, relaxed);
            });
        return 10 * x.newest() + y.newest();
    });
    EXPECT_EQ(seen, (numbers{12, 21, 22}));  // C++20 allows 11 as well
}

}  // namespace
}  // namespace fairlead::model::litmus_tests
